package chromium

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

func TestReapAfterKilledDaemon(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		h := startHelper(t, cfg, nil)
		old := group(h.said.Info.PID)
		if len(old) < 3 {
			t.Fatalf("processes %v", old)
		}
		h.kill()
		begin := time.Now()
		r, err := Reap(cfg.StateDir, nil)
		if err != nil || r.Browsers != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		t.Logf("%d processes after the kill; %+v in %v", len(old), r, time.Since(begin))
		checkNone(t, h.said, old, cfg.StateDir)
		if r, err := Reap(cfg.StateDir, nil); err != nil || r != (Reaped{}) {
			t.Errorf("a second time: %+v, %v", r, err)
		}
	})
}

// A browser that is stopped cannot see its pipe close: the signal that the kernel
// sends when its daemon dies (Pdeathsig) ends it all the same.
func TestBrowserDiesWithItsDaemon(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		h := startHelper(t, cfg, nil)
		pid := h.said.Info.PID
		old := group(pid)
		syscall.Kill(pid, syscall.SIGSTOP)
		eventually(t, time.Second, "stopped", func() bool { s, err := readStat(pid); return err == nil && s.state == "T" })
		h.kill()
		eventually(t, time.Second, "the browser is gone", func() bool { return group(pid)[pid] == "" })
		if _, err := Reap(cfg.StateDir, nil); err != nil {
			t.Error(err)
		}
		checkNone(t, h.said, old, cfg.StateDir)
	})
}

// A browser that outlives its daemon is killed by Reap. Chromium does not by
// itself (it sees its pipe close), so the mark is made to say that it did.
func TestReapKillsWhatIsLeft(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		c := Start(t.Context(), cfg, discard())
		conn, _, err := c.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		openPage(t, conn)
		prof, pid := profileOf(c), c.Info().PID
		// The mark as a daemon that is gone would have left it.
		old := *prof
		old.data.DaemonStart++
		if err := old.writeMark(); err != nil {
			t.Fatal(err)
		}
		lost := make(chan struct{})
		c.OnLost(func(Generation, string) { close(lost) })
		r, err := Reap(cfg.StateDir, nil)
		if err != nil || r.Browsers != 1 || r.Processes < 3 {
			t.Errorf("%+v, %v", r, err)
		}
		<-lost
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		checkGone(t, pid, prof)
	})
}

func TestReapLeavesLiveDaemonsAlone(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		h := startHelper(t, cfg, nil)
		r, err := Reap(cfg.StateDir, nil)
		if err != nil || r != (Reaped{}) {
			t.Errorf("%+v, %v", r, err)
		}
		pid := h.said.Info.PID
		if s, err := readStat(pid); err != nil || s.state == "Z" {
			t.Errorf("the browser of a live daemon: %+v, %v", s, err)
		}
		if _, err := os.Stat(h.said.Profile); err != nil {
			t.Error(err)
		}
		old := group(pid)
		if err := h.end(); err != nil {
			t.Errorf("the helper ended with %v", err)
		}
		checkNone(t, h.said, old, cfg.StateDir)
	})
}

func TestReapTouchesNothingElse(t *testing.T) {
	state, other := t.TempDir(), t.TempDir()
	keep := filepath.Join(other, "keep")
	if err := os.MkdirAll(keep, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(marksDir(state), 0o700); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(other, profilePrefix+"gone")
	for name, content := range map[string]string{
		"forged":  `{"daemon":1,"daemon_start":1,"profile":"` + keep + `"}`,
		"garbage": `{`,
		// Its own process id was given out again: this test's.
		"reused": `{"pid":` + strconv.Itoa(os.Getpid()) + `,"start":1,"daemon":` + strconv.Itoa(os.Getpid()) + `,"daemon_start":1,"boot":"` + bootID() + `","profile":"` + gone + `"}`,
		"reboot": `{"pid":1,"start":0,"daemon":1,"daemon_start":0,"boot":"another","profile":"` + gone + `"}`,
	} {
		if err := os.WriteFile(filepath.Join(marksDir(state), name+".json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Reap(state, nil)
	if r != (Reaped{Browsers: 2}) || err == nil {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(keep); err != nil {
		t.Errorf("a directory that is no profile: %v", err)
	}
	if r, err := Reap(t.TempDir(), nil); err != nil || r != (Reaped{}) {
		t.Errorf("no marks: %+v, %v", r, err)
	}
}
