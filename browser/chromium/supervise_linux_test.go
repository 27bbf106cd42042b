package chromium

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"go.uber.org/goleak"

	"github.com/browserd/browserd/protocol"
)

func TestLaunchAndClose(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		begin := time.Now()
		c := started(t, cfg)
		t.Logf("first answer after %v", time.Since(begin))
		conn, gen, err := c.Conn(t.Context())
		if err != nil || gen != 1 {
			t.Fatal(gen, err)
		}
		begin = time.Now()
		openPage(t, conn)
		t.Logf("page after %v", time.Since(begin))
		i := c.Info()
		t.Logf("%+v", i)
		if !c.Running() {
			t.Error("it does not run, and answers")
		}
		prof := profileOf(c)
		begin = time.Now()
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("closed after %v", time.Since(begin))
		checkGone(t, i.PID, prof)
	})
}

func profileOf(c *Supervisor) *profile {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.proc.profile
}

// checkGone fails when a browser left a process, a zombie, a file or a mark.
func checkGone(t *testing.T, group int, prof *profile) {
	t.Helper()
	for _, pid := range pids() {
		if s, err := readStat(pid); err == nil && s.group == group {
			t.Errorf("process %d (%s) is left: %v", pid, s.state, cmdline(pid))
		}
	}
	if left := processesUsing(prof.userData()); len(left) > 0 {
		t.Errorf("processes %v have the profile still", left)
	}
	for _, path := range []string{prof.dir, prof.mark} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left (%v)", path, err)
		}
	}
}

func TestKilledBrowser(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		c := started(t, cfg)
		lost := make(chan string, 4)
		c.OnLost(func(gen Generation, cause string) { lost <- cause })
		conn, _, err := c.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		openPage(t, conn)
		pid, prof := c.Info().PID, profileOf(c)
		begin := time.Now()
		syscall.Kill(pid, syscall.SIGKILL)
		<-conn.Done()
		t.Logf("pipe after %v", time.Since(begin))
		cause := <-lost
		t.Logf("told after %v: %s", time.Since(begin), cause)
		_, gen, err := c.Conn(t.Context())
		t.Logf("again after %v", time.Since(begin))
		if err != nil || gen != 2 {
			t.Fatal(gen, err)
		}
		eventually(t, time.Second, "profile gone", func() bool { _, err := os.Lstat(prof.mark); return err != nil })
		t.Logf("clean after %v", time.Since(begin))
		checkGone(t, pid, prof)
	})
}

// Whoever asks while the browser starts gets the same one.
func TestOneLaunchForAll(t *testing.T) {
	c := started(t, testConfig(t))
	syscall.Kill(c.Info().PID, syscall.SIGKILL)
	eventually(t, 20*time.Second, "lost", func() bool { return !c.Running() && !c.Info().Running })
	var group sync.WaitGroup
	var mu sync.Mutex
	gens := map[Generation]int{}
	for range 20 {
		group.Go(func() {
			_, gen, err := c.Conn(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			gens[gen]++
		})
	}
	group.Wait()
	if len(gens) != 1 || gens[2] != 20 {
		t.Errorf("generations %v", gens)
	}
}

func TestCallerGivesUpButTheLaunchGoesOn(t *testing.T) {
	cfg := testConfig(t)
	c := Start(t.Context(), cfg, discard())
	defer c.Close(context.Background())
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := c.Conn(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if _, gen, err := c.Conn(t.Context()); err != nil || gen != 1 {
		t.Errorf("generation %d, %v", gen, err)
	}
}

func TestCloseDuringLaunch(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	cfg := testConfig(t)
	c := Start(t.Context(), cfg, discard())
	result := make(chan error)
	go func() { result <- c.Warm(context.Background()) }()
	eventually(t, 5*time.Second, "a mark", func() bool {
		marks, _ := filepath.Glob(filepath.Join(marksDir(cfg.StateDir), "*"))
		return len(marks) > 0
	})
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	// It may just have started.
	if err := <-result; err != nil && protocol.CodeOf(err) != protocol.ShuttingDown && protocol.CodeOf(err) != protocol.Cancelled {
		t.Errorf("%v", err)
	}
	if _, _, err := c.Conn(t.Context()); protocol.CodeOf(err) != protocol.ShuttingDown {
		t.Errorf("after Close: %v", err)
	}
	if marks, _ := filepath.Glob(filepath.Join(marksDir(cfg.StateDir), "*")); len(marks) > 0 {
		t.Errorf("left: %v", marks)
	}
	goleak.VerifyNone(t, ignore)
}

func TestRepeatedFailuresWait(t *testing.T) {
	cfg := testConfig(t)
	cfg.Path = "/bin/false"
	c := Start(t.Context(), cfg, discard())
	defer c.Close(context.Background())
	var err error
	for range freeFailures {
		if err = c.Warm(t.Context()); protocol.CodeOf(err) != protocol.ChromiumUnavailable {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	err = c.Warm(t.Context())
	if protocol.CodeOf(err) != protocol.ChromiumUnavailable || !strings.Contains(err.Error(), "tried again in") || !strings.Contains(err.Error(), "/bin/false did not start") {
		t.Errorf("%v", err)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("an error during the backoff took %v", took)
	}
	eventually(t, 5*time.Second, "tried again", func() bool {
		err := c.Warm(t.Context())
		return !strings.Contains(err.Error(), "tried again in")
	})
}

// A hung browser process is killed on Close.
func TestCloseOfAStoppedBrowser(t *testing.T) {
	c := started(t, testConfig(t))
	conn, _, err := c.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	openPage(t, conn)
	pid, prof := c.Info().PID, profileOf(c)
	syscall.Kill(pid, syscall.SIGSTOP)
	begin := time.Now()
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > closeLimit+killLimit {
		t.Errorf("took %v", took)
	}
	checkGone(t, pid, prof)
}

// The whole browser makes pages of its own for its windows, each with a process,
// and some of them at once.
func TestContextsHaveNoOtherPages(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		conn, _, err := started(t, cfg).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var pages []target.ID
		for range 3 {
			id, s := openPage(t, conn)
			if err := s.Call(t.Context(), "Runtime.evaluate", map[string]any{"expression": "new Promise(requestAnimationFrame)", "awaitPromise": true}, nil); err != nil {
				t.Fatal(err)
			}
			pages = append(pages, id)
		}
		// The filter of one empty entry leaves nothing out.
		got, err := cdproto.Call(t.Context(), conn.Session(""), target.GetTargets, target.GetTargetsParams{Filter: target.Filter{{}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range got.TargetInfos {
			if i.URL != "about:blank" || i.Type == "page" && !slices.Contains(pages, i.TargetID) {
				t.Errorf("a %s at %s", i.Type, i.URL)
			}
		}
		if len(got.TargetInfos) < len(pages) {
			t.Errorf("%d targets of %d pages", len(got.TargetInfos), len(pages))
		}
	})
}

func TestUnsafeNoSandbox(t *testing.T) {
	cfg := testConfig(t)
	cfg.UnsafeNoSandbox = true
	c := started(t, cfg)
	if i := c.Info(); !strings.HasPrefix(i.Sandbox, "off") || !slices.Contains(cmdline(i.PID), "--no-sandbox") {
		t.Errorf("%+v", i)
	}
}

func TestChecks(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		ignore := goleak.IgnoreCurrent()
		list := Checks(t.Context(), cfg)
		names := map[string]Check{}
		for _, c := range list {
			t.Logf("%-18s %-5s %s", c.Name, c.Level, c.Found)
			names[c.Name] = c
			if c.OK != (c.Level == LevelOK) || c.OK != (c.Remedy == "") || c.Found == "" {
				t.Errorf("%+v", c)
			}
		}
		for _, name := range []string{"state directory", "chromium", "user", "start", "page", "sandbox"} {
			if !names[name].OK {
				t.Errorf("%s: %+v", name, names[name])
			}
		}
		goleak.VerifyNone(t, ignore)
	})
	for _, c := range []struct {
		cfg  Config
		want Check // of the last
	}{
		{Config{Disabled: true}, Check{Name: "chromium", Level: LevelWarn}},
		{Config{Path: "/none"}, Check{Name: "chromium", Level: LevelFail}},
		{Config{Args: []string{"--no-sandbox"}}, Check{Name: "configuration", Level: LevelFail}},
		{Config{Endpoint: "http://127.0.0.1:1", EndpointUnprotected: true}, Check{Name: "start", Level: LevelFail}},
	} {
		list := Checks(t.Context(), c.cfg)
		last := list[len(list)-1]
		if last.Name != c.want.Name || last.Level != c.want.Level || last.Remedy == "" {
			t.Errorf("%+v: %+v", c.cfg, last)
		}
	}
}
