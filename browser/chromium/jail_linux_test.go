package chromium

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/policy"
)

// checkJail checks a browser process from outside: it has a network namespace of its
// own with only loopback in it, and no capability.
func checkJail(t *testing.T, browser int) {
	t.Helper()
	for _, ns := range []string{"net", "user"} {
		mine, _ := os.Readlink("/proc/self/ns/" + ns)
		its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", browser, ns))
		if err != nil || mine == its {
			t.Errorf("the browser's %s namespace is %s, the test's %s (%v)", ns, its, mine, err)
		}
	}
	read := func(name string) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", browser, name))
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	var cards []string
	for l := range strings.Lines(read("net/dev")) {
		if name, _, ok := strings.Cut(l, ":"); ok {
			cards = append(cards, strings.TrimSpace(name))
		}
	}
	// nowhere0 is the bridge without ports that makes pages think they are online.
	if slices.Sort(cards); !slices.Equal(cards, []string{"lo", "nowhere0"}) {
		t.Errorf("network interfaces %v", cards)
	}
	// An address that is added while Chromium runs is a network change, for which
	// it drops every request under way: an IPv6 link-local address takes a second
	// or two to be ready.
	if late := read("net/if_inet6"); strings.Contains(late, "nowhere0") {
		t.Errorf("the bridge gives itself an IPv6 address:\n%s", late)
	}
	if routes := strings.Count(read("net/route"), "\n") - 1; routes > 0 {
		t.Errorf("%d routes lead out of the jail:\n%s", routes, read("net/route"))
	}
	listens := 0
	for l := range strings.Lines(read("net/tcp") + read("net/tcp6")) {
		if f := strings.Fields(l); len(f) > 3 && f[3] == "0A" {
			listens++
			if !strings.HasSuffix(f[1], fmt.Sprintf(":%04X", 3128)) {
				t.Errorf("inside, something listens on %s", f[1])
			}
		}
	}
	if listens != 1 {
		t.Errorf("%d listeners inside, want the proxy's", listens)
	}
	status := read("status")
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		if !strings.Contains(status, "\n"+set+":\t0000000000000000\n") {
			t.Errorf("the browser has capabilities: %s", set)
		}
	}
}

// Chromium's own sandbox is on inside the jail, whichever user browserd runs as.
func TestSandboxInTheJail(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		t.Run("as it is", func(t *testing.T) {
			needJail(t, cfg)
			e, err := policy.NewEgress(policy.EgressOptions{Jailed: true}, func(netip.AddrPort) {})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() })
			cfg.Adopt, cfg.JailPort, cfg.ProxyServer = e.Serve, e.Port(), e.Refusing()
			c := started(t, cfg)
			conn, _, err := c.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			openPage(t, conn)
			i := c.Info()
			eventually(t, 10*time.Second, "sandbox on", func() bool { return c.Info().Sandbox == "on" })
			uid := fmt.Sprint(os.Getuid())
			if os.Geteuid() == 0 {
				owner, err := runAs("")
				if err != nil {
					t.Fatal(err)
				}
				uid = fmt.Sprint(owner.uid)
			}
			checkSandbox(t, i.PID, uid)
			checkJail(t, i.PID)
		})
		t.Run("as a user, killed", func(t *testing.T) {
			if os.Geteuid() != 0 {
				t.Skip("not root: every other test runs as a user then")
			}
			state, err := os.MkdirTemp("/tmp", "browserd-state-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(state)
			if err := os.Chown(state, int(nobody.uid), int(nobody.gid)); err != nil {
				t.Fatal(err)
			}
			cfg.StateDir, cfg.JailPort = state, 3128
			h := startHelper(t, cfg, &nobody)
			pid := h.said.Info.PID
			checkSandbox(t, pid, "65534")
			checkJail(t, pid)
			// kill -9 of the daemon takes the jail with it.
			h.kill()
			eventually(t, 5*time.Second, "Chromium is gone", func() bool { return len(group(pid)) == 0 })
			if _, err := Reap(state, nil); err != nil {
				t.Error(err)
			}
		})
	})
}

// If the system allows no namespaces, CanJail returns a sentence about it, and a
// launch that is to have a jail fails rather than run without one.
func TestNoJail(t *testing.T) {
	if os.Getenv(noNamespacesVariable) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestNoJail$", "-test.v")
		cmd.Env = append(os.Environ(), noNamespacesVariable+"=1")
		uid, gid := os.Getuid(), os.Getgid()
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE}}
		if uid == 0 {
			uid, gid = int(nobody.uid), int(nobody.gid)
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: []uint32{}}
			cmd.SysProcAttr.GidMappingsEnableSetgroups = true
			dir := t.TempDir()
			os.Chown(dir, uid, gid)
			cmd.Env = append(cmd.Env, "TMPDIR=/tmp", "HOME="+dir)
			cmd.Dir = "/"
		}
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: TestNoJail")) {
			t.Fatalf("inside: %v\n%s", err, out)
		}
		return
	}
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	cfg := testConfig(t)
	if err := CanJail(cfg); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "namespaces") {
		t.Errorf("CanJail: %v", err)
	}
	for jail, want := range map[string]Level{JailAuto: LevelWarn, JailRequired: LevelFail, JailOff: LevelWarn} {
		cfg.Jail = jail
		if c := jailCheck(cfg); c.Level != want || c.Remedy == "" {
			t.Errorf("browser.jail %s: %+v", jail, c)
		}
	}
}

// noNamespacesVariable says that this process may switch namespaces off for
// itself.
const noNamespacesVariable = "BROWSERD_TEST_NO_NAMESPACES"
