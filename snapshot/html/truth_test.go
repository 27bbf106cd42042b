package html

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"
	"testing"

	"golang.org/x/net/html/charset"

	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/snapshot"
)

// truth is what Chromium exposes of a page with scripts off.
type truth struct {
	Title    string
	Links    [][2]string
	Headings [][2]any
	Controls [][2]string
}

type listedPage struct {
	ID, File, Type string
	ContentType    string `json:"ctype"`
}

// readPage returns the text of a page of the set, by its own bytes and label.
func readPage(t testing.TB, p listedPage) string {
	t.Helper()
	r, err := charset.NewReader(bytes.NewReader(gunzip(t, cases+"static/"+p.File)), p.ContentType)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func gunzip(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		untested.Skip(t, "the shared cases are not beside this checkout: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func listedPages(t testing.TB) (list []listedPage) {
	t.Helper()
	raw, err := os.ReadFile(cases + "static/index.json")
	if err != nil {
		untested.Skip(t, "the shared cases are not beside this checkout: %v", err)
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// bag is a multiset.
type bag map[string]int

// tally compares what was got with what is true.
type tally struct{ both, got, want int }

func (a *tally) add(got, want bag) (extra, missing []string) {
	for s, n := range got {
		a.got += n
		a.both += min(n, want[s])
		for range n - min(n, want[s]) {
			extra = append(extra, s)
		}
	}
	for s, n := range want {
		a.want += n
		for range n - min(n, got[s]) {
			missing = append(missing, s)
		}
	}
	sort.Strings(extra)
	sort.Strings(missing)
	return extra, missing
}

func (a tally) recall() float64    { return float64(a.both) / float64(max(a.want, 1)) }
func (a tally) precision() float64 { return float64(a.both) / float64(max(a.got, 1)) }

// TestRealPages compares the links, headings and controls of real pages with
// what Chromium exposes of them, role and name, as multisets.
func TestRealPages(t *testing.T) {
	tallies := map[string]*tally{"link": {}, "heading": {}, "control": {}}
	o := snapshot.DefaultOptions()
	o.InteractiveOnly, o.MaxChars, o.MaxNodes, o.MaxDepth = false, 1<<26, 1<<26, 512
	for _, p := range listedPages(t) {
		var want truth
		if err := json.Unmarshal(gunzip(t, cases+"static/truth/"+p.ID+".json.gz"), &want); err != nil {
			t.Fatal(err)
		}
		d, err := Parse(t.Context(), readPage(t, p), nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Capture(t.Context(), o, snapshot.NewRefs(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fold(c.Title); got != fold(want.Title) {
			t.Errorf("%s: title %q, want %q", p.ID, got, want.Title)
		}
		got, right := bags(c.Nodes), want.bags()
		for _, kind := range []string{"link", "heading", "control"} {
			extra, missing := tallies[kind].add(got[kind], right[kind])
			if len(extra)+len(missing) > 0 {
				t.Logf("%s: %ss: %d extra %.140q, %d missing %.140q", p.ID, kind, len(extra), extra, len(missing), missing)
			}
		}
	}
	for kind, a := range tallies {
		t.Logf("%s: %d; recall %.4f, precision %.4f", kind, a.want, a.recall(), a.precision())
		if a.recall() < 0.98 || a.precision() < 0.98 {
			t.Errorf("%s: recall %.4f, precision %.4f, want .98", kind, a.recall(), a.precision())
		}
	}
}

func (w truth) bags() map[string]bag {
	out := map[string]bag{"link": {}, "heading": {}, "control": {}}
	for _, l := range w.Links {
		out["link"][fold(l[0])]++
	}
	for _, h := range w.Headings {
		out["heading"][fmt.Sprintf("%v %v", h[0], fold(fmt.Sprint(h[1])))]++
	}
	for _, c := range w.Controls {
		if mediaControls[c[1]] {
			continue
		}
		out["control"][c[0]+" "+fold(c[1])]++
	}
	return out
}

// mediaControls are the names of the parts of a <video controls>: they belong to
// the user agent, have no element in the document, and no line in a live snapshot.
var mediaControls = map[string]bool{
	"play": true, "unmute": true, "mute": true, "enter full screen": true,
	"show more media controls": true, "video time scrubber": true, "audio time scrubber": true,
}

// listedControls are the roles of controls that truth lists.
var listedControls = words("button textbox checkbox radio combobox searchbox slider spinbutton switch listbox")

func bags(nodes []snapshot.Node) map[string]bag {
	out := map[string]bag{"link": {}, "heading": {}, "control": {}}
	for _, n := range nodes {
		switch {
		case n.Key.Node == 0:
		case n.Role == "link":
			out["link"][n.Name]++
		case n.Role == "heading":
			level := ""
			for _, a := range n.Attrs {
				if a.Key == "level" {
					level = a.Value
				}
			}
			out["heading"][level+" "+n.Name]++
		case listedControls[n.Role] && n.Tag != "summary": // a DisclosureTriangle, not listed
			out["control"][n.Role+" "+n.Name]++
		}
	}
	return out
}
