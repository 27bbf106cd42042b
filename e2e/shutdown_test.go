//go:build linux

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testtime"
	"github.com/browserd/browserd/protocol"
)

// stopped is a daemon that is told to stop with commands under way: it holds it
// to exit 0, without a process or a profile left, and to telling its client. That it does
// not end in time is returned, for testtime.OneOfThree.
func stopped(t *testing.T, d *testdaemon.Daemon, c *client.Client, within time.Duration, pending ...*client.Pending) (late error) {
	t.Helper()
	began := time.Now()
	d.Stop() // holds it to exit 0, and to nothing left
	took := time.Since(began)
	t.Logf("ended after %v", took.Round(time.Millisecond))
	if took > within {
		late = fmt.Errorf("it took %v, want %v", took, within)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, p := range pending {
		err := p.Wait(ctx, nil)
		switch protocol.CodeOf(err) {
		case protocol.ShuttingDown, protocol.Cancelled, protocol.SessionNotFound, protocol.BrowserLost:
		default:
			t.Errorf("a command that was under way ended with %v", err)
		}
	}
	if c != nil {
		if e, err := c.Event(ctx, client.OfType(protocol.EventSessionClosing)); err != nil || e.Fields["reason"] != "shutdown" {
			t.Errorf("the client was told %v, %v; want session_closing", e.Fields, err)
		}
	}
	return late
}

// shutdownIn is server.shutdown_timeout for a test that waits for it.
func shutdownIn(limit string) testdaemon.Options {
	return testdaemon.Options{Env: map[string]string{"BROWSERD_SERVER__SHUTDOWN_TIMEOUT": limit}}
}

func TestSIGTERMWithAHungPage(t *testing.T) {
	aboutOneProcess(t, "its end; a node hands its sessions over first")
	t.Parallel()
	testtime.OneOfThree(t, func() error {
		d := testdaemon.Start(t, shutdownIn("1s"))
		r, _ := faultPage(t, d)
		loop := r.button("Loop")
		hung := r.send("click", click(loop, params{"timeout_ms": 30000}))
		queued := r.send("snapshot", params{"timeout_ms": 30000})
		r.do("ping", nil)
		return stopped(t, d, r.c, 5*time.Second, hung, queued)
	})
}

func TestSIGTERMWithAStoppedChromium(t *testing.T) {
	aboutOneProcess(t, "its end; a node hands its sessions over first")
	t.Parallel()
	testtime.OneOfThree(t, func() error {
		d := testdaemon.Start(t, shutdownIn("1s"))
		r, _ := faultPage(t, d)
		stop(t, testdaemon.Descendants(d.PID))
		waiting := r.send("snapshot", params{"timeout_ms": 30000})
		r.do("ping", nil)
		return stopped(t, d, r.c, 8*time.Second, waiting) // 4.1 s where nothing else is done: all of its limits
	})
}

// The command that needs Chromium first is on its way, and so is Chromium.
func TestSIGTERMInTheMiddleOfALaunch(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 60 * time.Millisecond, 120 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			testtime.OneOfThree(t, func() error {
				d := testdaemon.Start(t, shutdownIn("20ms"))
				a := newAgent(t, d)
				opening := a.send("session_open", params{"name": "s", "timeout_ms": 20000})
				a.do("ping", nil)
				time.Sleep(after) // wherever in the launch that is
				began := time.Now()
				d.Stop()
				took := time.Since(began)
				if err := opening.Wait(t.Context(), nil); err != nil && protocol.CodeOf(err) != protocol.ShuttingDown && !errors.Is(err, client.ErrClosed) && protocol.CodeOf(err) != protocol.Cancelled && protocol.CodeOf(err) != protocol.SessionNotFound {
					t.Errorf("session_open: %v", err)
				}
				if took > 4*time.Second {
					return fmt.Errorf("it took %v", took)
				}
				return nil
			})
		})
	}
}

// silentChromium is a program that starts and says nothing.
func silentChromium(t *testing.T) string {
	t.Helper()
	path := filepath.Join(dirForAll(t, 0o755), "silent")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// A launch whose Chromium never says a word is given up as well.
func TestSIGTERMInTheMiddleOfALaunchThatHangs(t *testing.T) {
	aboutOneProcess(t, "its end; a node hands its sessions over first")
	t.Parallel()
	testtime.OneOfThree(t, func() error {
		o := shutdownIn("200ms")
		o.Env["BROWSERD_BROWSER__PATH"] = silentChromium(t)
		d := testdaemon.Start(t, o)
		a := newAgent(t, d)
		opening := a.send("open", params{"url": "about:blank", "source": "chromium", "timeout_ms": 20000})
		for deadline := time.Now().Add(10 * time.Second); len(testdaemon.Descendants(d.PID)) == 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("nothing was launched")
			}
		}
		return stopped(t, d, nil, 4*time.Second, opening)
	})
}

func TestSIGTERMInTheMiddleOfADownload(t *testing.T) {
	aboutOneProcess(t, "its end; a node hands its sessions over first")
	t.Parallel()
	testtime.OneOfThree(t, func() error {
		d := testdaemon.Start(t, shutdownIn("300ms"))
		r := rowTest{newAgent(t, d), newPageServer(t), "download"}
		began := make(chan struct{}, 1)
		r.w.mux.HandleFunc("/file", func(rw http.ResponseWriter, req *http.Request) {
			rw.Header().Set("Content-Disposition", "attachment; filename=gold.bin")
			for i := 0; req.Context().Err() == nil; i++ {
				fmt.Fprintf(rw, "%01024d", i)
				rw.(http.Flusher).Flush()
				select {
				case began <- struct{}{}:
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
		r.w.serve("/page", page("download", "<a href=/file>Get</a>"), "")
		r.do("session_open", params{"downloads": true})
		r.open(r.w.URL + "/page")
		r.do("click", click(r.snapshot().ref(t, "link", "Get"), nil))
		<-began
		waiting := r.send("downloads", params{"wait": true, "timeout_ms": 30000})
		r.do("ping", nil)
		return stopped(t, d, r.c, 4*time.Second, waiting)
	})
}

// Who cannot wait says it twice: the daemon ends at once, and its Chromium with it.
func TestSIGTERMTwice(t *testing.T) {
	aboutOneProcess(t, "its end; a node hands its sessions over first")
	t.Parallel()
	d := testdaemon.Start(t, shutdownIn("30s"))
	r, holding := faultPage(t, d)
	r.send("click", click(r.button("Hold"), params{"timeout_ms": 30000}))
	<-holding
	below := testdaemon.Descendants(d.PID)
	syscall.Kill(d.PID, syscall.SIGTERM)
	// It takes no command any more, and goes on with the one that runs.
	for deadline := time.Now().Add(5 * time.Second); protocol.CodeOf(r.c.Call(t.Context(), "ping", nil, nil)) != protocol.ShuttingDown; {
		if time.Now().After(deadline) {
			t.Fatal("it is not shutting down")
		}
	}
	began := time.Now()
	syscall.Kill(d.PID, syscall.SIGTERM)
	select {
	case <-d.Exited():
		t.Logf("ended after %v", time.Since(began).Round(time.Millisecond))
	case <-time.After(10 * time.Second): // the first one's command has 30
		t.Error("a second SIGTERM does not end it")
	}
	if left := testdaemon.AwaitGone(below, 20*time.Second); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	// What it could not remove, the next start does.
	next := testdaemon.Start(t, testdaemon.Options{Home: d.Home})
	if left := next.Profiles(); len(left) > 0 {
		t.Errorf("the next start left %v", left)
	}
}

// Also where the second comes right behind the first.
func TestSIGTERMTwiceAtOnce(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, shutdownIn("30s"))
	r, holding := faultPage(t, d)
	r.send("click", click(r.button("Hold"), params{"timeout_ms": 30000}))
	<-holding
	below := testdaemon.Descendants(d.PID)
	syscall.Kill(d.PID, syscall.SIGINT) // two of a kind may be one when they arrive (signal(7))
	syscall.Kill(d.PID, syscall.SIGTERM)
	select {
	case <-d.Exited():
	case <-time.After(5 * time.Second):
		t.Error("two signals do not end it")
	}
	if left := testdaemon.AwaitGone(below, 20*time.Second); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// A closed terminal sends SIGHUP, more than once, and the daemon ends as for
// SIGTERM, also where the tests themselves run under nohup.
func TestSIGHUP(t *testing.T) {
	aboutOneProcess(t, "its end; a node hands its sessions over first")
	t.Parallel()
	// A child inherits what its parent ignores, as a test under nohup does. What its
	// parent handles has the default action in the child.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	defer signal.Stop(handled)
	d := testdaemon.Start(t, testdaemon.Options{})
	r, _ := faultPage(t, d)
	below := testdaemon.Descendants(d.PID)
	syscall.Kill(d.PID, syscall.SIGHUP)
	until(t, 10*time.Second, "it stops", func() bool { return strings.Contains(d.Log(), "msg=stopping") })
	syscall.Kill(d.PID, syscall.SIGHUP)
	select {
	case <-d.Exited():
	case <-time.After(10 * time.Second):
		t.Error("SIGHUP does not end it")
	}
	if left := testdaemon.AwaitGone(below, 20*time.Second); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if left := d.Profiles(); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if e, err := r.c.Event(ctx, client.OfType(protocol.EventSessionClosing)); err != nil {
		t.Errorf("the client was told %v, %v; want session_closing", e.Fields, err)
	}
}

// Under nohup the daemon ignores SIGHUP and outlives its terminal.
func TestSIGHUPUnderNohup(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Wrap: []string{"nohup"}})
	syscall.Kill(d.PID, syscall.SIGHUP)
	select {
	case <-d.Exited():
		t.Error("SIGHUP ends it")
	case <-time.After(500 * time.Millisecond):
	}
}

// Whoever reads the log may go away: the daemon and its sessions stay.
func TestALogThatNobodyReads(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "log")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := testdaemon.Start(t, testdaemon.Options{Wrap: []string{"sh", "-c", `exec "$@" 2>` + pipe, "sh"}})
	r, _ := faultPage(t, d)
	reader.Close()
	for _, p := range d.Chromium("browser") {
		p.Kill() // which is worth a line
	}
	r.told(protocol.EventBrowserLost, 3*time.Second)
	r.works()
}

// No command needs Chromium yet, and so there is none, but for the jail that waits
// for it; the first answer comes
// before any browser could be up.
func TestChromiumIsStartedWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	a := newAgent(t, d)
	for _, method := range []string{"ping", "help", "status", "session_list"} {
		a.do(method, nil)
	}
	w := newPageServer(t)
	w.serve("/plain", "gold", "text/plain")
	a.do("http_request", params{"url": w.URL + "/plain"})
	a.do("session_open", params{"source": "http"})
	a.open(w.URL + "/plain")
	if running := d.Chromium("browser"); len(running) > 0 {
		t.Errorf("nothing needs it, and there is %v", running)
	}
	a.do("open", params{"url": w.URL + "/plain", "source": "chromium"})
	if len(d.Chromium("browser")) != 1 {
		t.Error("a page is open without Chromium")
	}
}

// From nothing to the first answer, by the clock: the program's start, the
// configuration, the ledger, the socket.
func TestStartUpIsQuick(t *testing.T) {
	aboutOneProcess(t, "how fast it starts")
	d := testdaemon.Start(t, testdaemon.Options{}) // a home with everything laid out
	d.Stop()
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	best := time.Hour
	for range 3 {
		cmd := exec.Command(bin, "serve")
		cmd.Env = d.Environ()
		began := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+"/v1/ping", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+d.Token)
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				best = min(best, time.Since(began))
				break
			}
			if time.Since(began) > 20*time.Second {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("the first answer came after %v, the best of three", best.Round(time.Millisecond))
	if best > 3*time.Second { // with the race detector, on a busy machine
		t.Errorf("the first answer took %v", best)
	}
}
