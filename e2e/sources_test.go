//go:build linux

package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// at is the page that a result is on, as far as the tests look.
func at(r result) string { return r.Page.Source + " " + r.Page.Title }

// The loop of an agent, by refs alone: search form, list, detail, back.
func TestTheLoopWithoutChromium(t *testing.T) {
	t.Parallel()
	app := renderedServer(t)
	for name, env := range map[string]map[string]string{
		"disabled":      {"BROWSERD_BROWSER__DISABLED": "true"},
		"not installed": {"BROWSERD_BROWSER__PATH": "/nowhere/chromium"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, testdaemon.Start(t, testdaemon.Options{Env: env}))
			r := a.do("open", params{"url": app})
			if at(r) != "http Shop" || r.Page.Status != 200 || !slices.Equal(r.Page.Capabilities, []string{"links", "forms"}) || len(r.Attempts) != 1 {
				t.Fatalf("open: %+v %+v", r.Page, r.Attempts)
			}
			query := a.snapshot().ref(t, "searchbox", "Query")
			r = a.do("type", params{"ref": query, "text": "milk & honey"})
			if r.Delta == nil || !strings.Contains(r.Delta.Text, `value="milk & honey"`) || !r.Effect.Changed || r.Effect.Focused != query {
				t.Errorf("type: %+v %+v", r.Delta, r.Effect)
			}
			r = a.do("click", params{"ref": a.snapshot().ref(t, "button", "Search")})
			if at(r) != "http Results" || r.Snapshot == nil || !strings.Contains(r.Snapshot.Text, `"milk & honey two"`) || r.Effect.Navigated != app+"search?q=milk+%26+honey" {
				t.Fatalf("search: %+v %+v", r.Page, r.Effect)
			}
			second := a.snapshot().ref(t, "link", "milk & honey two")
			r = a.do("click", params{"ref": second})
			if at(r) != "http Item 1" || r.Page.Document != 3 {
				t.Fatalf("detail: %+v", r.Page)
			}
			a.refused("click", params{"ref": second}, protocol.StaleRef)
			a.refused("click", params{"ref": "@e9999"}, protocol.UnknownRef)
			if r = a.do("back", nil); at(r) != "http Results" || r.Snapshot == nil {
				t.Fatalf("back: %+v", r.Page)
			}
			if r = a.do("back", nil); at(r) != "http Shop" {
				t.Fatalf("back: %+v", r.Page)
			}
			if v := a.snapshot(); !strings.Contains(v.Text, `value="milk & honey"`) || !strings.Contains(v.Text, "Visitor") {
				t.Errorf("the form was not kept:\n%s", v.Text)
			}
			if r = a.do("forward", nil); at(r) != "http Results" {
				t.Fatalf("forward: %+v", r.Page)
			}
			a.do("forward", nil)
			a.refused("forward", nil, protocol.NavigationFailed)
		})
	}
}

// What a static document cannot do is said, with a next step; what a form may
// not hold is said by field.
func TestWhatStaticDocumentsRefuse(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<title>Refuses</title><form action=/sent><label>Name <input name=n required minlength=2></label><label>Age <input type=number name=a min=18></label><button>Send</button><button disabled>Off</button><input aria-label=Fixed readonly value=x></form>
<a href="javascript:go()">Script</a><button type=button>Plain</button><span onclick="go()">Span</span><div role=button tabindex=0>Widget</div><a href="mailto:a@b.c">Mail</a>
<select aria-label=S><option>One</select><input type=file aria-label=File><details><summary>More</summary><a href=/in>Inside</a></details>`)
	}))
	t.Cleanup(s.Close)
	a := newAgent(t, testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}}))
	a.open(s.URL)
	v := a.snapshot()
	for method, p := range map[string]params{
		"screenshot": {}, "eval": {"expression": "1"}, "press": {"key": "a"}, "pdf": {}, "tab_new": {}, "scroll": {}, "wait": {"expression": "1"},
	} {
		if e := a.refused(method, p, protocol.Unsupported); e.Next == "" || e.Details["source"] != "http" {
			t.Errorf("%s: %+v", method, e)
		}
	}
	for _, what := range [][2]string{{"link", "Script"}, {"button", "Plain"}, {"generic", "Span"}, {"button", "Widget"}, {"link", "Mail"}, {"button", "File"}} {
		if refs := v.all(what[0], what[1]); len(refs) != 1 {
			t.Errorf("no %s in:\n%s", what, v.Text)
		} else if e := a.refused("click", params{"ref": refs[0]}, protocol.Unsupported); e.Next == "" || e.Details["source"] != "http" {
			t.Errorf("%s: %+v", what, e)
		}
	}
	if e := a.refused("click", params{"ref": v.ref(t, "button", "Off")}, protocol.NotActionable); e.Details["reason"] != "disabled" {
		t.Errorf("disabled: %+v", e)
	}
	if e := a.refused("type", params{"ref": v.ref(t, "textbox", "Fixed"), "text": "y"}, protocol.NotActionable); e.Details["reason"] != "readonly" {
		t.Errorf("readonly: %+v", e)
	}
	if e := a.refused("select", params{"ref": v.ref(t, "combobox", "S"), "values": "Two"}, protocol.InvalidParams); !strings.Contains(e.Next, "One") {
		t.Errorf("select: %+v", e)
	}
	a.refused("type", params{"ref": v.ref(t, "spinbutton", "Age"), "text": "old", "clear": true}, protocol.InvalidParams)

	a.do("type", params{"ref": v.ref(t, "textbox", "Name"), "text": "x"})
	a.do("type", params{"ref": v.ref(t, "spinbutton", "Age"), "text": "7"})
	e := a.refused("click", params{"ref": v.ref(t, "button", "Send")}, protocol.NotActionable)
	want := []any{
		map[string]any{"ref": v.ref(t, "textbox", "Name"), "name": "Name", "problem": "tooShort", "why": "it accepts at least 2 characters, not 1"},
		map[string]any{"ref": v.ref(t, "spinbutton", "Age"), "name": "Age", "problem": "rangeUnderflow", "why": "it accepts 18 or more"},
	}
	if d := cmp.Diff(want, e.Details["fields"]); d != "" || e.Details["reason"] != "invalid" {
		t.Errorf("invalid: %+v\n%s", e, d)
	}

	// A details element opens, and what is in it can be used then.
	if len(v.all("link", "Inside")) != 0 {
		t.Errorf("closed details show:\n%s", v.Text)
	}
	more := slices.IndexFunc(v.Nodes, func(n snapshotNode) bool { return n.Tag == "summary" && n.Name == "More" })
	if more < 0 {
		t.Fatalf("no summary in:\n%s", v.Text)
	}
	r := a.do("click", params{"ref": v.Nodes[more].Ref})
	if r.Delta == nil || !strings.Contains(r.Delta.Text, `"Inside"`) {
		t.Fatalf("the details did not open: %+v", r.Delta)
	}
	a.do("click", params{"ref": a.snapshot().ref(t, "link", "Inside")})
}

// A popover opens and closes with its buttons, with Chromium and without.
func TestPopovers(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<title>Popovers</title><button popovertarget=p>Menu</button><div popover id=p><a href=/in>Inside</a><button commandfor=p command=hide-popover>Close</button></div>`)
	}))
	t.Cleanup(s.Close)
	for _, disabled := range []string{"false", "true"} {
		t.Run("without Chromium "+disabled, func(t *testing.T) {
			a := newAgent(t, testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": disabled}}))
			a.open(s.URL)
			menu := a.snapshot().ref(t, "button", "Menu")
			r := a.do("click", params{"ref": menu})
			if want := "~ @e1 [button expanded focused] \"Menu\"\n+ @e2 [link href=\"/in\"] \"Inside\"\n+ @e3 [button] \"Close\""; r.Delta == nil || !strings.Contains(r.Delta.Text, want) {
				t.Fatalf("got %+v, want %s", r.Delta, want)
			}
			r = a.do("click", params{"ref": a.snapshot().ref(t, "button", "Close")})
			if want := "- @e2 [link href=\"/in\"] \"Inside\""; r.Delta == nil || !strings.Contains(r.Delta.Text, want) || !strings.Contains(r.Delta.Text, "~ @e1 [button collapsed") {
				t.Fatalf("got %+v, want %s", r.Delta, want)
			}
			if r := a.do("click", params{"ref": menu, "snapshot": "none"}); !r.Effect.Changed {
				t.Errorf("opening it has changed nothing: %+v", r.Effect)
			}
		})
	}
}

// An area of an image map is a link that stands in its image, with Chromium and
// without: it has a ref, and a click follows it.
func TestImageMaps(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/i.svg" {
			w.Header().Set("Content-Type", "image/svg+xml")
			io.WriteString(w, `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"><rect width="200" height="100" fill="red"/></svg>`)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<title>Map</title><div style="height:1500px"></div><img src=/i.svg usemap=#m alt=Plan style="border:10px solid;padding:5px"><p>Under</p>
<map name=m><area coords="0,0,50,100" href=/left alt=Left><area shape=circle coords="100,50,40" href=/middle alt=Middle><area shape=poly coords="150,0,200,0,200,100" href=/right alt=Right></map>`)
	}))
	t.Cleanup(s.Close)
	for _, disabled := range []string{"false", "true"} {
		t.Run("without Chromium "+disabled, func(t *testing.T) {
			a := newAgent(t, testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": disabled}}))
			for _, name := range []string{"Left", "Middle", "Right"} {
				a.open(s.URL)
				v := a.snapshot()
				ref := v.ref(t, "link", name)
				var found struct {
					Nodes []struct{ Ref string } `json:"nodes"`
				}
				if err := a.c.Call(t.Context(), "find", params{"role": "link", "name": name}, &found); err != nil || len(found.Nodes) != 1 || found.Nodes[0].Ref != ref {
					t.Errorf("find %s: %+v %v, want %s", name, found, err, ref)
				}
				r := a.do("click", params{"ref": ref})
				if want := s.URL + "/" + strings.ToLower(name); r.Effect.Hit != ref || r.Effect.Navigated != want {
					t.Errorf("%s: %+v, want %s", name, r.Effect, want)
				}
			}
		})
	}
}

// readyz is what /readyz says of each source.
func readyz(t *testing.T, d *testdaemon.Daemon) map[string]bool {
	t.Helper()
	resp, err := http.Get(d.URL() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Ready   bool
		Sources map[string]struct {
			OK bool
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || !answer.Ready || resp.StatusCode != 200 {
		t.Fatalf("/readyz: %d %+v %v", resp.StatusCode, answer, err)
	}
	ok := map[string]bool{}
	for name, s := range answer.Sources {
		ok[name] = s.OK
	}
	return ok
}

// installed is a path to Chromium that can be taken away, and a func that puts
// it there.
func installed(t *testing.T) (path string, install func()) {
	t.Helper()
	found, err := chromium.Find(chromium.Config{Path: os.Getenv("BROWSERD_BROWSER__PATH")})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), filepath.Base(found.Path))
	return path, func() {
		if err := os.Symlink(found.Path, path); err != nil {
			t.Fatal(err)
		}
	}
}

// A session that begins without Chromium moves to it at its next open once it
// is there, with its cookies; asked for by name, a source is the one that serves.
func TestASessionMovesToChromiumWhenItIsThere(t *testing.T) {
	t.Parallel()
	app := renderedServer(t)
	path, install := installed(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__PATH": path}})
	if got := readyz(t, d); got["chromium"] || !got["http"] {
		t.Errorf("/readyz without Chromium: %v", got)
	}
	a := newAgent(t, d)
	if r := a.do("open", params{"url": app}); at(r) != "http Shop" || !strings.Contains(r.Snapshot.Text, "Visitor 1") {
		t.Fatalf("%+v %s", r.Page, r.Snapshot.Text)
	}
	a.refused("open", params{"url": app, "source": "chromium"}, protocol.ChromiumUnavailable)
	old := a.snapshot().ref(t, "link", "Items")
	install()
	r := a.do("open", params{"url": app})
	if at(r) != "chromium Shop" || !strings.Contains(r.Snapshot.Text, "Visitor 1") {
		t.Fatalf("with Chromium: %+v\n%s", r.Page, r.Snapshot.Text)
	}
	a.refused("click", params{"ref": old}, protocol.StaleRef)
	if got := readyz(t, d); !got["chromium"] || !got["http"] {
		t.Errorf("/readyz with Chromium: %v", got)
	}
	a.do("eval", params{"expression": `document.cookie = "kept=yes; path=/"`})
	if r := a.do("open", params{"url": app, "source": "http"}); at(r) != "http Shop" || !strings.Contains(r.Snapshot.Text, "Visitor 1") {
		t.Fatalf("back over HTTP: %+v\n%s", r.Page, r.Snapshot.Text)
	}
	if r := a.do("open", params{"url": app, "source": "chromium"}); at(r) != "chromium Shop" || !strings.Contains(r.Snapshot.Text, "Visitor 1") {
		t.Fatalf("Chromium by name: %+v\n%s", r.Page, r.Snapshot.Text)
	}
	// A session of a source keeps to it.
	a.do("session_open", params{"name": "plain", "source": "http"})
	if r := a.do("open", params{"url": app}); at(r) != "http Shop" || r.Session != "plain" {
		t.Fatalf("session_open {source: http}: %+v", r.Page)
	}
}

// A Chromium that never answers holds up who can do without it for a part of their
// time, once; then its start is known to be slow, and /readyz says so.
func TestAChromiumThatHangs(t *testing.T) {
	aboutOneProcess(t, "/readyz of the daemon whose Chromium hangs")
	t.Parallel()
	app := renderedServer(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__PATH": silentChromium(t)}})
	a := newAgent(t, d)
	for range 2 { // the first page, and the move to Chromium at the next open
		r := a.do("open", params{"url": app, "timeout_ms": 12000})
		if at(r) != "http Shop" {
			t.Fatalf("open: %+v %+v", r.Page, r.Attempts)
		}
	}
	for began := time.Now(); readyz(t, d)["chromium"]; time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("/readyz says that Chromium works")
		}
	}
	began := time.Now()
	if r := newAgent(t, d).do("open", params{"url": app}); at(r) != "http Shop" || len(r.Attempts) < 2 || r.Attempts[0].Source != "chromium" || r.Attempts[0].Error == "" {
		t.Errorf("open: %+v %+v", r.Page, r.Attempts)
	}
	if took := time.Since(began); took > 12*time.Second {
		t.Errorf("it was held up for %v", took)
	}
}

// Chromium killed for good in the middle of a session: said once, then the
// session goes on without it.
func TestASessionGoesOnWithoutChromium(t *testing.T) {
	t.Parallel()
	app := renderedServer(t)
	path, install := installed(t)
	install()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__PATH": path}})
	r := rowTest{agent: newAgent(t, d)}
	if got := r.do("open", params{"url": app + "items"}); at(got) != "chromium Items" {
		t.Fatalf("%+v", got.Page)
	}
	r.do("type", params{"ref": r.snapshot().ref(t, "textbox", "New item"), "text": "Oat milk", "submit": true})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Chromium("browser") {
		p.Kill()
	}
	r.told(protocol.EventBrowserLost, 5*time.Second)
	e := r.refused("snapshot", nil, protocol.BrowserLost)
	restored, _ := e.Details["restored"].(map[string]any)
	if restored["source"] != "http" || restored["url"] != app+"items" || restored["cookies"] != 1.0 || !strings.Contains(e.Message, "without it") {
		t.Errorf("browser_lost: %s %v", e.Message, restored)
	}
	got := r.do("snapshot", nil)
	if at(got) != "http Items" || !strings.Contains(got.Snapshot.Text, `"Oat milk"`) {
		t.Fatalf("after the loss: %+v\n%s", got.Page, got.Snapshot.Text)
	}
	got = r.do("click", params{"ref": r.snapshot().ref(t, "link", "Oat milk")})
	if at(got) != "http Item 0" {
		t.Fatalf("after the loss: %+v", got.Page)
	}
	if ok := readyz(t, d); ok["chromium"] || !ok["http"] {
		t.Errorf("/readyz: %v", ok)
	}
}

// What no source gives is fetch_failed, with each attempt; what the policy
// refuses is its own error.
func TestNoSourceServes(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	a := newAgent(t, withoutChromium(t))
	e := a.refused("open", params{"url": closed.URL}, protocol.FetchFailed)
	attempts, _ := e.Details["attempts"].([]any)
	if len(attempts) != 1 || attempts[0].(map[string]any)["source"] != "http" || attempts[0].(map[string]any)["error"] == nil {
		t.Errorf("attempts: %+v", e.Details)
	}
	a.refused("open", params{"url": "http://10.0.0.1/"}, protocol.PolicyDenied)
	// What was open stays open.
	app := renderedServer(t)
	a.open(app)
	a.refused("open", params{"url": closed.URL}, protocol.FetchFailed)
	if r := a.do("snapshot", nil); at(r) != "http Shop" {
		t.Errorf("%+v", r.Page)
	}
	if r := a.do("open", params{"url": "about:blank"}); r.Page.URL != "about:blank" {
		t.Errorf("%+v", r.Page)
	}
	if r := a.do("back", nil); at(r) != "http Shop" {
		t.Errorf("back from about:blank: %+v", r.Page)
	}
}
