package e2e_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// playwrightCore is the package that has the trace viewer, and the command line that reads traces.
const playwrightCore = "playwright-core@1.65.1"

// recorded reads a recording of the agent by parts, and checks that HTTP gives the same.
func (a *agent) recorded(d *testdaemon.Daemon, name string) []byte {
	a.t.Helper()
	var content []byte
	path := ""
	for offset := 0; ; {
		var r struct {
			Content string `json:"content"`
			Next    int    `json:"next_offset"`
			Path    string `json:"path"`
		}
		if err := a.c.Call(a.t.Context(), "recordings", params{"name": name, "offset": offset, "max_chars": 40000}, &r); err != nil {
			a.t.Fatal(err)
		}
		part, err := base64.StdEncoding.DecodeString(r.Content)
		if err != nil {
			a.t.Fatal(err)
		}
		content = append(content, part...)
		if offset, path = r.Next, r.Path; offset == 0 {
			break
		}
	}
	req, _ := http.NewRequest(http.MethodGet, d.URL()+path, nil)
	req.Header.Set("Authorization", "Bearer "+d.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	whole, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !bytes.Equal(whole, content) {
		a.t.Errorf("GET %s: %d, %d bytes and %d by parts, %v", path, resp.StatusCode, len(whole), len(content), err)
	}
	return content
}

// unzipped returns the files of a zip.
func unzipped(t *testing.T, content []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	return files
}

// console returns the errors that the session's pages wrote.
func (a *agent) console() string {
	a.t.Helper()
	var r struct {
		Entries []protocol.Console `json:"entries"`
	}
	if err := a.c.Call(a.t.Context(), "console", nil, &r); err != nil {
		a.t.Fatal(err)
	}
	var lines []string
	for _, e := range r.Entries {
		if e.Kind == "error" || e.Kind == "exception" {
			lines = append(lines, e.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// tracedShop is a page of which there is something to see in a trace.
func tracedShop(w *pageServer) {
	w.serve("/shop", page("shop", `<h1>Shop</h1><label>Name <input></label><label>Word <input type=password></label>
		<button onclick="n=(window.n||0)+1;out.textContent=n+' in the cart';list.insertAdjacentHTML('beforeend','<li>Item '+n)">Add</button><output id=out></output><ul id=list></ul>
		<button onclick="console.error('no stock of gold');fetch('/missing?token=`+canary+`',{method:'POST',body:'`+canary+`'});setTimeout(()=>{throw new TypeError('sold out')})">Gold</button>
		<a href="/next">Next</a>`+strings.Repeat(`<article style="display:inline-block;width:200px;border:1px solid #ccc;background:linear-gradient(#fff,#eef)"><h2>Item</h2><p>Lorem ipsum dolor sit amet</p></article>`, 40)), "")
	w.serve("/next", page("next", `<h1>Next</h1><button onclick="document.body.style.background='#fec'">Colour</button>`), "")
}

// playTraced does what there is to see in a trace: 20 actions, of which two fail.
func (a *agent) playTraced(w *pageServer) {
	a.open(w.URL + "/shop?access_token=" + canary)
	v := a.snapshot()
	a.do("type", params{"ref": v.ref(a.t, "textbox", "Name"), "text": "Zoë"})
	a.do("type", params{"ref": v.ref(a.t, "textbox", "Word"), "text": canary})
	for range 6 {
		a.do("click", click(v.ref(a.t, "button", "Add"), nil))
	}
	a.refused("click", params{"ref": "@e999"}, protocol.UnknownRef)
	a.do("click", click(v.ref(a.t, "button", "Gold"), nil))
	a.do("wait", params{"for": "quiet"})
	a.do("batch", params{"commands": []params{{"method": "press", "params": params{"key": "Tab", "snapshot": "none"}}, {"method": "scroll", "params": params{"dy": 200, "snapshot": "none"}}}})
	a.do("run", params{"code": `await page.getByRole('button', {name: 'Add'}).click(); await page.getByRole('button', {name: 'Add'}).click()`})
	a.do("click", click(v.ref(a.t, "link", "Next"), nil))
	a.refused("click", params{"ref": v.ref(a.t, "button", "Add")}, protocol.StaleRef)
	a.do("click", params{"ref": `role=button[name="Colour"]`})
	a.do("back", nil)
}

// A trace agrees with the action log: as many actions, of the same names, with the same errors. It holds
// pictures, requests, console, snapshots, and no secret. Playwright's command line and its viewer open it.
func TestTraceOpensInPlaywright(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		untested.Missing(t, "playwright trace: node is not installed")
	}
	playwright := npmPackage(t, playwrightCore)
	logs := t.TempDir()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_ACTION_LOG__DIR": logs}})
	w := newPageServer(t)
	tracedShop(w)
	a := newAgent(t, d)
	a.do("session_open", params{"name": "shop", "trace": true})
	a.playTraced(w)
	var stopped struct {
		Actions   int `json:"actions"`
		Recording struct {
			Name  string `json:"name"`
			Bytes int    `json:"bytes"`
		} `json:"recording"`
	}
	if err := a.c.Call(t.Context(), "trace", params{"action": "stop"}, &stopped); err != nil {
		t.Fatal(err)
	}
	content := a.recorded(d, stopped.Recording.Name)
	if len(content) != stopped.Recording.Bytes || len(content) > 1<<20 {
		t.Errorf("%d bytes, %d told, want at most 1 MB", len(content), stopped.Recording.Bytes)
	}
	pictures := 0
	for name, text := range unzipped(t, content) {
		if strings.Contains(text, canary) {
			t.Errorf("%s holds the secret", name)
		}
		if strings.HasSuffix(name, ".jpeg") {
			pictures++
		}
	}
	if pictures < 10 {
		t.Errorf("%d pictures of 20 actions", pictures)
	}

	dirs, _ := filepath.Glob(filepath.Join(logs, "*-shop", "log.jsonl"))
	log, err := os.ReadFile(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	var want, wantErrors []string
	for line := range strings.Lines(string(log)) {
		var l logLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Command == "session_open" { // the trace begins with it
			continue
		}
		failed := ""
		if l.Code != "ok" {
			failed = "✗"
			wantErrors = append(wantErrors, l.Code)
		}
		want = append(want, l.Command+failed)
	}
	if stopped.Actions != len(want) {
		t.Errorf("%d actions told, %d in the log", stopped.Actions, len(want))
	}

	dir := t.TempDir()
	file := filepath.Join(dir, "trace.zip")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	said := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("node", append([]string{filepath.Join(playwright, "cli.js"), "trace"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("playwright trace %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if out := said("open", file); !regexp.MustCompile(fmt.Sprintf(`Actions: +%d\n`, len(want))).MatchString(out) {
		t.Errorf("playwright trace open: want %d actions\n%s", len(want), out)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^ +\d+\. \S+ +(\S+) .*?(✗?)$`).FindAllStringSubmatch(said("actions"), -1) {
		got = append(got, m[1]+m[2])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("actions of the log (-) and of the trace (+):\n%s", diff)
	}
	var gotErrors []string
	for _, m := range regexp.MustCompile(`(?m)^ +(\w+): `).FindAllStringSubmatch(said("errors"), -1) {
		gotErrors = append(gotErrors, m[1])
	}
	if diff := cmp.Diff(wantErrors, gotErrors); diff != "" {
		t.Errorf("errors of the log (-) and of the trace (+):\n%s", diff)
	}
	if out := said("console"); !strings.Contains(out, "no stock of gold") || !strings.Contains(out, "sold out") {
		t.Errorf("console: %s", out)
	}
	if out := said("requests"); !regexp.MustCompile(`POST +404 +missing\?token=`).MatchString(out) || !regexp.MustCompile(`GET +200 +next`).MatchString(out) {
		t.Errorf("requests: %s", out)
	}
	if out := said("attachments"); !strings.Contains(out, "before.jpeg") || !strings.Contains(out, "after.jpeg") || !strings.Contains(out, "snapshot.txt") || !strings.Contains(out, "delta.txt") {
		t.Errorf("attachments: %s", out)
	}

	// The viewer is a page of static files, with a service worker that reads the trace.
	w.mux.Handle("GET /viewer/", http.StripPrefix("/viewer/", http.FileServer(http.Dir(filepath.Join(playwright, "lib/vite/traceViewer")))))
	w.mux.HandleFunc("GET /trace.zip", func(rw http.ResponseWriter, _ *http.Request) { rw.Write(content) })
	b := newAgent(t, d)
	b.do("session_open", params{"name": "viewer", "viewport": params{"width": 1400, "height": 900}})
	b.do("open", params{"url": w.URL + "/viewer/index.html?trace=" + w.URL + "/trace.zip"})
	b.do("wait", params{"text": "press", "timeout_ms": 20000})
	shown := b.do("eval", params{"expression": `[...document.querySelectorAll('.action-title')].map(e => e.innerText.split(/\s/)[0])`}).Value
	titles := []string{}
	for _, title := range shown.([]any) {
		titles = append(titles, title.(string))
	}
	plain := []string{}
	for _, name := range want {
		plain = append(plain, strings.TrimSuffix(name, "✗"))
	}
	if diff := cmp.Diff(plain, titles); diff != "" {
		t.Errorf("actions of the log (-) and in the viewer (+):\n%s", diff)
	}
	// The pictures of an action are there.
	b.do("eval", params{"expression": `document.querySelectorAll('.action-title')[3].click()`})
	for _, phase := range []string{"Before", "After"} {
		b.do("click", params{"ref": "role=tab[name=\"" + phase + "\"]"})
		b.do("wait", params{"expression": `(i => i && i.complete && i.naturalWidth === 800)(document.querySelector('.aria-mode-screenshot img'))`})
	}
	if errors := b.console(); errors != "" {
		t.Errorf("the viewer wrote: %s", errors)
	}
}
