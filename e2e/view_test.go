package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
)

// liveView is the live view as the token's holder is answered.
func liveView(t *testing.T, d *testdaemon.Daemon, token string) (http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("HTTP %d %v\n%s", a.StatusCode, err, text)
	}
	return a.Header, string(text)
}

// The live view of real sessions, one of which hangs: it does not wait for it,
// shows its operator everybody's and an agent its own, and in a browser it is
// what it was meant to be, whatever a page calls itself.
func TestLiveView(t *testing.T) {
	t.Parallel()
	d := driven(t, "", nil)
	w := newPageServer(t)
	const title = `</td><script>document.body.textContent = "mine"</script>`
	w.serve("/hostile", `<!doctype html><title>x</title><script>document.title = "<\/td><script>document.body.textContent = \"mine\"<\/script>"</script><p>Hostile`, "")
	w.serve("/second", page("second", "<h1>Second</h1>"), "")
	a, b := as(t, d, ann), as(t, d, bob)
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"url": w.URL + "/hostile?token=hunter2"})
	a.do("tab_new", params{"url": w.URL + "/second"})
	b.do("session_open", params{"name": "bobs", "source": "http"})
	b.do("open", params{"url": w.URL + "/second"})
	before := time.Now()
	hung := a.send("eval", params{"expression": "while (true) {}", "timeout_ms": 20000})
	behind := a.send("snapshot", params{"timeout_ms": 20000})

	var header http.Header
	var shown string
	for !strings.Contains(shown, "<b>eval</b>") || !strings.Contains(shown, "<small>1 waiting</small>") {
		if time.Since(before) > 15*time.Second {
			t.Fatalf("no eval runs with a snapshot behind it:\n%s", shown)
		}
		asked := time.Now()
		header, shown = liveView(t, d, olga)
		if took := time.Since(asked); took > 8*time.Second {
			t.Errorf("the view took %v while a page hangs", took)
		}
	}
	if strings.Contains(shown, "hunter2") {
		t.Errorf("a secret is shown:\n%s", shown)
	}
	if _, bobs := liveView(t, d, bob); strings.Contains(bobs, "shop") || strings.Contains(bobs, "hostile") || !strings.Contains(bobs, ">bobs<") {
		t.Errorf("another agent sees\n%s", bobs)
	}

	// The page as it came, with its policy, in a browser.
	saved := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			rw.Header()[name] = values
		}
		io.WriteString(rw, shown)
	}))
	t.Cleanup(saved.Close)
	o := as(t, d, olga)
	o.do("open", params{"url": saved.URL})
	got := o.do("eval", params{"expression": `({
		rows: [...document.querySelectorAll("tbody tr")].map(r => r.querySelector("th").innerText.replaceAll("\n", " ").replace(/, at node \w+/, "")),
		tabs: [...document.querySelectorAll("tbody tr:first-child td > div")].map(d => d.innerText.replaceAll("\n", " ")),
		others: document.querySelectorAll("script, a, img, link, iframe, form, input, [href], [src]").length,
		styled: getComputedStyle(document.querySelector("table")).borderCollapse,
	})`}).Value
	want := map[string]any{
		"rows": []any{"shop ann, chromium", "bobs bob, http"},
		"tabs": []any{
			fmt.Sprintf("t1 %q %s/hostile?token=…", title, w.URL),
			fmt.Sprintf("t2 %q %s/second", "second", w.URL),
		},
		"others": 0.0, "styled": "collapse",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in a browser it is (-want +got):\n%s", diff)
	}
	a.do("session_close", params{"session": "shop"})
	a.wait(hung)
	a.wait(behind)
	if _, after := liveView(t, d, olga); strings.Contains(after, ">shop<") {
		t.Errorf("a closed session is shown:\n%s", after)
	}
}
