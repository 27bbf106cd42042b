package e2e_test

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testtime"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// person is somebody who has a Chromium open, on a screen of memory, with remote debugging turned on as
// chrome://inspect/#remote-debugging does.
type person struct {
	t       *testing.T
	display string
	dir     string
	program string
	running *exec.Cmd
}

// newPerson opens a Chromium with the addresses, each in a tab.
func newPerson(t *testing.T, urls ...string) *person {
	t.Helper()
	p := &person{t: t, dir: t.TempDir()}
	for _, tool := range []string{"Xvfb", "xdotool", "chromium"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			untested.Missing(t, "a person's own Chromium is not tried: %s is not installed: scripts/setup.sh test", tool)
		}
		p.program = path
	}
	screen := exec.Command("Xvfb", "-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp")
	out, err := screen.StdoutPipe()
	if err == nil {
		err = screen.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Process.Kill(); screen.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("Xvfb: %v", err)
	}
	p.display = ":" + strings.TrimSpace(line)
	if err := os.WriteFile(filepath.Join(p.dir, "Local State"), []byte(`{"devtools":{"remote_debugging":{"user-enabled":true}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p.starts(urls...)
	return p
}

// starts opens the person's Chromium, and waits until it listens.
func (p *person) starts(urls ...string) {
	p.t.Helper()
	file := filepath.Join(p.dir, "DevToolsActivePort")
	os.Remove(file) // that of the one before
	p.running = p.chromium(urls...)
	if err := p.running.Start(); err != nil {
		p.t.Fatal(err)
	}
	running := p.running
	p.t.Cleanup(func() {
		syscall.Kill(-running.Process.Pid, syscall.SIGKILL)
		running.Wait()
	})
	p.until("Chromium listens", func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
}

// closes has the person's Chromium end as its menu does, and waits for its end.
func (p *person) closes() {
	p.t.Helper()
	if err := p.running.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	p.running.Wait()
}

// chromium runs the person's Chromium, or tells the one that runs to open more tabs.
func (p *person) chromium(urls ...string) *exec.Cmd {
	args := []string{"--user-data-dir=" + p.dir, "--no-first-run", "--password-store=basic", "--disable-gpu", "--disable-background-networking",
		"--disable-component-update", "--disable-popup-blocking", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"}
	if os.Getuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	cmd := exec.Command(p.program, append(args, urls...)...)
	cmd.Env = append(os.Environ(), "DISPLAY="+p.display, "HOME="+p.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func (p *person) until(what string, is func() bool) {
	p.t.Helper()
	for end := time.Now().Add(60 * time.Second); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (p *person) xdotool(args ...string) string {
	cmd := exec.Command("xdotool", args...)
	cmd.Env = append(os.Environ(), "DISPLAY="+p.display)
	out, _ := cmd.Output() // search ends with 1 where nothing is found
	return strings.TrimSpace(string(out))
}

// presses sends keys to the dialog until is holds: the dialog takes none for a moment after it appears.
func (p *person) presses(is func() bool, keys ...string) {
	p.t.Helper()
	p.until("the dialog heeds "+strings.Join(keys, " "), func() bool {
		p.xdotool("mousemove", "600", "500")
		p.xdotool(append([]string{"key"}, keys...)...)
		for range 20 {
			if is() {
				return true
			}
			time.Sleep(50 * time.Millisecond)
		}
		return false
	})
}

// attachedDaemon is a daemon that uses a person's Chromium.
func attachedDaemon(t *testing.T, p *person, env map[string]string) *testdaemon.Daemon {
	all := map[string]string{"BROWSERD_BROWSER__ATTACH": "true", "BROWSERD_BROWSER__ATTACH_DIR": p.dir, "BROWSERD_LOG__LEVEL": "debug"}
	for k, v := range env {
		all[k] = v
	}
	return testdaemon.Start(t, testdaemon.Options{Env: all})
}

// attachment is what status says.
func attachment(a *agent) string {
	return ask[struct{ Chromium struct{ Attached string } }](a, "status", nil).Chromium.Attached
}

// personPages are of a shop in which the person is logged in. heard counts what their own tabs have noticed.
func personPages(t *testing.T) (w *pageServer, heard func() (loads int, changes []string)) {
	w = newPageServer(t)
	var mu sync.Mutex
	var loads int
	var changes []string
	w.mux.HandleFunc("/mine", func(rw http.ResponseWriter, _ *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "login", Value: "person", Path: "/", HttpOnly: true})
		fmt.Fprint(rw, `<!doctype html><title>Mine</title><p>Private <script>
			const see = () => JSON.stringify([navigator.webdriver, navigator.userAgent, navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone, innerWidth, devicePixelRatio, document.title, Object.keys(window).length]);
			const first = see(); fetch('/mine/loaded', {method: 'POST'});
			setInterval(() => { if (see() !== first) fetch('/mine/changed', {method: 'POST', body: first + ' became ' + see()}) }, 200);
			addEventListener('storage', e => fetch('/mine/changed', {method: 'POST', body: 'storage ' + e.key}));
			addEventListener('beforeunload', () => navigator.sendBeacon('/mine/changed', 'left'));</script>`)
	})
	w.mux.HandleFunc("/mine/loaded", func(http.ResponseWriter, *http.Request) { mu.Lock(); loads++; mu.Unlock() })
	w.mux.HandleFunc("/mine/changed", func(_ http.ResponseWriter, r *http.Request) {
		b := make([]byte, 2000)
		n, _ := r.Body.Read(b)
		mu.Lock()
		changes = append(changes, string(b[:n]))
		mu.Unlock()
	})
	w.mux.HandleFunc("/who", func(rw http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie("login")
		if err != nil {
			c = &http.Cookie{Value: "nobody"}
		}
		fmt.Fprintf(rw, `<!doctype html><title>Who</title><p>You are %s</p><a href=/popup target=_blank>Opens</a><button onclick="window.open('/popup')">Window</button><input aria-label=Name>`, c.Value)
	})
	w.mux.HandleFunc("/popup", func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(rw, `<!doctype html><title>Popup</title><p>Popped up</p>`)
	})
	return w, func() (int, []string) { mu.Lock(); defer mu.Unlock(); return loads, append([]string(nil), changes...) }
}

// Agents use the Chromium that a person has open, in windows of their own and with the person's logins, after
// the person was asked once. They see nothing of the person's tabs, and leave nothing.
func TestAttach(t *testing.T) {
	aboutOneProcess(t, "a person's own browser")
	t.Parallel()
	w, heard := personPages(t)
	p := newPerson(t, w.URL+"/mine", w.URL+"/mine", w.URL+"/mine")
	p.until("the person's tabs are loaded", func() bool { loads, _ := heard(); return loads == 3 })
	d := attachedDaemon(t, p, map[string]string{"BROWSERD_POLICY__CONFIRM_TIMEOUT": "1s"})
	a := newAgent(t, d)
	if got := attachment(a); got != "not_attached" {
		t.Errorf("before anything: %s", got)
	}
	// The person is asked, and whoever comes hears that, at once and each time; they are asked once.
	for range 2 {
		began := time.Now()
		e := a.refused("session_open", nil, protocol.WaitingForConsent)
		if took := time.Since(began); took > 3*time.Second || !strings.Contains(e.Next, "Allow") {
			t.Errorf("after %v: %v %s", took, e, e.Next)
		}
	}
	if got := attachment(a); got != "waiting_for_consent" {
		t.Errorf("while the person is asked: %s", got)
	}
	consented := make(chan error, 1)
	go func() {
		out, err := d.Command("attach")
		if err == nil && !strings.Contains(out, "attached") {
			err = errors.New(out)
		}
		consented <- err
	}()
	p.presses(func() bool { return attachment(a) == "attached" }, "Tab", "Return")
	if err := <-consented; err != nil {
		t.Fatalf("browserd attach: %v", err)
	}
	windows := len(strings.Fields(p.xdotool("search", "--onlyvisible", "--name", "Chromium")))

	// Two sessions of two connections, which need no further consent, and know their own tabs alone.
	b := newAgent(t, d)
	for _, who := range []*agent{a, b} {
		who.do("session_open", nil)
		if r := who.do("open", params{"url": w.URL + "/who"}); !r.Page.Attached {
			t.Errorf("the page does not say whose browser it is in: %+v", r.Page)
		}
		if text := who.do("read", nil).Content; !strings.Contains(text, "You are person") {
			t.Errorf("in the person's browser: %q", text)
		}
		if tabs := who.do("tab_list", nil).Tabs; len(tabs) != 1 {
			t.Errorf("tabs: %+v", tabs)
		}
	}
	// What acts waits for the person, unless the operator has chosen otherwise.
	a.refused("click", params{"ref": `role=button[name="Window"]`}, protocol.ConfirmationDenied)
	status := ask[struct{ Egress struct{ Mode, Why string } }](a, "status", nil).Egress
	if status.Mode != "unprotected" || !strings.Contains(status.Why, "neither the jail nor the egress policy") {
		t.Errorf("egress: %+v", status)
	}

	// The end of a session closes its windows, and nothing else.
	a.do("session_close", nil)
	b.do("session_close", nil)
	p.until("the windows are closed", func() bool {
		return len(strings.Fields(p.xdotool("search", "--onlyvisible", "--name", "Chromium"))) == windows
	})
	began := time.Now()
	a.do("session_open", nil)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the next session took %v", took)
	}
	d.Stop()
	if loads, changes := heard(); loads != 3 || len(changes) > 0 {
		t.Errorf("the person's tabs were loaded %d times and noticed %q", loads, changes)
	}
}

// With an autonomy of its own choice an agent acts, its popups are its own, and what would change the
// profile is refused.
func TestAttachedSessionsActAndAreBound(t *testing.T) {
	aboutOneProcess(t, "a person's own browser")
	t.Parallel()
	w, heard := personPages(t)
	p := newPerson(t, w.URL+"/mine")
	p.until("the person's tab is loaded", func() bool { loads, _ := heard(); return loads == 1 })
	d := attachedDaemon(t, p, map[string]string{"BROWSERD_POLICY__AUTONOMY": "full", "BROWSERD_STATE__KEY": "a passphrase of the tests"})
	a := newAgent(t, d)
	a.refused("session_open", nil, protocol.WaitingForConsent)
	// The person refuses: nobody is asked again before they say so.
	p.presses(func() bool { return attachment(a) == "refused" }, "Return")
	began := time.Now()
	a.refused("session_open", nil, protocol.ChromiumUnavailable)
	if took := time.Since(began); took > 5*time.Second || attachment(a) != "refused" {
		t.Errorf("after a refusal: %v, %s", took, attachment(a))
	}
	done := make(chan error, 1)
	go func() { _, err := d.Command("attach"); done <- err }()
	p.until("the person is asked again", func() bool { return attachment(a) == "waiting_for_consent" })
	p.presses(func() bool { return attachment(a) == "attached" }, "Tab", "Return")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	a.open(w.URL + "/who")
	a.do("type", params{"ref": "label=Name", "text": "typed"})
	if got := a.do("read", params{"ref": "label=Name", "kind": "value"}).Content; got != "typed" {
		t.Errorf("typed %q", got)
	}
	for i, ref := range []string{`role=button[name="Window"]`, `role=link[name="Opens"]`} {
		a.do("click", params{"ref": ref})
		p.until("the popup is the session's", func() bool { return len(a.do("tab_list", nil).Tabs) == i+2 })
	}
	a.do("tab_select", params{"tab": "t2"})
	if text := a.do("read", nil).Content; !strings.Contains(text, "Popped up") {
		t.Errorf("the popup: %q", text)
	}
	for _, c := range []struct {
		method string
		p      params
	}{
		{"cookies_get", params{}}, {"cookies_set", params{"cookies": []params{{"name": "x", "value": "y", "url": w.URL}}}}, {"cookies_clear", params{}}, {"cookies_clear", params{"name": "login"}},
		{"state_save", params{"name": "stolen"}}, {"downloads", params{"allow": true}},
		{"press", params{"key": "Control+c"}}, {"press", params{"key": "Shift+Insert"}}, {"press", params{"key": "Meta+v"}},
	} {
		a.refused(c.method, c.p, protocol.Unsupported)
	}
	a.do("tab_close", nil)
	a.do("session_close", nil)
	if _, err := a.try("session_open", params{"permissions": []string{"geolocation"}}); err == nil {
		t.Error("a session was given a permission in the person's profile")
	}
	if loads, changes := heard(); loads != 1 || len(changes) > 0 {
		t.Errorf("the person's tab was loaded %d times and noticed %q", loads, changes)
	}
}

// Two hundred tabs, fifty of them frozen, cost a command nothing.
func TestAttachBesideManyTabs(t *testing.T) {
	w, _ := personPages(t)
	var mu sync.Mutex
	loaded := 0
	w.mux.HandleFunc("/many", func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(rw, `<!doctype html><title>One of many</title><script>fetch('/many/loaded', {method: 'POST'})</script>`)
	})
	w.mux.HandleFunc("/many/loaded", func(http.ResponseWriter, *http.Request) { mu.Lock(); loaded++; mu.Unlock() })
	p := newPerson(t, w.URL+"/mine")
	count := func() int { mu.Lock(); defer mu.Unlock(); return loaded }
	renderers := func() []string {
		out, _ := exec.Command("pgrep", "-f", "type=renderer.*"+p.dir).Output()
		return strings.Fields(string(out))
	}
	var frozen []string
	before := renderers()
	for batch := range 10 {
		var urls []string
		for range 20 {
			base := w.URL
			if batch < 3 {
				base = w.alt()
			}
			urls = append(urls, base+"/many")
		}
		if out, err := p.chromium(urls...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		p.until("the tabs are loaded", func() bool { return count() >= 20*(batch+1) })
		if batch == 2 {
			frozen = slices.DeleteFunc(renderers(), func(pid string) bool { return slices.Contains(before, pid) })
		}
	}
	for _, pid := range frozen { // 60 tabs of one site
		if out, err := exec.Command("kill", "-STOP", pid).CombinedOutput(); err != nil {
			t.Logf("%s: %s", pid, out)
		}
	}
	testtime.OneOfThree(t, func() error {
		d := attachedDaemon(t, p, map[string]string{"BROWSERD_POLICY__AUTONOMY": "full"})
		defer d.Stop()
		a := newAgent(t, d)
		a.refused("session_open", nil, protocol.WaitingForConsent)
		p.presses(func() bool { return attachment(a) == "attached" }, "Tab", "Return")
		began := time.Now()
		a.do("session_open", nil)
		took := time.Since(began)
		t.Logf("the first command took %v beside 200 tabs, with %d processes frozen", took, len(frozen))
		if took > time.Second {
			return fmt.Errorf("the first command took %v", took)
		}
		return nil
	})
}
