package e2e_test

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/snapshot"
)

// couponForm changes only beside its own controls; longList stands before it.
const couponForm = `<div id=box><input aria-label=Coupon id=cp><button id=ap>Apply</button><p id=msg></p>
<label><input type=checkbox id=gift> Gift</label><button id=clear>Clear</button></div>
<script>
ap.onclick = () => msg.textContent = 'Coupon rejected: expired';
document.getElementById('clear').onclick = () => msg.textContent = '';
</script>`

func longList(links int) string {
	var b strings.Builder
	b.WriteString("<!doctype html><title>Shop</title><h1>Shop</h1><button id=top onclick='top_.textContent=\"Hello\"'>Greet</button><p id=top_></p><ul>")
	for i := range links {
		fmt.Fprintf(&b, "<p><a href=/%d>Item %d</a></p>", i, i) // which are not folded
	}
	return b.String() + "</ul>"
}

// told writes a delta with names in the place of refs: these depend on how many
// lines stand before them.
func told(text string, refs map[string]string) string {
	return refPattern.ReplaceAllStringFunc(text, func(ref string) string {
		for name, r := range refs {
			if r == ref {
				return name
			}
		}
		return ref
	})
}

var refPattern = regexp.MustCompile("@e[0-9]+")

// acted is an action and the whole delta that answers it.
type acted struct {
	method string
	params params
	delta  string
}

func (a *agent) follows(refs map[string]string, steps ...acted) {
	a.t.Helper()
	for _, s := range steps {
		given := maps.Clone(s.params)
		given["ref"] = refs[given["ref"].(string)]
		r := a.do(s.method, given)
		if r.Delta == nil {
			a.t.Errorf("%s %v: no delta", s.method, s.params)
			continue
		}
		if diff := cmp.Diff(s.delta, told(r.Delta.Text, refs)); diff != "" {
			a.t.Errorf("%s %v (-want +got):\n%s", s.method, s.params, diff)
		}
		if chars := len([]rune(r.Delta.Text)); chars != r.Delta.Stats.Chars {
			a.t.Errorf("%s %v: %d characters, stats say %d", s.method, s.params, chars, r.Delta.Stats.Chars)
		}
	}
}

// refsOf finds controls by their names.
func (a *agent) refsOf(names ...string) map[string]string {
	a.t.Helper()
	refs := map[string]string{}
	for _, name := range names {
		var found struct{ Nodes []snapshot.NodeJSON }
		if err := a.c.Call(a.t.Context(), "find", params{"name": name}, &found); err != nil || len(found.Nodes) != 1 {
			a.t.Fatalf("find %s: %v, %v", name, found, err)
		}
		refs[name] = found.Nodes[0].Ref
	}
	return refs
}

// What an action changes behind the end of what the client was shown is told.
func TestADeltaTellsWhatChangedBeyondTheWindow(t *testing.T) {
	t.Parallel()
	a, w := newAgent(t, sharedDaemon(t)), newPageServer(t)
	w.serve("/shop", longList(260)+couponForm, "")
	first := a.do("open", params{"url": w.URL + "/shop"}).Snapshot
	refs := a.refsOf("Coupon", "Apply", "Gift", "Clear", "Greet")
	refs["last"] = first.Stats.After
	a.follows(refs,
		acted{"click", params{"ref": "Apply"}, `* text "Coupon rejected: expired"`},
		acted{"type", params{"ref": "Coupon", "text": "SAVE10"}, `* Coupon [textbox focused value="SAVE10"] "Coupon"`},
		acted{"check", params{"ref": "Gift", "checked": true}, `* Gift [checkbox checked focused] "Gift"`},
		acted{"click", params{"ref": "Clear"}, "* [more] 1 changes outside of what was shown; continue with after=last"},
		acted{"click", params{"ref": "Greet"}, "~ Greet [button focused] \"Greet\"\n+ text \"Hello\""},
	)
	// Each field of a form is told, not the last alone.
	r := a.do("fill", params{"fields": []params{{"ref": refs["Coupon"], "value": "HALF"}, {"ref": refs["Gift"], "value": false}}})
	want := "~ Greet [button] \"Greet\"\n* Coupon [textbox value=\"HALF\"] \"Coupon\"\n* Gift [checkbox focused] \"Gift\""
	if diff := cmp.Diff(want, told(r.Delta.Text, refs)); diff != "" {
		t.Errorf("fill (-want +got):\n%s", diff)
	}
}

// What an action changes outside of the scope that the client was shown is told.
func TestADeltaTellsWhatChangedOutsideOfTheScope(t *testing.T) {
	t.Parallel()
	a, w := newAgent(t, sharedDaemon(t)), newPageServer(t)
	w.serve("/shop", longList(3)+couponForm, "")
	a.open(w.URL + "/shop")
	refs := a.refsOf("Coupon", "Apply", "Clear", "Greet")
	a.do("snapshot", params{"scope": "#box"})
	a.follows(refs,
		acted{"click", params{"ref": "Greet"}, `* text "Hello"`},
		acted{"click", params{"ref": "Apply"}, "~ Apply [button focused] \"Apply\"\n+ text \"Coupon rejected: expired\""},
	)
	a.do("snapshot", params{"scope": "ul"})
	a.follows(refs, acted{"click", params{"ref": "Apply"}, `* text "Coupon rejected: expired"`},
		acted{"click", params{"ref": "Clear"}, "* [more] 1 changes outside of what was shown; take a snapshot"})
}

// A frame has a script of its own that sees its changes.
func TestADeltaTellsWhatChangedInAFrameBeyondTheWindow(t *testing.T) {
	t.Parallel()
	a, w := newAgent(t, sharedDaemon(t)), newPageServer(t)
	w.serve("/coupon", couponForm, "")
	w.serve("/shop", longList(260)+"<iframe src=/coupon width=600 height=200></iframe>", "")
	a.do("open", params{"url": w.URL + "/shop"})
	refs := a.refsOf("Apply", "Greet")
	a.follows(refs,
		acted{"click", params{"ref": "Apply"}, `* text "Coupon rejected: expired"`},
		acted{"click", params{"ref": "Greet"}, "~ Greet [button focused] \"Greet\"\n+ text \"Hello\""})
}

// A document without script changes in what is acted on.
func TestADeltaTellsWhatChangedBeyondTheWindowOfADocument(t *testing.T) {
	t.Parallel()
	a, w := newAgent(t, sharedDaemon(t)), newPageServer(t)
	w.serve("/shop", longList(260)+"<form action=/shop><input name=coupon aria-label=Coupon></form>", "")
	a.do("open", params{"url": w.URL + "/shop", "source": "http"})
	refs := a.refsOf("Coupon")
	a.follows(refs, acted{"type", params{"ref": "Coupon", "text": "A"}, `* Coupon [textbox name="coupon" focused value="A"] "Coupon"`})
}

// Where the client was shown the whole page, its lines are compared and nothing is
// added to them.
func TestADeltaOfTheWholePageIsItsLines(t *testing.T) {
	t.Parallel()
	a, w := newAgent(t, sharedDaemon(t)), newPageServer(t)
	w.serve("/shop", longList(3)+couponForm, "")
	a.do("open", params{"url": w.URL + "/shop"})
	refs := a.refsOf("Coupon", "Apply", "Clear", "Greet")
	a.follows(refs,
		acted{"click", params{"ref": "Apply"}, "~ Apply [button focused] \"Apply\"\n+ text \"Coupon rejected: expired\""},
		acted{"click", params{"ref": "Clear"}, "~ Apply [button] \"Apply\"\n~ Clear [button focused] \"Clear\"\n- text \"Coupon rejected: expired\""},
		acted{"type", params{"ref": "Coupon", "text": "A"}, "~ Coupon [textbox focused value=\"A\"] \"Coupon\"\n~ Clear [button] \"Clear\""},
	)
}

// A snapshot that asks for a delta and for limits that the last one did not have is
// a whole one, with these limits.
func TestADeltaWithLimitsOfItsOwn(t *testing.T) {
	t.Parallel()
	a, w := newAgent(t, sharedDaemon(t)), newPageServer(t)
	w.serve("/shop", longList(3)+couponForm, "")
	a.do("open", params{"url": w.URL + "/shop"})
	got := a.do("snapshot", params{"delta": true, "scope": "#box"})
	if got.Snapshot == nil || got.Delta != nil || strings.Contains(got.Snapshot.Text, "Item 1") || !strings.Contains(got.Snapshot.Text, "Coupon") {
		t.Errorf("with another scope: %+v, %+v", got.Snapshot, got.Delta)
	}
	for _, p := range []params{{"delta": true, "scope": "#box"}, {"delta": true}} {
		if got = a.do("snapshot", p); got.Delta == nil || got.Delta.Text != "" {
			t.Errorf("%v: %+v, %+v", p, got.Snapshot, got.Delta)
		}
	}
}
