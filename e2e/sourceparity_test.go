package e2e_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

// read and wait answer the same with and without Chromium; an invalid same_site of a cookie
// is refused by both.
func TestReadAndWaitWithoutChromium(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/page", "<!doctype html><title>Home</title><h1>Home</h1><p>Some <b>bold</b> text.</p><form><input name=q><button>Go</button></form><nav><a href=/two>Two</a></nav>", "")
	for _, source := range []string{"chromium", "http"} {
		a := newAgent(t, d)
		a.do("session_open", params{"source": source})
		a.open(w.URL + "/page")
		markdown := a.do("read", params{"kind": "markdown"}).Content
		for _, part := range []string{"# Home\n", "Some **bold** text.", "[Two](" + w.URL + "/two)"} {
			if !strings.Contains(markdown, part) {
				t.Errorf("%s: the whole page in markdown lacks %q:\n%s", source, part, markdown)
			}
		}
		type waited struct {
			Seen map[string]any `json:"seen"`
		}
		for state, want := range map[string]string{"load": "complete", "networkidle": "networkidle"} {
			if diff := cmp.Diff(ask[waited](a, "wait", params{"state": state}).Seen, map[string]any{"state": want}); diff != "" {
				t.Errorf("%s, %s: got before want:\n%s", source, state, diff)
			}
		}
		e := a.refused("cookies_set", params{"cookies": []params{{"name": "a", "value": "b", "same_site": "lax"}}}, protocol.InvalidParams)
		if e.Details["parameter"] != "cookies" || !strings.Contains(e.Message, `"lax"`) {
			t.Errorf("%s: %s, %v", source, e.Message, e.Details)
		}
	}
}
