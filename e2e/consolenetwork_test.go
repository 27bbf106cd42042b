package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

type consoleAnswer struct {
	Entries []protocol.Console `json:"entries"`
	Next    int                `json:"next"`
}

type networkAnswer struct {
	Entries []protocol.Exchange `json:"entries"`
	HAR     json.RawMessage     `json:"har"`
	Next    int                 `json:"next"`
}

func TestConsole(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/page", page("console", `<script>
console.log('plain', 1, {a: 1}); console.warn('careful'); console.error('token=abcdef failed'); console.debug('deep');
</script><button onclick="missing()">Throw</button><script>for (let i = 0; i < 600; i++) setTimeout(() => 0)</script>`), "")
	a := newAgent(t, d)
	if got := a.do("session_open", nil); got.Session == "" {
		t.Fatal("no session")
	}
	a.open(w.URL + "/page")
	first := ask[consoleAnswer](a, "console", nil)
	got := [][2]string{}
	for _, e := range first.Entries {
		got = append(got, [2]string{e.Kind, e.Text})
		if e.Tab != "t1" || e.URL != w.URL+"/page" || e.Line == 0 || time.Since(e.Time) > time.Minute {
			t.Errorf("%+v", e)
		}
	}
	want := [][2]string{{"log", "plain 1 Object"}, {"warning", "careful"}, {"error", "token=*** failed"}, {"debug", "deep"}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got before want:\n%s", diff)
	}
	a.do("click", click(a.snapshot().ref(t, "button", "Throw"), nil))
	more := ask[consoleAnswer](a, "console", params{"since": first.Next}).Entries
	if len(more) != 1 || more[0].Kind != "exception" || !strings.Contains(more[0].Text, "missing is not defined") {
		t.Errorf("since %d: %+v", first.Next, more)
	}
	for _, p := range []params{{"kind": "warning"}, {"filter": "CAREFUL"}} {
		if list := ask[consoleAnswer](a, "console", p).Entries; len(list) != 1 || list[0].Text != "careful" {
			t.Errorf("%v: %+v", p, list)
		}
	}
	// A page that never stops costs no more than so much.
	a.do("eval", params{"expression": "for (let i = 0; i < 1000; i++) console.log('x'.repeat(3000) + i)"})
	flood := ask[consoleAnswer](a, "console", params{"limit": 500}).Entries
	if len(flood) != 500 || len(flood[499].Text) > 2100 {
		t.Errorf("%d entries, the last of %d bytes", len(flood), len(flood[len(flood)-1].Text))
	}
}

// canary must not occur in any answer or log.
const canary = "cANaRy5ecret"

func TestNetwork(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Args: []string{"--log.level", "debug"}})
	w := newPageServer(t)
	w.serve("/page", page("network", `<link rel=stylesheet href=/style.css><img src="/none.png?size=1"><script>
const secret = 'cANaRy5' + 'ecret';
onload = () => fetch('/api/v1?access_token=' + secret + '&q=a%20b', {method: 'POST', headers: {Authorization: 'Bearer ' + secret, 'Content-Type': 'application/json', 'X-Plain': 'yes'},
  body: JSON.stringify({user: 'zoe', password: secret})}).then(() => fetch('/moved')).then(() => fetch('/binary')).then(() => document.title = 'done')</script>`), "")
	w.serve("/style.css", "h1 { color: red }", "text/css")
	w.mux.HandleFunc("/api/v1", func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "sid", Value: canary, Path: "/"})
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprint(rw, `{"name": "Zoë", "refresh_token": "`+canary+`"}`)
	})
	w.mux.HandleFunc("/moved", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "/target?sid="+canary, http.StatusFound)
	})
	w.serve("/target", "arrived", "text/plain")
	w.mux.HandleFunc("/binary", func(rw http.ResponseWriter, r *http.Request) { rw.Write([]byte{0, 1, 2, 0xff}) })
	a := newAgent(t, d)
	a.open(w.URL + "/page")
	a.do("wait", params{"expression": "document.title === 'done'"})

	got := ask[networkAnswer](a, "network", nil)
	type row struct {
		Method, Path, Kind string
		Status             int
		Done               bool
	}
	rows := []row{}
	ids := map[string]int{}
	for _, e := range got.Entries {
		// The page's own reports, and what the whole browser alone asks for by itself.
		if strings.Contains(e.URL, "/-/") || strings.HasSuffix(e.URL, "/favicon.ico") {
			continue
		}
		path := strings.TrimPrefix(e.URL, w.URL)
		rows = append(rows, row{e.Method, path, e.Kind, e.Status, e.Done})
		ids[path] = e.ID
		if e.RequestHeaders != nil || e.Body != nil {
			t.Errorf("a list has details: %+v", e)
		}
		if e.Status == 200 && (e.MS <= 0 || e.Bytes == 0) {
			t.Errorf("%+v", e)
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.Path, b.Path) })
	want := []row{
		{"POST", "/api/v1?access_token=***&q=a%20b", "fetch", 200, true}, {"GET", "/binary", "fetch", 200, true}, {"GET", "/moved", "fetch", 302, true},
		{"GET", "/none.png?size=1", "image", 404, true}, {"GET", "/page", "document", 200, true}, {"GET", "/style.css", "stylesheet", 200, true},
		{"GET", "/target?sid=***", "fetch", 200, true},
	}
	if diff := cmp.Diff(rows, want); diff != "" {
		t.Fatalf("got before want:\n%s", diff)
	}

	one := func(path string) protocol.Exchange {
		list := ask[networkAnswer](a, "network", params{"id": ids[path], "body": true}).Entries
		if len(list) != 1 {
			t.Fatalf("%s: %d entries", path, len(list))
		}
		return list[0]
	}
	api := one("/api/v1?access_token=***&q=a%20b")
	if api.Body == nil || *api.Body != `{"name": "Zoë", "refresh_token": "***"}` || api.RequestBody != `{"user":"zoe","password":"***"}` || api.Encoding != "text" {
		t.Errorf("%+v", api)
	}
	for name, want := range map[string]string{"authorization": "***", "x-plain": "yes"} {
		if !slices.ContainsFunc(api.RequestHeaders, func(h [2]string) bool { return strings.EqualFold(h[0], name) && h[1] == want }) {
			t.Errorf("the request has no %s: %s in %v", name, want, api.RequestHeaders)
		}
	}
	if !slices.ContainsFunc(api.ResponseHeaders, func(h [2]string) bool { return strings.EqualFold(h[0], "set-cookie") && h[1] == "***" }) {
		t.Errorf("%v", api.ResponseHeaders)
	}
	if b := one("/binary"); b.Encoding != "base64" || *b.Body != "AAEC/w==" {
		t.Errorf("%+v", b)
	}
	if css := one("/style.css"); css.Type != "text/css" || *css.Body != "h1 { color: red }" {
		t.Errorf("%+v", css)
	}
	if m := one("/moved"); m.Body != nil || m.BodyError == "" {
		t.Errorf("%+v", m)
	}
	if list := ask[networkAnswer](a, "network", params{"since": got.Next}).Entries; len(list) != 0 {
		t.Errorf("nothing has happened, and there are %+v", list)
	}
	if raw := ask[map[string]json.RawMessage](a, "network", params{"since": got.Next})["entries"]; string(raw) != "[]" {
		t.Errorf("an empty list is written as %q", raw)
	}
	if list := ask[networkAnswer](a, "network", params{"kind": "stylesheet"}).Entries; len(list) != 1 {
		t.Errorf("%+v", list)
	}
	a.refused("network", params{"id": 99999}, protocol.InvalidParams)
	a.refused("network", params{"body": true}, protocol.InvalidParams)

	har := ask[networkAnswer](a, "network", params{"format": "har", "body": true, "limit": 1000})
	everything, _ := json.Marshal(ask[networkAnswer](a, "network", params{"limit": 1000}))
	apiText, _ := json.Marshal(api)
	for what, text := range map[string]string{"the HAR": string(har.HAR), "the list": string(everything), "the entry": string(apiText), "the log": d.Log()} {
		if strings.Contains(text, canary) {
			i := strings.Index(text, canary)
			t.Errorf("a secret is in %s: %s", what, text[max(0, i-80):i+20])
		}
	}
	validHAR(t, har.HAR)
}

// validHAR opens a HAR in the validator har-validator.
func validHAR(t *testing.T, har json.RawMessage) {
	t.Helper()
	dir := t.TempDir()
	for _, spec := range []string{"har-validator@5.1.5", "har-schema@2.0.0", "ajv@6.12.6", "fast-deep-equal@3.1.3", "fast-json-stable-stringify@2.1.0", "json-schema-traverse@0.4.1", "uri-js@4.4.1", "punycode@2.3.1"} {
		name, _, _ := strings.Cut(spec, "@")
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "node_modules"), 0o755), os.Symlink(npmPackage(t, spec), filepath.Join(dir, "node_modules", name))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		untested.Missing(t, "the HAR cannot be validated: node is not installed")
	}
	file := filepath.Join(t.TempDir(), "x.har")
	if err := os.WriteFile(file, har, 0o600); err != nil {
		t.Fatal(err)
	}
	script := `require('har-validator/lib/promise').har(JSON.parse(require('fs').readFileSync(process.argv[1])))
		.then((h) => console.log(h.log.entries.length, 'entries'), (e) => { console.log(JSON.stringify(e.errors || String(e), null, 1)); process.exit(1) })`
	run := func(file string) (string, error) {
		cmd := exec.Command("node", "--preserve-symlinks", "-e", script, file)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run(file)
	if err != nil {
		t.Fatalf("not a HAR: %v\n%s", err, out)
	}
	t.Log(out)
	if err := os.WriteFile(file, []byte(strings.Replace(string(har), `"headersSize"`, `"headerSize"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(file); err == nil {
		t.Fatalf("the validator takes anything: %s", out)
	}
}
