//go:build linux

package e2e_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/internal/netns"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// outcomes are what testdata/platform/page.html found: the outcome of each check.
type outcomes map[string]string

// platform serves testdata/platform under two names, and takes what its pages found.
type platform struct {
	*httptest.Server
	isolated *httptest.Server // whose pages are isolated from other origins
	mu       sync.Mutex
	runs     int
	found    map[string]chan outcomes // by run
}

// pageWithin is how long a page may take, which most checks end long before.
const pageWithin = 2 * time.Minute

func newPlatform(t *testing.T) *platform {
	p := &platform{found: map[string]chan outcomes{}}
	mux := http.NewServeMux()
	files := http.StripPrefix("/platform/", http.FileServer(http.Dir("testdata/platform")))
	mux.HandleFunc("/platform/", func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		switch strings.TrimPrefix(r.URL.Path, "/platform/") {
		case "page.html", "sw.js":
			h.Set("Service-Worker-Allowed", "/platform/")
		case "csp.html":
			h.Set("Content-Security-Policy", "script-src 'self'")
		case "trusted.html":
			h.Set("Content-Security-Policy", "script-src 'self'; require-trusted-types-for 'script'; trusted-types own")
		}
		files.ServeHTTP(w, r)
	})
	mux.HandleFunc("/platform/result", func(w http.ResponseWriter, r *http.Request) {
		var o outcomes
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			t.Errorf("result: %v", err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.found[r.FormValue("run")] <- o
	})
	platformRequests(mux)
	p.Server = httptest.NewServer(mux)
	p.isolated = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		mux.ServeHTTP(w, r)
	}))
	for _, s := range []*httptest.Server{p.Server, p.isolated} {
		t.Cleanup(func() {
			s.CloseClientConnections()
			s.Close()
		})
	}
	return p
}

// platformRequests answers what the pages ask for beside their files.
func platformRequests(mux *http.ServeMux) {
	mux.HandleFunc("/platform/text", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "text.txt", time.Time{}, strings.NewReader("text"))
	})
	drips := sync.Map{} // by run: closed when the rest may be sent
	drip := func(r *http.Request) chan struct{} {
		c, _ := drips.LoadOrStore(r.FormValue("run"), make(chan struct{}, 1))
		return c.(chan struct{})
	}
	mux.HandleFunc("/platform/drip", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "one")
		w.(http.Flusher).Flush()
		select {
		case <-drip(r):
		case <-r.Context().Done():
		}
		io.WriteString(w, "two")
	})
	mux.HandleFunc("/platform/more", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case drip(r) <- struct{}{}:
		default:
		}
	})
	mux.HandleFunc("/platform/posted", func(w http.ResponseWriter, r *http.Request) {
		kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %d", r.Method, kind, min(len(b), 100))
	})
	mux.HandleFunc("/platform/never", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/platform/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/platform/text", http.StatusFound)
	})
	mux.HandleFunc("/platform/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "unpacked")
		z.Close()
	})
	mux.HandleFunc("/platform/cors", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Methods", "PUT")
		w.Header().Set("Access-Control-Allow-Headers", "X-Own")
		io.WriteString(w, r.Method+" "+r.Header.Get("X-Own"))
	})
	mux.HandleFunc("/platform/headers", func(w http.ResponseWriter, r *http.Request) {
		list := map[string]string{}
		for name, values := range r.Header {
			list[name] = strings.Join(values, ", ")
		}
		json.NewEncoder(w).Encode(list)
	})
	mux.HandleFunc("/platform/cookie", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: r.FormValue("name"), Value: "1", Path: "/platform"})
	})
	mux.HandleFunc("/platform/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if r.URL.RawQuery == "end" && r.Header.Get("Last-Event-ID") == "" {
			io.WriteString(w, "retry: 20\nid: 1\n\n")
			return
		}
		io.WriteString(w, "data: first\n\n")
		w.(http.Flusher).Flush()
		io.WriteString(w, "event: named\nid: 7\ndata: second\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	mux.HandleFunc("/platform/socket", func(w http.ResponseWriter, r *http.Request) {
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		for {
			kind, b, err := c.ReadMessage()
			if err != nil || c.WriteMessage(kind, b) != nil {
				return
			}
		}
	})
}

// page is the address of a page of one place (see places), and a channel that brings what each
// load of it found.
func (p *platform) page(place string) (address string, found <-chan outcomes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs++
	run := fmt.Sprintf("r%d", p.runs)
	c := make(chan outcomes, 4) // a page that is loaded again tells again
	p.found[run] = c
	own := p.URL
	if place == "isolated" {
		own = p.isolated.URL
	}
	other := strings.Replace(own, "127.0.0.1", "localhost", 1) // another site
	if place == "frame" {
		own, other = other, own
	}
	file := "page.html"
	if place == "gesture" {
		file = "gesture.html"
	}
	address = own + "/platform/" + file + "?" + url.Values{"run": {run}, "other": {other}}.Encode()
	if place == "frame" {
		address = p.URL + "/platform/outer.html?" + url.Values{"src": {address}}.Encode()
	}
	return address, c
}

func waitFound(t *testing.T, found <-chan outcomes) outcomes {
	t.Helper()
	select {
	case o := <-found:
		return o
	case <-time.After(pageWithin):
		t.Fatal("the page told nothing")
		return nil
	}
}

// bare starts the Chromium with nothing but what it needs to run here, and returns
// what a page of the place finds in it.
func (r *bareRun) bare(t *testing.T, place string) outcomes {
	t.Helper()
	if o := r.bareOnce(t, place); o != nil {
		return o
	}
	o := r.bareOnce(t, place)
	if o == nil {
		t.Fatal("a Chromium started by hand told nothing, twice")
	}
	return o
}

// bareOnce is bare, and nil where the page tells nothing: a Chromium that is started by hand, without
// what browserd does for it, hung once at its start at a load of 8. What it said is logged.
func (r *bareRun) bareOnce(t *testing.T, place string) outcomes {
	t.Helper()
	address, found := r.page(place)
	dir := t.TempDir()
	// The last flag stands in for the multicast DNS that there is not.
	args := []string{"--headless", "--no-sandbox", "--disable-dev-shm-usage", "--user-data-dir=" + dir, "--remote-debugging-port=0", "--window-size=1280,720", "--disable-features=WebRtcHideLocalIpsWithMdns",
		"--enable-features=WebMCP"} // as docs/security.md says of page tools
	cmd := exec.Command(r.path, append(args, address)...)
	cmd.Env = append(os.Environ(), "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		all := testdaemon.Descendants(cmd.Process.Pid)
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		for _, left := range testdaemon.AwaitGone(all, 3*time.Second) {
			left.Kill()
		}
	}()
	if place == "gesture" {
		clickByHand(t, dir, address)
	}
	select {
	case o := <-found:
		return o
	case <-time.After(pageWithin):
		said, _ := os.ReadFile(log.Name())
		t.Logf("a Chromium started by hand told nothing of %s: %s", place, said[max(0, len(said)-2000):])
		return nil
	}
}

// clickByHand clicks the button of the page at the address, in the Chromium whose
// profile is in dir.
func clickByHand(t *testing.T, dir, address string) {
	t.Helper()
	var target struct {
		URL    string `json:"url"`
		Socket string `json:"webSocketDebuggerUrl"`
		Title  string `json:"title"`
	}
	for end := time.Now().Add(pageWithin); target.Title != "gesture"; time.Sleep(50 * time.Millisecond) { // nothing tells when it is there
		if time.Now().After(end) {
			t.Fatal("the page was not opened")
		}
		port, err := os.ReadFile(filepath.Join(dir, "DevToolsActivePort"))
		if err != nil {
			continue
		}
		number, _, _ := strings.Cut(string(port), "\n")
		resp, err := http.Get("http://127.0.0.1:" + number + "/json/list")
		if err != nil {
			continue
		}
		var list []json.RawMessage
		json.NewDecoder(resp.Body).Decode(&list)
		resp.Body.Close()
		for _, raw := range list {
			if strings.Contains(string(raw), "gesture.html") {
				json.Unmarshal(raw, &target)
			}
		}
	}
	c, _, err := websocket.DefaultDialer.DialContext(t.Context(), target.Socket, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		p := map[string]any{"type": kind, "x": 120, "y": 50, "button": "left", "clickCount": 1}
		if i == 0 {
			p["button"], p["clickCount"] = "none", 0
		}
		if err := c.WriteJSON(map[string]any{"id": i + 1, "method": "Input.dispatchMouseEvent", "params": p}); err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Error *struct{ Message string }
		}
		if err := c.ReadJSON(&answer); err != nil || answer.Error != nil {
			t.Fatal(err, answer.Error)
		}
	}
}

// withholding is an outcome that pages have here and not in a Chromium that is
// started by hand. docs/security.md has the same table.
type withholding struct {
	checks []string // a * at the end stands for anything
	build  string   // shell, whole; empty: both
	here   []string // the outcomes that it may have
	why    string
}

var withheld = []withholding{
	{
		checks: []string{"permission: *", "notification: *", "fonts: queryLocalFonts"},
		here:   []string{"denied", "prompt", "none"},
		why:    "Nobody is there to be asked: what a session was not opened with is denied at once, without a prompt, also what Chromium grants to everybody.",
	},
	{
		checks: []string{"sensor", "wake lock", "pointer lock", "gesture: clipboard write"}, build: "whole",
		here: []string{"NotAllowedError"},
		why:  "The same: `permissions` of `session_open` grants `sensors`, `screen-wake-lock`, `pointer-lock` and `clipboard-write`, which is one clipboard for all sessions.",
	},
	{
		checks: []string{"media: getDisplayMedia", "present: DigitalCredential"}, build: "whole",
		here: []string{"NotAllowedError", "no"},
		why:  "The same: the browser would ask in a window of its own, which nobody sees and which holds up all input of the tab.",
	},
	{
		checks: []string{"webauthn: platform"},
		here:   []string{"false,false"},
		why:    "A session's authenticators are its own, and it has none without `passkeys` of `session_open`: a passkey is asked of no person and of no device of the machine.",
	},
	{
		checks: []string{"WebRTC: candidates", "WebRTC: data channel"},
		here:   []string{"none", "pending"},
		why:    "WebRTC has sockets of its own, which would lead past the egress proxy and tell the machine's addresses.",
	},
	{
		checks: []string{"fetch: header Connection"},
		here:   []string{"none"},
		why:    "The egress proxy takes the header `Connection` for itself, as every proxy does; all others arrive.",
	},
	{
		checks: []string{"window: scroll bars"},
		here:   []string{"0 px"},
		why:    "Scroll bars are not drawn, so that screenshots show the page alone and its layout does not depend on how long it is.",
	},
	{
		checks: []string{"window: size"}, build: "whole",
		here: []string{"1280x720"},
		why:  "The viewport is the session's; by hand the window's bars take a part of it.",
	},
	{
		checks: []string{"focus: *"}, build: "whole",
		here: []string{"true", "focus,blur body", "true true"},
		why:  "Every tab has the focus, as if a person looked at it: agents use tabs side by side.",
	},
	{
		checks: []string{"window: open beside *"}, build: "shell",
		here: []string{"Error: Failed to execute 'open' on 'Window': The provided callback is no longer runnabl", "pending"},
		why:  "A page that opens a window stands still for the milliseconds in which the window gets the session's settings, before its first request. Chromium loses messages of channels and grants of locks that come to the page just then. (Full Chromium opens no window without a click.)",
	},
}

func (w withholding) has(check string) bool {
	return slices.ContainsFunc(w.checks, func(c string) bool {
		start, any := strings.CutSuffix(c, "*")
		return c == check || any && strings.HasPrefix(check, start)
	})
}

// String is the row of docs/security.md.
func (w withholding) String() string {
	in := map[string]string{"": "both", "shell": "headless shell", "whole": "full Chromium"}[w.build]
	return fmt.Sprintf("| `%s` | %s | %s |", strings.Join(w.checks, "`, `"), in, w.why)
}

// The document lists what is withheld as the test does.
func TestWithheldIsDocumented(t *testing.T) {
	t.Parallel()
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n## What a page cannot do here\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var rows, want []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	for _, w := range withheld {
		want = append(want, w.String())
	}
	if diff := cmp.Diff(rows, want); diff != "" {
		t.Errorf("docs/security.md, got before want:\n%s", diff)
	}
}

// bareRun is the test's own Chromium, and what pages find in it.
type bareRun struct {
	*platform
	path  string // the program that the daemon runs
	build string
	found map[string]outcomes // by place
	seen  map[int]bool        // rows of withheld
}

// differing lists the checks of a place that have another outcome than in the
// Chromium started by hand and that withheld does not list.
func (r *bareRun) differing(got, want outcomes) map[string]string {
	list := map[string]string{}
	for check, w := range want {
		g, told := got[check]
		if !told {
			g = "not told"
		}
		row := slices.IndexFunc(withheld, func(w withholding) bool {
			return w.has(check) && (w.build == "" || w.build == r.build) && slices.Contains(w.here, g)
		})
		switch {
		case g == w:
		case row >= 0:
			r.seen[row] = true
		default:
			list[check] = fmt.Sprintf("%s: here: %s\n\tby hand: %s", check, g, w)
		}
	}
	return list
}

// holds compares what load finds in the place. What differs is believed when it does
// so a second time: on a busy machine a check may miss its time.
func (r *bareRun) holds(t *testing.T, place string, load func(t *testing.T) outcomes) {
	t.Helper()
	first := r.differing(load(t), r.found[place])
	if len(first) == 0 {
		return
	}
	r.found[place] = r.bare(t, place)
	second := r.differing(load(t), r.found[place])
	for _, check := range slices.Sorted(maps.Keys(first)) {
		if again, ok := second[check]; ok {
			t.Error(again)
		}
	}
}

// TestPlatform holds pages to finding here what they find in the same Chromium
// when it is started by hand, but for what withheld lists. It runs in a network
// namespace of its own: a Chromium started by hand asks for hosts outside.
func TestPlatform(t *testing.T) {
	if !netns.Inside(t, untested.InCI()) {
		return
	}
	netns.AddCard(t, netip.MustParseAddr("198.51.100.7"))
	r := &bareRun{platform: newPlatform(t), found: map[string]outcomes{}, seen: map[int]bool{}}
	// gesture is a page whose button is clicked.
	places := []string{"tab", "frame", "isolated", "gesture"}
	inBothJails(t, func(t *testing.T, jail string) {
		d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__JAIL": jail}})
		a := newAgent(t, d)
		a.open("about:blank")
		if r.path == "" {
			r.path, r.build = executable(t, d), "whole"
			if strings.Contains(filepath.Base(r.path), "shell") {
				r.build = "shell"
			}
			for _, place := range places {
				r.found[place] = r.bare(t, place)
			}
		}
		for _, place := range places {
			t.Run(place, func(t *testing.T) {
				r.holds(t, place, func(t *testing.T) outcomes {
					address, found := r.page(place)
					a.open(address)
					if place == "gesture" {
						a.do("click", click(a.snapshot().ref(t, "button", "Go"), nil))
					}
					return waitFound(t, found)
				})
			})
		}
		if jail == "off" {
			return // the rest is the same
		}
		var found <-chan outcomes
		t.Run("second tab", func(t *testing.T) {
			r.holds(t, "tab", func(t *testing.T) outcomes {
				var address string
				address, found = r.page("tab")
				a.do("tab_new", params{"url": address, "snapshot": "none", "timeout_ms": 20000})
				return waitFound(t, found)
			})
		})
		t.Run("restored", func(t *testing.T) {
			r.holds(t, "tab", func(t *testing.T) outcomes {
				for _, b := range d.Chromium("browser") {
					b.Kill()
				}
				_, err := a.try("snapshot", nil)
				for limit := time.Now().Add(30 * time.Second); protocol.CodeOf(err) == protocol.BrowserLost && time.Now().Before(limit); {
					_, err = a.try("snapshot", nil) // said once, then it works
				}
				if err != nil {
					t.Fatal(err)
				}
				return waitFound(t, found)
			})
		})
	})
	for i, w := range withheld {
		if !r.seen[i] && (w.build == "" || w.build == r.build) {
			t.Errorf("nothing differs any more in %s: take the row away", w.checks)
		}
	}
	if n := len(r.found["tab"]); n < 300 {
		t.Errorf("the page has %d checks", n)
	}
}

// executable is the Chromium that the daemon runs.
func executable(t *testing.T, d *testdaemon.Daemon) string {
	t.Helper()
	for _, b := range d.Chromium("browser") {
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", b.PID))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Fatal("the daemon runs no Chromium")
	return ""
}
