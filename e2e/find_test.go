package e2e_test

import (
	"strings"
	"testing"
)

// find says where there is more than its limit lets through, whatever the source.
func TestFindSaysThatThereIsMore(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/14", page("14", strings.Repeat("<button>Go</button>", 14)), "")
	a := newAgent(t, d)
	for _, source := range []string{"chromium", "http"} {
		a.do("open", params{"url": w.URL + "/14", "source": source})
		for _, c := range []struct {
			limit, nodes int
			truncated    bool
		}{{10, 10, true}, {13, 13, true}, {14, 14, false}, {20, 14, false}} {
			var found struct {
				Nodes     []struct{} `json:"nodes"`
				Truncated bool       `json:"truncated"`
			}
			if err := a.c.Call(t.Context(), "find", params{"role": "button", "limit": c.limit}, &found); err != nil {
				t.Fatal(err)
			}
			if len(found.Nodes) != c.nodes || found.Truncated != c.truncated {
				t.Errorf("%s, limit %d: %d nodes, truncated %t", source, c.limit, len(found.Nodes), found.Truncated)
			}
		}
	}
}

// What is named without a text that the page shows is found by the words of its name, whatever
// the source.
func TestFindByAName(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/names", page("Names", `<input aria-label="Search words"><input placeholder="Your town"><button aria-label="Close">x</button><p>Close to you</p>`), "")
	a := newAgent(t, d)
	for _, source := range []string{"chromium", "http"} {
		a.do("open", params{"url": w.URL + "/names", "source": source})
		for _, c := range []struct{ text, want string }{
			{"search", "textbox Search words"},
			{"town", "textbox Your town"},
			{"close", "paragraph "}, // what shows the words goes first
			{"nowhere", ""},
		} {
			var found struct {
				Nodes []struct{ Role, Name string } `json:"nodes"`
			}
			if err := a.c.Call(t.Context(), "find", params{"text": c.text}, &found); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range found.Nodes {
				got = append(got, n.Role+" "+n.Name)
			}
			if list := strings.Join(got, ", "); list != c.want {
				t.Errorf("%s: %q finds %q, want %q", source, c.text, list, c.want)
			}
		}
	}
}

// By the words of a label its field is found, as a snapshot names it, whatever the
// source; a link in the label is itself, and so is a label without a field.
func TestFindByALabel(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/labels", page("Labels", `<label for=q>Search words</label><input id=q><label><b>Wrapped</b> words <input></label>
<label><input type=checkbox> Agree to <a href="/terms">the terms</a></label><label>Alone</label><label>Hidden <input style="display:none"></label>`), "")
	a := newAgent(t, d)
	for _, source := range []string{"chromium", "http"} {
		a.do("open", params{"url": w.URL + "/labels", "source": source})
		for _, c := range []struct{ text, want string }{
			{"search words", "textbox Search words input"},
			{"wrapped", "textbox Wrapped words input"},
			{"agree to", "checkbox Agree to the terms input"},
			{"the terms", "link the terms a"},
			{"words", "textbox Search words input, textbox Wrapped words input"},
			{"alone", "generic  label"},
			{"hidden", "generic Hidden label"},
		} {
			var found struct {
				Nodes []struct{ Role, Name, Tag string } `json:"nodes"`
			}
			if err := a.c.Call(t.Context(), "find", params{"text": c.text}, &found); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range found.Nodes {
				got = append(got, n.Role+" "+n.Name+" "+n.Tag)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("%s, %q: got %q, want %q", source, c.text, got, c.want)
			}
		}
	}
}
