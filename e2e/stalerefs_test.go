package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
	"github.com/google/go-cmp/cmp"
)

// rowTest is one agent on one page of testdata/rows.
type rowTest struct {
	*agent
	w  *pageServer
	id string
}

// openRow serves testdata/rows/NAME.html and opens it.
func openRow(t *testing.T, d *testdaemon.Daemon, name string) rowTest {
	t.Helper()
	r := rowTest{newAgent(t, d), newPageServer(t), name}
	r.w.serve("/"+name, page(name, testPage(t, "rows/"+name+".html")), "")
	r.open(r.w.URL + "/" + name)
	return r
}

func testPage(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// script runs in the page, as its own code would.
func (r rowTest) script(expression string) {
	r.t.Helper()
	r.do("eval", params{"expression": expression})
}

// saw holds the page to exactly these reports.
func (r rowTest) saw(want ...any) {
	r.t.Helper()
	if want == nil {
		want = []any{}
	}
	got := settled(func() any { return r.w.said(r.id) }, want)
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("what the page saw (-want +got):\n%s", diff)
	}
}

// Every row's button is called Delete. Whatever the list does between the
// snapshot and the click, the click reaches the row that was meant, or none.
func TestARefNeverActsOnAnotherRow(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	const heals, gone, either = "heals", "gone", "heals or is refused"
	tests := []struct {
		name, page, change string
		row                int // of A B C D E
		want               string
	}{
		{"unchanged", "list", "0", 1, heals},
		{"re-rendered as it was", "list", "render()", 2, heals},
		{"another row removed", "list", "dropA()", 1, either},
		{"this row removed", "list", "dropA()", 0, gone},
		{"a row put before", "list", "prependZ()", 0, either},
		{"a second row that reads the same", "list", "twiceB()", 1, gone},
		{"nodes used again for other rows", "reused", "dropA()", 1, either},
		{"nodes used again, this row removed", "reused", "dropA()", 0, gone},
		{"nodes used again, last node removed", "reused", "dropA()", 4, either},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := openRow(t, d, tt.page)
			before := r.snapshot().all("button", "Delete")
			if len(before) != 5 {
				t.Fatalf("%d rows in the snapshot, want 5", len(before))
			}
			r.script(tt.change)
			answer, err := r.try("click", click(before[tt.row], nil))
			row := string("ABCDE"[tt.row])
			if err == nil {
				if tt.want == gone {
					t.Errorf("clicked although its row is gone")
				}
				r.saw(row)
				r.hitIsRow(answer, row)
				return
			}
			if tt.want == heals {
				t.Errorf("did not heal: %v", err)
			}
			if code := protocol.CodeOf(err); code != protocol.StaleRef && code != protocol.RefChanged {
				t.Errorf("refused with %v, want stale_ref or ref_changed", err)
			}
			r.saw()
		})
	}
}

// hitIsRow holds effect.hit to the button that stands in the row now.
func (r rowTest) hitIsRow(answer result, row string) {
	r.t.Helper()
	if answer.Effect == nil || answer.Effect.Hit == "" {
		r.t.Errorf("the answer does not say what was hit: %+v", answer.Effect)
		return
	}
	v := r.snapshot()
	in := ""
	for _, n := range v.Nodes {
		if n.Role == "text" || n.Role == "listitem" || n.Role == "cell" || n.Role == "row" {
			if _, name, ok := strings.Cut(n.Name, "Row "); ok {
				in = name[:1]
			}
		}
		if n.Ref == answer.Effect.Hit {
			if in != row {
				r.t.Errorf("effect.hit %s stands in row %s, want %s", n.Ref, in, row)
			}
			return
		}
	}
	r.t.Errorf("effect.hit %s is not in the snapshot:\n%s", answer.Effect.Hit, v.Text)
}

// Candidates of a stale ref are refs that can be used.
func TestAStaleRefNamesItsCandidates(t *testing.T) {
	t.Parallel()
	r := openRow(t, sharedDaemon(t), "list")
	first := r.snapshot().all("button", "Delete")[0]
	r.script("dropA()")
	e := r.refused("click", click(first, nil), protocol.StaleRef)
	b, err := json.Marshal(e.Details["candidates"])
	if err != nil {
		t.Fatal(err)
	}
	var candidates []struct{ Ref, Role, Name, Why string }
	if err := json.Unmarshal(b, &candidates); err != nil || len(candidates) == 0 {
		t.Fatalf("details.candidates = %s, %v", b, err)
	}
	known := r.snapshot().all("button", "Delete")
	for _, c := range candidates {
		if c.Role != "button" || c.Name != "Delete" || c.Why == "" || !slices.Contains(known, c.Ref) {
			t.Errorf("candidate %+v, want one of %v", c, known)
		}
	}
	r.saw()
}

func TestARenamedButtonIsRefusedOnceThenActs(t *testing.T) {
	t.Parallel()
	r := openRow(t, sharedDaemon(t), "renamed")
	ref := r.snapshot().ref(t, "button", "Save")
	r.script(`b.textContent = "Delete everything"`)
	e := r.refused("click", click(ref, nil), protocol.RefChanged)
	if was, now := fmt.Sprint(e.Details["was"]), fmt.Sprint(e.Details["now"]); !strings.Contains(was, "Save") || !strings.Contains(now, "Delete everything") {
		t.Errorf("details = %v, want was Save and now Delete everything", e.Details)
	}
	r.saw()
	r.do("click", click(ref, nil))
	r.saw("Delete everything")
}

func TestACoveredTargetNamesWhatCoversIt(t *testing.T) {
	t.Parallel()
	r := openRow(t, sharedDaemon(t), "covered")
	ref := r.snapshot().ref(t, "button", "Buy")
	e := r.refused("click", click(ref, params{"timeout_ms": 5000}), protocol.NotActionable)
	by, err := json.Marshal(e.Details["by"])
	if err != nil {
		t.Fatal(err)
	}
	if e.Details["reason"] != "covered" || !strings.Contains(string(by), "Cookie consent") {
		t.Errorf("details = %v, want reason covered by the dialog Cookie consent", e.Details)
	}
	r.saw()
}

func TestADisabledTargetSaysSo(t *testing.T) {
	t.Parallel()
	r := openRow(t, sharedDaemon(t), "disabled")
	v := r.snapshot()
	for _, name := range []string{"Pay", "Send", "Post"} {
		ref := v.ref(t, "button", name)
		e := r.refused("click", click(ref, params{"timeout_ms": 1500}), protocol.NotActionable)
		if e.Details["reason"] != "disabled" {
			t.Errorf("%s: details = %v, want reason disabled", name, e.Details)
		}
	}
	r.saw()
}

// Targets that are not where they were: an answer says success only where the
// target itself received the input.
func TestSuccessMeansTheTargetReceivedIt(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	tests := []struct {
		page, name string
		sees       any
	}{
		{"moving", "Catch", "b"},
		{"sliding", "Catch", "b"},
		{"dodging", "Yes", "Yes"},
		{"veiled", "Buy", "Buy"},
	}
	for _, tt := range tests {
		t.Run(tt.page, func(t *testing.T) {
			r := openRow(t, d, tt.page)
			ref := r.snapshot().ref(t, "button", tt.name)
			_, err := r.try("click", click(ref, params{"timeout_ms": 3000}))
			if err == nil {
				r.saw(tt.sees)
				return
			}
			t.Logf("refused: %v", err)
			if tt.page == "sliding" {
				t.Errorf("a target that comes to rest was not clicked: %v", err)
			}
			if code := protocol.CodeOf(err); code != protocol.NotActionable && code != protocol.Timeout {
				t.Errorf("refused with %s, want not_actionable", code)
			}
			if slices.Contains(r.w.said(r.id), tt.sees) {
				t.Errorf("refused, and yet the target received it: %v", r.w.said(r.id))
			}
		})
	}
}

// A field that gives its focus away never gets the text; the answer must not
// say that it did.
func TestTypeSaysWhereTheTextIsNot(t *testing.T) {
	t.Parallel()
	r := openRow(t, sharedDaemon(t), "stealing")
	ref := r.snapshot().ref(t, "textbox", "First")
	answer, err := r.try("type", params{"ref": ref, "text": "secret", "timeout_ms": 3000})
	inFirst := r.do("eval", params{"expression": "first.value"}).Value
	if err == nil && inFirst != "secret" && (answer.Effect == nil || answer.Effect.Value == nil) {
		t.Errorf("success, effect %+v, but the field holds %q", answer.Effect, inFirst)
	}
	if inSecond := r.do("eval", params{"expression": "second.value"}).Value; inSecond != "" {
		t.Errorf("another field received %q", inSecond)
	}
}

func TestRefsAcrossDocuments(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	r := openRow(t, d, "list")
	old := r.snapshot().all("button", "Delete")
	r.w.serve("/next", page("next", `<button onclick="report('next')">Delete</button>`), "")
	r.open(r.w.URL + "/next")
	fresh := r.snapshot().ref(t, "button", "Delete")
	if slices.Contains(old, fresh) {
		t.Errorf("%s is used twice: before it was one of %v", fresh, old)
	}
	r.refused("click", click(old[0], nil), protocol.StaleRef)
	r.refused("click", click("@e999999", nil), protocol.UnknownRef)
	if said := r.w.said("next"); len(said) != 0 {
		t.Errorf("the next document saw %v", said)
	}
	for _, form := range []string{fresh, strings.TrimPrefix(fresh, "@"), "ref=" + strings.TrimPrefix(fresh, "@")} {
		r.do("click", click(form, nil))
	}
	want := []any{"next", "next", "next"}
	if got := settled(func() any { return r.w.said("next") }, want); !cmp.Equal(got, want) {
		t.Errorf("three forms of one ref: the page saw %v", got)
	}
}

// A ref keeps its number for as long as its node lives, whatever else changes.
func TestALivingNodeKeepsItsRef(t *testing.T) {
	t.Parallel()
	r := openRow(t, sharedDaemon(t), "renamed")
	ref := r.snapshot().ref(t, "button", "Save")
	r.script(`for (let i = 0; i < 20; i++) document.body.prepend(document.createElement('hr'), Object.assign(document.createElement('button'), {textContent: 'New ' + i}))`)
	if again := r.snapshot().ref(t, "button", "Save"); again != ref {
		t.Errorf("Save was %s and is %s", ref, again)
	}
}
