package chromium

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// Before it executes Chromium, the jail is one process. It ends if the launch is
// cancelled, and with the daemon.
func TestTheJailBeforeChromium(t *testing.T) {
	prepared := func(t *testing.T) *Process {
		cfg := testConfig(t)
		needJail(t, cfg)
		cfg.JailPort, cfg.ProxyServer = policy.JailPort, policy.RefusingAt(policy.JailPort)
		found, err := Find(cfg)
		if err != nil {
			t.Fatal(err)
		}
		p, transport, err := spawn(cfg, found, discard())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			transport.Close()
			p.end()
		})
		return p
	}
	t.Run("given up", func(t *testing.T) {
		p := prepared(t)
		pid := p.cmd.Process.Pid
		if list := group(pid); len(list) != 1 {
			t.Errorf("the jail is the processes %v, want one", list)
		}
		checkJail(t, pid)
		p.end()
		if list := group(pid); len(list) > 0 {
			t.Errorf("processes are left: %v", list)
		}
		for _, name := range []string{p.profile.dir, p.profile.mark} {
			if _, err := os.Stat(name); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", name, err)
			}
		}
	})
	t.Run("the daemon is gone", func(t *testing.T) {
		p := prepared(t)
		p.handoff.Close()
		select {
		case <-p.exited:
		case <-time.After(5 * time.Second):
			t.Error("the jail still waits")
		}
	})
}

// needJail skips a test where there can be no jail, and fails it in CI.
func needJail(t *testing.T, cfg Config) {
	t.Helper()
	if err := CanJail(cfg); err != nil {
		untested.Missing(t, "no jail here, so this is NOT tested: %v", err)
	}
}

// A launch fails as soon as the preparation of its jail has failed, not after
// jailTimeout.
func TestAJailThatFailsIsSeen(t *testing.T) {
	cfg := testConfig(t)
	needJail(t, cfg)
	cfg.JailPort = 70000 // which is refused inside
	found, err := Find(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := spawn(cfg, found, discard()); err == nil || protocol.CodeOf(err) != protocol.ChromiumUnavailable || !strings.Contains(err.Error(), "its port") {
		t.Fatalf("%v; want the jail's own error", err)
	}
	owner, err := processOwner(cfg)
	if err != nil {
		t.Fatal(err)
	}
	prof, err := newProfile(cfg.StateDir, owner, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{cmd: exec.Command("chromium"), profile: prof, stderr: &stderrTail{limit: 1 << 10}, exited: make(chan struct{}), log: discard()}
	confine(p.cmd, owner)
	if _, err := p.start(cfg, owner); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v, want that the jail ended", err)
	}
}
