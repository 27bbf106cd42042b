package driver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/bench/driver"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testdaemon.RemoveBinary()
	os.Exit(code)
}

// make bench and make step give no program: the daemon is built from its own module.
func TestBrowserdIsBuilt(t *testing.T) {
	t.Setenv("BROWSERD_BIN", "")
	bin, err := driver.Browserd(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(bin, "version").CombinedOutput(); err != nil || !strings.Contains(string(out), "browserd") {
		t.Errorf("browserd version: %v: %s", err, out)
	}
}

// page has what every tool must be able to do.
const page = `<!doctype html><meta charset="utf-8"><title>A page</title>
<h1>A page</h1>
<label>Name <input id="name" value="before"></label>
<select id="size" aria-label="Size"><option>Small<option selected>Large</select>
<label><input id="yes" type="checkbox"> Yes</label>
<button type="button" onclick="done('clicked')">Click me</button>
<button type="button" ondblclick="done('twice')">Twice</button>
<button type="button" onmouseenter="done('over')">Over</button>
<div id="from" role="button" aria-label="From" onmousedown="done('down')" style="width:90px;height:20px">From</div>
<div id="to" role="button" aria-label="To" onmouseup="done('dropped')" style="width:90px;height:20px">To</div>
<p role="status" id="out">nothing</p>
<script>
	did = []
	function done(what) { did.push(what); out.textContent = did.join(' ') }
	document.getElementById('name').addEventListener('keydown', e => e.key === 'Enter' && done('entered'))
</script>`

// Every tool does by refs what the interface says. The peers are played where
// BENCH_PEERS is set, in the directory where a run of the benchmark installed them.
func TestEveryToolPlays(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, page)
	}))
	defer server.Close()
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range driver.Tools() {
		t.Run(tool.Name, func(t *testing.T) {
			if tool.Package != "" && os.Getenv("BENCH_PEERS") == "" {
				untested.Skip(t, "BENCH_PEERS is not set: %s is not played", tool.Name)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			d, err := tool.Start(ctx, driver.Options{Browserd: bin})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := d.Close(); err != nil {
					t.Errorf("closing: %v", err)
				}
			}()
			if d.Name() != tool.Name {
				t.Errorf("it calls itself %q", d.Name())
			}
			play(t, ctx, d, server.URL)
			other, err := d.NewSession(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Open(ctx, server.URL); err != nil {
				t.Fatal(err)
			}
			if s, err := other.Snapshot(ctx, driver.Default); err != nil || !strings.Contains(s.Text, "Click me") {
				t.Errorf("the second session shows %q, %v", s.Text, err)
			}
			if len(other.PIDs()) < 2 {
				t.Errorf("a session lives in the processes %v", other.PIDs())
			}
			if err := other.Close(); err != nil {
				t.Errorf("closing the second session: %v", err)
			}
		})
	}
}

func play(t *testing.T, ctx context.Context, d driver.Driver, url string) {
	t.Helper()
	do := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := d.Open(ctx, url); err != nil {
		t.Fatal(err)
	}
	var s driver.Snapshot
	ref := func(role, name string) string {
		t.Helper()
		i := slices.IndexFunc(s.Nodes, func(n driver.Node) bool { return n.Role == role && n.Name == name && n.Ref != "" })
		if i < 0 {
			t.Fatalf("no %s %q in:\n%s", role, name, s.Text)
		}
		return s.Nodes[i].Ref
	}
	for _, kind := range []driver.Kind{driver.Default, driver.Interactive, driver.Whole} {
		var err error
		if s, err = d.Snapshot(ctx, kind); err != nil {
			t.Fatal(err)
		}
		ref("button", "Click me")
	}
	s, err := d.Snapshot(ctx, driver.Default)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(s.Nodes, func(n driver.Node) bool { return n.Role == "textbox" && n.Value == "before" }); i < 0 {
		t.Errorf("no textbox with its value in %+v", s.Nodes)
	}
	name := ref("textbox", "Name")
	do("click", d.Click(ctx, ref("button", "Click me")))
	do("double click", d.DoubleClick(ctx, ref("button", "Twice")))
	do("type", d.Type(ctx, name, "after"))
	do("press", d.Press(ctx, "Enter"))
	do("select", d.Select(ctx, ref("combobox", "Size"), "Small"))
	do("check", d.Check(ctx, ref("checkbox", "Yes"), true))
	do("hover", d.Hover(ctx, ref("button", "Over")))
	do("drag", d.Drag(ctx, ref("button", "From"), ref("button", "To")))
	seen, err := d.ClickAndSee(ctx, ref("button", "Click me"))
	do("click and see", err)
	const want = "clicked twice entered over down dropped clicked"
	if !strings.Contains(seen, want) && !strings.Contains(seen, "Click me") { // a snapshot that shows no texts
		t.Errorf("after a click it shows %s", seen)
	}
	got, err := d.Eval(ctx, `[out.textContent, document.getElementById('name').value, size.value, yes.checked]`)
	do("eval", err)
	expected, _ := json.Marshal([]any{want, "after", "Small", true})
	if compact(got) != string(expected) {
		t.Errorf("the page has %s, want %s", got, expected)
	}
}

func compact(raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Sprint(err)
	}
	b, _ := json.Marshal(v)
	return string(b)
}
