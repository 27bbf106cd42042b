package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/internal/corpus"
	"github.com/browserd/browserd/snapshot"
	"github.com/browserd/browserd/snapshot/html"
)

// differ are the pages of which the two say different things, and why. Of the real pages
// a share of the nodes may differ: realAgreed.
var differ = func() map[string]string {
	list := map[string]string{
		"wpt/name/comp_tooltip.html#5":  "Chromium alone ignores the title of an image whose alt is empty",
		"wpt/manual/name_test_case_566": "the name is made by a style sheet, which the static page reads further than Chromium",
		"axe/accessible-text#13":        "Chromium takes the title of an empty element into the name of what is around it",
		"axe/accessible-text#42":        "two elements of one id, one of them in a shadow root: the static page looks in the document alone",
		"select-late-enabled":           "the options of a disabled select are disabled: the static page says it of the select alone",
		"snap-hidden-omitted":           "that a click reaches what is aria-hidden is for boxes to tell",
		"hidden":                        "the same",
		"covers":                        "what covers a control is for boxes to tell",
		"partcover":                     "the same",
		"loading":                       "what lies over the page is for boxes to tell",
		"spinner":                       "the same",
		"contained":                     "what content-visibility skips, a layout tells",
		"scroller":                      "what a scroller has moved out of reach, a layout tells",
	}
	for _, n := range []int{199, 200, 202, 203, 205, 210, 211, 212, 213, 214, 218, 219, 220, 221, 222, 223} {
		list[fmt.Sprintf("axe/accessible-text#%d", n)] = "Chromium gives an empty phrase no name by its title"
	}
	return list
}()

// realAgreed is the share of the nodes of the real pages of which both say the same.
const realAgreed = 0.995

// byBoxes are the states that only a laid-out page has.
var byBoxes = map[string]bool{"invisible": true, "covered": true, "focused": true, "clickable": true}

// TestOneCorpus has the live page and the static page read the same HTML, and compares
// the roles, names and states of what they show.
func TestOneCorpus(t *testing.T) {
	t.Parallel()
	p := openTestPage(t, "<!doctype html>")
	o := snapshot.DefaultOptions()
	o.InteractiveOnly, o.MaxChars, o.MaxNodes, o.MaxDepth = false, 1<<26, 1<<26, 512
	same, all, least := 0, 0, 500
	last := ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last page was %s", last)
		}
	})
	for _, page := range corpus.Pages(t, "..") {
		last = page.Set + " " + page.ID
		if page.Set == "real" {
			p.load(page.HTML)
		} else {
			p.write(page.HTML)
		}
		live := p.walk(walk.NewOptions(o))
		d, err := html.Parse(t.Context(), page.HTML, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		static, err := d.Capture(t.Context(), o, snapshot.NewRefs(), nil)
		if err != nil {
			t.Fatal(err)
		}
		least--
		got, want := said(static.Nodes), said(live.Nodes)
		if page.Set == "real" {
			same += 2 * shared(got, want)
			all += len(got) + len(want)
			continue
		}
		diff := cmp.Diff(got, want)
		switch reason := differ[page.ID]; {
		case diff != "" && reason == "":
			t.Errorf("%s %s: static - live +\n%s", page.Set, page.ID, diff)
		case diff == "" && reason != "":
			t.Errorf("%s %s: both say the same, although %s: strike it off the list", page.Set, page.ID, reason)
		}
	}
	share := float64(same) / float64(max(all, 1))
	t.Logf("of %d nodes of real pages both say the same of %.4f", all/2, share)
	if share < realAgreed || least > 0 {
		t.Errorf("of %d nodes of real pages both say the same of %.4f, want %.3f; %d pages too few", all/2, share, realAgreed, max(least, 0))
	}
}

// said is what is compared of the nodes, sorted.
func said(nodes []snapshot.Node) []string {
	list := []string{}
	for _, n := range nodes {
		if n.Role == snapshot.RoleText || n.More > 0 {
			continue
		}
		states := slices.DeleteFunc(slices.Clone(n.States), func(s string) bool { return byBoxes[s] })
		list = append(list, fmt.Sprintf("%s %q %s", n.Role, strings.Join(strings.Fields(n.Name), " "), strings.Join(states, " ")))
	}
	slices.Sort(list)
	return list
}

// shared counts what two sorted lists have in common.
func shared(a, b []string) (n int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := strings.Compare(a[i], b[j]); {
		case c == 0:
			n, i, j = n+1, i+1, j+1
		case c < 0:
			i++
		default:
			j++
		}
	}
	return n
}
