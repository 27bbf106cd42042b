package chromium

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// A prelaunched Chromium is one process in its jail, from which the first launch
// starts; where that has ended meanwhile, or is for another program, the launch begins
// anew, and where nobody launches it nothing is left of it.
func TestPrelaunch(t *testing.T) {
	prelaunch := func(t *testing.T) (Config, *Prelaunched) {
		cfg := testConfig(t)
		needJail(t, cfg)
		cfg.JailPort, cfg.ProxyServer = policy.JailPort, policy.RefusingAt(policy.JailPort)
		cfg.Adopt = func(net.Listener) {}
		h, err := Prelaunch(cfg, discard())
		if err != nil {
			t.Fatal(err)
		}
		cfg.Prelaunched = h
		return cfg, h
	}
	left := func(t *testing.T, p *Process) {
		t.Helper()
		if list := group(p.cmd.Process.Pid); len(list) > 0 {
			t.Errorf("processes are left: %v", list)
		}
		for _, name := range []string{p.profile.dir, p.profile.mark} {
			if _, err := os.Stat(name); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", name, err)
			}
		}
	}
	t.Run("launched", func(t *testing.T) {
		cfg, h := prelaunch(t)
		p := h.proc
		pid := p.cmd.Process.Pid
		if list := group(pid); len(list) != 1 {
			t.Errorf("%v wait, want one process", list)
		}
		checkJail(t, pid)
		c := started(t, cfg)
		if got := c.Info().PID; got != pid {
			t.Errorf("process %d was launched, %d was prelaunched", got, pid)
		}
		checkJail(t, pid)
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		h.Close() // it has been taken
		left(t, p)
	})
	t.Run("killed before", func(t *testing.T) {
		cfg, h := prelaunch(t)
		p := h.proc
		syscall.Kill(p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.exited
		if c := started(t, cfg); c.Info().PID == p.cmd.Process.Pid {
			t.Error("the dead process was launched")
		}
		left(t, p)
	})
	t.Run("another program by now", func(t *testing.T) {
		cfg, h := prelaunch(t)
		p := h.proc
		// It was found in the directory of a version that has been removed since.
		p.found.Path = "/opt/chromium-1/chrome"
		p.program[0] = p.found.Path
		if c := started(t, cfg); c.Info().PID == p.cmd.Process.Pid {
			t.Error("the program that is gone was launched")
		}
		left(t, p)
	})
	t.Run("not wanted", func(t *testing.T) {
		_, h := prelaunch(t)
		p := h.proc
		h.Close()
		left(t, p)
	})
	t.Run("the daemon is gone", func(t *testing.T) {
		_, h := prelaunch(t)
		defer h.Close()
		h.proc.handoff.Close()
		select {
		case <-h.proc.exited:
		case <-time.After(5 * time.Second):
			t.Error("the jail still waits")
		}
	})
}

// needJail skips a test where there can be no jail, and fails it in CI.
func needJail(t *testing.T, cfg Config) {
	t.Helper()
	err := CanJail(cfg)
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatalf("no jail here: %v", err)
	case err != nil:
		t.Skipf("no jail here, so this is NOT tested: %v", err)
	}
}

// A jail that cannot be prepared is seen to have ended: nobody waits until it would
// have taken too long.
func TestAJailThatFailsIsSeen(t *testing.T) {
	cfg := testConfig(t)
	needJail(t, cfg)
	cfg.JailPort = 70000 // which is refused inside
	if h, err := Prelaunch(cfg, discard()); err == nil || protocol.CodeOf(err) != protocol.ChromiumUnavailable || !strings.Contains(err.Error(), "its port") {
		t.Fatalf("%v, %v; want the jail's own error", h, err)
	}
	owner, err := processOwner(cfg)
	if err != nil {
		t.Fatal(err)
	}
	prof, err := newProfile(cfg.StateDir, owner)
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{cmd: exec.Command("chromium"), profile: prof, stderr: &stderrTail{limit: 1 << 10}, exited: make(chan struct{}), log: discard()}
	confine(p.cmd, owner)
	if _, err := p.start(cfg, owner); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v, want that the jail ended", err)
	}
}
