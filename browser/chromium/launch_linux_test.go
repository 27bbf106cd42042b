package chromium

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// nobody is the user that the tests of an unprivileged daemon run as.
var nobody = account{"nobody", 65534, 65534}

// helper is this test binary, run as a daemon.
type helper struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	said  said
}

// startHelper starts a daemon with cfg, as user where it is not nil, and returns
// when it has launched its browser.
func startHelper(t *testing.T, cfg Config, user *account) *helper {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(cfg)
	cmd := exec.Command(self)
	if user != nil {
		// The build's own directory is closed to others.
		dir, err := os.MkdirTemp("/tmp", "browserd-helper-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		os.Chmod(dir, 0o755)
		cmd = exec.Command(filepath.Join(dir, "browser.test"))
		program, err := os.ReadFile(self)
		if err == nil {
			err = os.WriteFile(cmd.Path, program, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user.uid, Gid: user.gid, Groups: []uint32{}}}
	}
	cmd.Env = append(os.Environ(), roleVariable+"="+string(b))
	cmd.Stderr = os.Stderr
	h := &helper{cmd: cmd}
	h.stdin, err = cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.kill() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &h.said)
	}
	if err != nil {
		t.Fatalf("the helper said %q: %v", line, err)
	}
	if h.said.Err != "" {
		t.Fatalf("the helper: %s", h.said.Err)
	}
	return h
}

// kill is kill -9 of the daemon.
func (h *helper) kill() {
	h.stdin.Close()
	h.cmd.Process.Kill()
	h.cmd.Wait()
}

// end lets the daemon end normally.
func (h *helper) end() error {
	h.stdin.Close()
	return h.cmd.Wait()
}

// group lists the processes of a browser with their kind.
func group(browser int) map[int]string {
	list := map[int]string{}
	for _, pid := range pids() {
		s, err := readStat(pid)
		if err != nil || s.group != browser || s.state == "Z" {
			continue
		}
		list[pid] = "browser"
		for _, a := range cmdline(pid) {
			if kind, ok := strings.CutPrefix(a, "--type="); ok {
				list[pid] = kind
			}
		}
	}
	return list
}

// checkSandbox looks at every process of a browser that has a page open.
func checkSandbox(t *testing.T, browser int, uid string) {
	t.Helper()
	renderers := 0
	for pid, kind := range group(browser) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		if !strings.Contains(string(status), "\nUid:\t"+uid+"\t"+uid+"\t"+uid) {
			t.Errorf("%s %d does not run as %s", kind, pid, uid)
		}
		if slices.Contains(cmdline(pid), "--no-sandbox") {
			t.Errorf("%s %d has --no-sandbox", kind, pid)
		}
		if kind != "renderer" {
			continue
		}
		renderers++
		// A renderer that Chromium starts ahead of need enters its sandbox after it is listed.
		eventually(t, 10*time.Second, fmt.Sprintf("renderer %d in its sandbox", pid), func() bool {
			now, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if err == nil {
				status = now
			}
			return err != nil || strings.Contains(string(status), "\nSeccomp:\t2\n")
		})
		for what, want := range map[string]string{"Seccomp": "2", "NoNewPrivs": "1", "CapEff": "0000000000000000"} {
			if !strings.Contains(string(status), "\n"+what+":\t"+want+"\n") {
				t.Errorf("renderer %d: want %s %s", pid, what, want)
			}
		}
		for _, ns := range []string{"pid", "net", "user"} {
			outer, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", browser, ns))
			inner, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, ns))
			if err == nil && inner == outer {
				t.Errorf("renderer %d shares the %s namespace of the browser", pid, ns)
			}
		}
	}
	if renderers == 0 {
		t.Errorf("no renderer among %v", group(browser))
	}
}

func TestSandboxAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		untested.Skip(t, "not root")
	}
	builds(t, func(t *testing.T, cfg Config) {
		c := started(t, cfg)
		conn, _, err := c.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Info().Sandbox; s != "unknown" {
			t.Errorf("sandbox %q before there is a page", s)
		}
		openPage(t, conn)
		eventually(t, 10*time.Second, "sandbox on", func() bool { return c.Info().Sandbox == "on" })
		owner, err := runAs("")
		if err != nil {
			t.Fatal(err)
		}
		checkSandbox(t, c.Info().PID, fmt.Sprint(owner.uid))
		prof := profileOf(c)
		for _, d := range []string{prof.dir, prof.userData(), prof.home()} {
			fi, err := os.Stat(d)
			if err != nil || fi.Mode().Perm() != 0o700 || fi.Sys().(*syscall.Stat_t).Uid != owner.uid {
				t.Errorf("%s: %v %v, want 0700 of %v", d, fi, err, owner)
			}
		}
	})
}

func TestSandboxAsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: every other test runs as a user then")
	}
	builds(t, func(t *testing.T, cfg Config) {
		state, err := os.MkdirTemp("/tmp", "browserd-state-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(state)
		if err := os.Chown(state, int(nobody.uid), int(nobody.gid)); err != nil {
			t.Fatal(err)
		}
		cfg.StateDir = state
		h := startHelper(t, cfg, &nobody)
		checkSandbox(t, h.said.Info.PID, "65534")
		left := group(h.said.Info.PID)
		if err := h.end(); err != nil {
			t.Errorf("the helper ended with %v", err)
		}
		checkNone(t, h.said, left, state)
	})
}

// checkNone fails when any of the processes, the profile or a mark is left.
func checkNone(t *testing.T, s said, old map[int]string, state string) {
	t.Helper()
	for pid, kind := range old {
		if st, err := readStat(pid); err == nil && st.state != "Z" && st.group == s.Info.PID {
			t.Errorf("%s %d is left", kind, pid)
		}
	}
	if _, err := os.Lstat(s.Profile); !os.IsNotExist(err) {
		t.Errorf("%s is left (%v)", s.Profile, err)
	}
	if marks, _ := filepath.Glob(filepath.Join(marksDir(state), "*")); len(marks) > 0 {
		t.Errorf("left: %v", marks)
	}
}

func TestEnvironmentIsClean(t *testing.T) {
	t.Setenv("BROWSERD_TOKEN", "secret-of-the-test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-test")
	t.Setenv("https_proxy", "http://user:secret-of-the-test@127.0.0.1:1")
	t.Setenv("DISPLAY", ":99")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("LC_TIME", "C")
	// Chromium overwrites its environment in /proc, so a script that prints it
	// replaces it.
	cfg := testConfig(t)
	cfg.Path = programs(t)("tell", "cat /proc/self/environ >&2; exit 1")
	p, transport, err := spawn(cfg, Found{Path: cfg.Path}, discard())
	if err != nil {
		t.Fatal(err)
	}
	<-p.exited
	transport.Close()
	if err := p.end(); err != nil {
		t.Error(err)
	}
	told := strings.Split(p.stderr.String(), "\x00")
	env := told[:len(told)-1]
	allowed := append([]string{}, "PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "HOME", "TMPDIR", "TMP", "TEMP", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
		"USERPROFILE", "APPDATA", "LOCALAPPDATA", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "LC_TIME", "PWD")
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if strings.Contains(value, "secret-of-the-test") || !slices.Contains(allowed, name) && !strings.HasPrefix(name, "LC_") {
			t.Errorf("Chromium was given %s", kv)
		}
	}
	for _, want := range []string{"LANG=C.UTF-8", "LC_TIME=C", "HOME=" + p.profile.home(), "TMPDIR=" + p.profile.tmp()} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing in %q", want, env)
		}
	}
}

// Chromium finds no program on its PATH but those of its profile. A wrapper script keeps what it needs.
func TestChromiumHasNoPrograms(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	given := []string{"LANG=C", "PATH=/usr/bin:/bin", "PATH=/sbin", "PATHS=/opt"}
	for program, want := range map[string][]string{
		self:                                  {"LANG=C", "PATHS=/opt", "PATH=/profile/programs"},
		programs(t)("wrapper", "exec chrome"): given,
	} {
		if got := withoutPrograms(slices.Clone(given), program, "/profile/programs"); !slices.Equal(got, want) {
			t.Errorf("%s is given %q, want %q", filepath.Base(program), got, want)
		}
	}
}

func TestNoPortIsOpen(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		c := started(t, cfg)
		conn, _, err := c.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		openPage(t, conn)
		if open := listening(t, group(c.Info().PID)); len(open) > 0 {
			t.Errorf("Chromium listens: %v", open)
		}
	})
}

// programs returns a func that writes shell scripts which every user may run.
func programs(t *testing.T) func(name, body string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "browserd-programs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	return func(name, body string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
}

// listening returns the TCP sockets on which the processes listen.
func listening(t *testing.T, processes map[int]string) (open []string) {
	t.Helper()
	inodes := map[string]string{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(string(b)) {
			if f := strings.Fields(l); len(f) > 9 && f[3] == "0A" {
				inodes["socket:["+f[9]+"]"] = f[1]
			}
		}
	}
	for pid, kind := range processes {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if kind == "browser" && len(fds) == 0 {
			t.Fatalf("the descriptors of the browser cannot be read")
		}
		for _, fd := range fds {
			if link, err := os.Readlink(fd); err == nil && inodes[link] != "" {
				open = append(open, kind+" "+inodes[link])
			}
		}
	}
	return open
}

func TestFailedStartIsExplained(t *testing.T) {
	script := programs(t)
	for _, c := range []struct {
		name, path, want, next string
	}{
		{"a library is missing", script("lib", "echo 'x: error while loading shared libraries: libnss3.so: cannot open shared object file' >&2; exit 127"), "cannot start: x: error while loading shared libraries: libnss3.so", "package manager"},
		{"it dies", script("dies", "echo '[12:12:1121/010203.4:FATAL:a.cc(1)] Out of cheese' >&2; exit 3"), "did not start: Chromium ended: exit status 3: Out of cheese", "doctor"},
		{"it is killed", script("killed", "kill -9 $$"), "did not start: Chromium ended: signal: killed", "doctor"},
		{"it refuses", script("refuses", `head -c 1 <&3 >/dev/null; printf '{"id":1,"error":{"code":-32000,"message":"Not today"}}\0' >&4; exec sleep 60`), "did not start: Browser.getVersion: Not today", "doctor"},
		{"it closes its pipes", script("closes", "exec 3<&- 4>&-; exec sleep 60"), "did not start: Browser.getVersion: browser_lost: the connection to Chromium is gone", "doctor"},
		{"it is no Chromium", script("true", "exit 0"), "did not start: Chromium exited", "doctor"},
		{"no program at all", script("bad", ""), "did not start", "doctor"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := testConfig(t)
			cfg.Path = c.path
			p, _, _, err := launch(t.Context(), cfg, discard())
			if err == nil {
				p.end()
				t.Fatal("it started")
			}
			e, ok := err.(*protocol.Error)
			if !ok || e.Code != protocol.ChromiumUnavailable || !strings.Contains(e.Message, c.want) || !strings.Contains(e.Next, c.next) {
				t.Errorf("%#v", err)
			}
			if marks, _ := filepath.Glob(filepath.Join(marksDir(cfg.StateDir), "*")); len(marks) > 0 {
				t.Errorf("left: %v", marks)
			}
		})
	}
}

func TestNoUsableSandboxIsExplained(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		found, err := Find(cfg)
		if err != nil {
			t.Fatal(err)
		}
		// Config.Check refuses these flags: here they simulate a machine without
		// namespaces.
		cfg.Args = []string{"--disable-namespace-sandbox", "--disable-setuid-sandbox"}
		p, transport, err := spawn(cfg, found, discard())
		if err != nil {
			t.Fatal(err)
		}
		conn := cdp.New(transport)
		defer conn.Close()
		select {
		case <-p.exited:
		case <-time.After(20 * time.Second):
			t.Fatal("Chromium runs without a sandbox")
		}
		p.end()
		e, ok := p.explain(conn.Err()).(*protocol.Error)
		if !ok || !strings.HasSuffix(e.Message, "cannot set up its sandbox on this machine") || !strings.Contains(e.Next, "user namespaces") {
			t.Errorf("%+v; it said %s", e, p.stderr)
		}
	})
}

func TestStderrTail(t *testing.T) {
	w := &stderrTail{limit: 8}
	fmt.Fprint(w, "abc")
	fmt.Fprint(w, "defgh")
	fmt.Fprint(w, "ij")
	if got := w.String(); got != "cdefghij" {
		t.Errorf("%q", got)
	}
}
