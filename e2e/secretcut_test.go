package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

// Where browserd cuts a text that has a secret, the secret is removed first: nothing tells its beginning from other
// text. The agent chooses what stands before it, so that the cut falls at any of its letters.
func TestNoBeginningOfASecretBeforeACut(t *testing.T) {
	aboutOneProcess(t, "secrets of its own")
	t.Parallel()
	w := newPageServer(t)
	w.serve("/search", `<!doctype html><title>Search</title><form action=/found><label>Search <input name=q></label></form>`, "")
	w.mux.HandleFunc("/found", func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, `<!doctype html><title>%s</title>`, html.EscapeString(r.FormValue("q")))
	})
	w.mux.HandleFunc("/api", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Location", "/login?next="+url.QueryEscape(r.FormValue("next")))
		fmt.Fprintf(rw, "%s%s", strings.Repeat("A", 1<<20-20), r.FormValue("next")[len(r.FormValue("next"))-len(word):])
	})
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests"}})
	secretSetter(t, d)(word, "shop", "--origin", w.URL)
	a := newAgent(t, d)
	tells := func(what, method string, p params) {
		t.Helper()
		var raw json.RawMessage
		if err := a.c.Call(t.Context(), method, p, &raw); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for n := 2; n <= len(word); n++ {
			if bytes.Contains(raw, []byte("A"+word[:n])) {
				t.Errorf("%s: %d letters of the secret", what, n)
			}
		}
	}
	for _, letters := range []int{3, 9, len(word) - 2} {
		for _, limit := range []int{500, 2000} {
			a.open(w.URL + "/search")
			what := fmt.Sprintf("a title cut at %d after %d letters", limit, letters)
			tells(what, "type", params{"ref": "label=Search", "text": strings.Repeat("A", limit-1-letters) + "{{secret:shop}}", "submit": true})
			tells(what+", in the list of tabs", "tab_list", nil)
			tells(what+", in the list of sessions", "session_list", nil)
		}
		for _, limit := range []int{2000 - len("/login?next=")} {
			tells(fmt.Sprintf("a header after %d letters", letters), "http_request", params{
				"url": w.URL + "/api", "method": "POST", "max_chars": 1 << 20, "headers": params{"Content-Type": "application/x-www-form-urlencoded"},
				"body": "next=" + strings.Repeat("A", limit-1-letters) + "{{secret:shop}}",
			})
		}
	}
}

// word is a secret without characters that an encoding changes.
const word = "hunter2correcthorsebatterystaple"
