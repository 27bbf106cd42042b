package snapshot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/browserd/browserd/protocol"
)

// page makes a capture of short words: "b3 Save" a button with node 3 and the
// name Save, "  t words" a text at depth 1, "d4 Open" a modal dialog, "more 12" a
// [more] line, "open 12" one that counts what is behind a menu.
func page(lines ...string) Capture {
	c := Capture{URL: "https://example.com/", Title: "Page", Input: len(lines), Visited: len(lines)}
	for _, l := range lines {
		words := strings.TrimLeft(l, " ")
		depth := (len(l) - len(words)) / 2
		kind, name, _ := strings.Cut(words, " ")
		if kind == "t" {
			c.Nodes = append(c.Nodes, Node{Depth: depth, Role: RoleText, Name: name})
			continue
		}
		if kind == "more" {
			more, _ := strconv.Atoi(name)
			c.Nodes = append(c.Nodes, Node{Depth: depth, More: more, Name: "inert"})
			continue
		}
		if kind == "open" {
			more, _ := strconv.Atoi(name)
			c.Nodes = append(c.Nodes, Node{Depth: depth, More: more, Name: behindOpen})
			continue
		}
		node, _ := strconv.Atoi(kind[1:])
		n := Node{Key: Key{1, node}, Depth: depth, Role: "button", Name: name}
		if kind[0] == 'd' {
			n.Role, n.States = "dialog", []string{"modal"}
		}
		if name, covered := strings.CutSuffix(name, " covered"); covered {
			n.Name, n.States = name, []string{"covered"}
		}
		if name, off := strings.CutSuffix(name, " off"); off {
			n.Name, n.States = name, []string{"disabled"}
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

func TestDiff(t *testing.T) {
	for _, test := range []struct {
		name      string
		prev, cur []string
		want      string
	}{
		{"nothing", []string{"b1 Save", "t hello"}, []string{"b1 Save", "t hello"},
			""},
		{"nothing at all", nil, nil, ""},
		{"from nothing", nil, []string{"b1 Save", "  t hello"},
			"+ @e1 [button] \"Save\"\n+   text \"hello\""},
		{"to nothing", []string{"b1 Save off", "  t hello"}, nil,
			"- @e1 [button disabled] \"Save\"\n-   text \"hello\""},
		{"renamed", []string{"b1 Save", "b2 Open"}, []string{"b1 Delete everything", "b2 Open"},
			"~ @e1 [button] \"Delete everything\""},
		{"a state moves", []string{"b1 Save off", "b2 Open", "b3 New"}, []string{"b1 Save", "b2 Open", "b3 New off"},
			"~ @e1 [button] \"Save\"\n~ @e3 [button disabled] \"New\""},
		{"the same name, another node", []string{"b1 Save"}, []string{"b2 Save"},
			"- @e1 [button] \"Save\"\n+ @e2 [button] \"Save\""},
		{"a name that holds brackets, and none", []string{`b1 ] "x" [`, "b2 "}, nil,
			"- @e1 [button] \"] \\\"x\\\" [\"\n- @e2 [button]"},
		{"a row in the middle", []string{"b1 A", "b2 B"}, []string{"b1 A", "  b3 New", "    t new", "b2 B"},
			"+   @e3 [button] \"New\"\n+     text \"new\""},
		{"a text replaced between others", []string{"t one", "t two", "t three"}, []string{"t one", "t 2", "t three"},
			"- text \"two\"\n+ text \"2\""},
		{"the same text twice, one goes", []string{"t x", "b1 A", "t x"}, []string{"b1 A", "t x"},
			"- text \"x\""},
		{"a text goes to the other side of a ref", []string{"t x", "b1 A"}, []string{"b1 A", "t x"},
			"- text \"x\"\n+ text \"x\""},
		{"moved to the front", []string{"b1 A", "b2 B", "b3 C"}, []string{"b3 C", "b1 A", "b2 B"},
			"~ @e3 [button] \"C\""},
		{"deeper", []string{"b1 A"}, []string{"    b1 A"},
			"~     @e1 [button] \"A\""},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, refs := DefaultOptions(), NewRefs()
			_, prev := Render(page(test.prev...), o, refs)
			_, cur := Render(page(test.cur...), o, refs)
			got, now := Diff(prev, cur, o, refs)
			if got.Text != test.want {
				t.Errorf("got\n%s\nwant\n%s", got.Text, test.want)
			}
			if p, err := parse(got.Text); err != nil || len(p.Lines) != got.Changes {
				t.Errorf("%d lines for %d changes, %v", len(p.Lines), got.Changes, err)
			}
			if again, _ := Diff(now, cur, o, refs); again.Text != "" || again.Changes != 0 {
				t.Errorf("told again: %s", again.Text)
			}
		})
	}
}

func TestDiffStats(t *testing.T) {
	o, refs := DefaultOptions(), NewRefs()
	_, prev := Render(page("b1 A", "b2 B", "t x"), o, refs)
	_, cur := Render(page("b1 A!", "b3 C", "t y"), o, refs)
	got, _ := Diff(prev, cur, o, refs)
	want := Stats{InputNodes: 3, NodesVisited: 3, NodesEmitted: 2, Chars: utf8.RuneCountInString(got.Text), Reasons: []string{}}
	if diff := cmp.Diff(got.Stats, want); diff != "" {
		t.Errorf("got before want\n%s", diff)
	}
}

// What a cut delta did not tell, the client does not know: its refs stay as it
// saw them, and the next delta tells the rest.
func TestDiffCut(t *testing.T) {
	o, refs := DefaultOptions(), NewRefs()
	var before, after []string
	for i := range 20 {
		before = append(before, fmt.Sprintf("b%d Save row %d", i+1, i))
		after = append(after, fmt.Sprintf("b%d Delete row %d", i+1, i))
	}
	_, prev := Render(page(before...), o, refs)
	_, cur := Render(page(after...), o, refs)
	want := ""
	for i := range 9 {
		want += fmt.Sprintf("~ @e%d [button] \"Delete row %d\"\n", i+1, i)
	}
	want += "[more] 11 changes not shown; take a snapshot"
	o.MaxChars = len(want) // not one to spare
	got, now := Diff(prev, cur, o, refs)
	if got.Text != want || got.Changes != 20 {
		t.Errorf("got\n%s\nwant\n%s", got.Text, want)
	}
	if !slices.Equal(got.Stats.Reasons, []string{"max_chars"}) || !got.Stats.Truncated || got.Stats.NodesEmitted != 9 {
		t.Errorf("stats %+v", got.Stats)
	}
	for ref, name := range map[string]string{"@e9": "Delete row 8", "@e10": "Save row 9", "@e20": "Save row 19"} {
		if e, err := refs.Lookup(ref); err != nil || e.Name != name {
			t.Errorf("%s is %q, %v; the client saw %q", ref, e.Name, err, name)
		}
	}
	o.MaxChars = 12000
	_, cur = Render(page(after...), o, refs)
	rest, _ := Diff(now, cur, o, refs)
	if !strings.HasPrefix(rest.Text, "~ @e10 [button] \"Delete row 9\"\n") || rest.Changes != 11 || rest.Stats.Truncated {
		t.Errorf("the rest is\n%s", rest.Text)
	}
	if e, _ := refs.Lookup("@e20"); e.Name != "Delete row 19" {
		t.Errorf("@e20 is still %q", e.Name)
	}
}

// Lines pushed off a snapshot's end by others are not gone from the page.
func TestDiffOfSnapshotsThatStop(t *testing.T) {
	o, refs := DefaultOptions(), NewRefs()
	o.MaxNodes = 4
	_, prev := Render(page("b1 A", "b2 B", "b3 C", "b4 D", "b5 E"), o, refs)
	_, cur := Render(page("b6 New", "b1 A", "b3 C", "b7 Newer", "b4 D", "b5 E"), o, refs)
	got, now := Diff(prev, cur, o, refs)
	want := `+ @e5 [button] "New"
- @e2 [button] "B"
+ @e6 [button] "Newer"`
	if got.Text != want {
		t.Errorf("got\n%s\nwant\n%s", got.Text, want)
	}
	if !slices.Equal(got.Stats.Reasons, []string{"max_nodes"}) {
		t.Errorf("stats %+v", got.Stats)
	}
	// The page is small again: now it shows that D is gone.
	_, cur = Render(page("b6 New", "b1 A", "b3 C"), o, refs)
	got, _ = Diff(now, cur, o, refs)
	want = `- @e6 [button] "Newer"
- @e4 [button] "D"`
	if got.Text != want {
		t.Errorf("got\n%s\nwant\n%s", got.Text, want)
	}
	if _, err := refs.Lookup("@e4"); protocol.CodeOf(err) != "" {
		t.Errorf("@e4: %v", err) // whether its node lives is the source's to say
	}
}

func TestDiffMaxChars(t *testing.T) {
	refs := NewRefs()
	_, prev := Render(article(12), DefaultOptions(), refs)
	c := hostile()
	c.Nodes = append(c.Nodes, article(6).Nodes...)
	_, cur := Render(c, DefaultOptions(), refs)
	lines := 0
	for maxChars := -1; maxChars < 2000; maxChars += 1 + maxChars/100 {
		o := DefaultOptions()
		o.MaxChars = maxChars
		got, _ := Diff(prev, cur, o, refs)
		p, err := parse(got.Text)
		if err != nil {
			t.Fatalf("max_chars %d: %v in\n%s", maxChars, err, got.Text)
		}
		if n := utf8.RuneCountInString(got.Text); n > max(maxChars, 0) || n != got.Stats.Chars {
			t.Fatalf("max_chars %d: %d characters, stats say %d", maxChars, n, got.Stats.Chars)
		}
		hidden := got.Changes - len(p.Lines)
		if more := (rest{what: restChanges, count: got.Changes}).String(); maxChars < len(more) {
			if got.Text != "" {
				t.Fatalf("max_chars %d: no room for [more], and yet\n%s", maxChars, got.Text)
			}
		} else if p.Kind != "delta" || p.Rest.Count != hidden {
			t.Fatalf("max_chars %d: %q, %d changes are not shown, [more] says %d", maxChars, p.Kind, hidden, p.Rest.Count)
		}
		if hidden == 0 == got.Stats.Truncated {
			t.Fatalf("max_chars %d: %d hidden, truncated %v\n%s", maxChars, hidden, got.Stats.Truncated, got.Text)
		}
		if len(p.Lines) < lines {
			t.Fatalf("max_chars %d shows %d lines, less showed %d", maxChars, len(p.Lines), lines)
		}
		lines = len(p.Lines)
	}
	if lines < 20 {
		t.Errorf("%d lines in the end", lines)
	}
}

// draw makes a page of few nodes and fewer texts, so that two of them share some.
func draw(t *rapid.T, label string) Capture {
	nodes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Node {
		n := Node{Depth: rapid.IntRange(0, 2).Draw(t, "depth"), Role: RoleText, Name: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")}
		if rapid.Bool().Draw(t, "element") {
			n.Role, n.Key = "button", Key{1, rapid.IntRange(1, 12).Draw(t, "node")}
		}
		return n
	}), 0, 24).Draw(t, label)
	return Capture{URL: "u", Nodes: nodes}
}

// Whatever the pages, the lines told turn what the client had into what it has:
// the same lines, and those that stay in their order.
func TestDiffTellsWhatChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, refs := DefaultOptions(), NewRefs()
		_, prev := Render(draw(t, "prev"), o, refs)
		_, cur := Render(draw(t, "cur"), o, refs)
		o.MaxChars = rapid.IntRange(0, 900).Draw(t, "max_chars")
		d, now := Diff(prev, cur, o, refs)
		p, err := parse(d.Text)
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]int{} // lines
		byRef := map[int]string{}
		for _, l := range prev.lines {
			have[l.text]++
			byRef[l.ref] = l.text
		}
		raw := strings.Split(d.Text, "\n")
		for i, l := range p.Lines {
			said := raw[i][2:]
			switch l.Op {
			case "-":
				have[said]--
			case "~":
				have[byRef[l.Ref]]--
			}
			if l.Op != "-" {
				have[said]++
			}
		}
		for _, l := range now.lines {
			have[l.text]--
		}
		for s, n := range have {
			if n != 0 {
				t.Fatalf("%q is there %d times too often\n%s", s, n, d.Text)
			}
		}
		if !d.Stats.Truncated {
			if diff := cmp.Diff(now.lines, cur.lines, cmp.AllowUnexported(shownLine{})); diff != "" {
				t.Fatalf("the client has, before the page\n%s", diff)
			}
		}
		// In steps however small, the client gets there.
		o.MaxChars = 12000
		_, now = Diff(now, cur, o, refs)
		if again, _ := Diff(now, cur, o, refs); again.Text != "" {
			t.Fatalf("told again:\n%s", again.Text)
		}
	})
}

// Large lists of texts: no quadratic table, and like lines still found.
func TestDiffLarge(t *testing.T) {
	o, refs := DefaultOptions(), NewRefs()
	o.MaxChars = 5_000_000
	var before, after []string
	for i := range 20000 {
		before = append(before, fmt.Sprint("t line ", i))
		if i%100 != 50 {
			after = append(after, fmt.Sprint("t line ", i))
		} else {
			after = append(after, fmt.Sprint("t other ", i))
		}
	}
	_, prev := Render(page(before...), o, refs)
	_, cur := Render(page(after...), o, refs)
	got, _ := Diff(prev, cur, o, refs)
	p, err := parse(got.Text)
	if err != nil {
		t.Fatal(err)
	}
	ops := map[string]int{}
	for _, l := range p.Lines {
		ops[l.Op]++
	}
	if diff := cmp.Diff(ops, map[string]int{"+": 200, "-": 200}); diff != "" {
		t.Errorf("got before want\n%s", diff)
	}
}

func TestCommonIsLongest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 12).Draw(t, "a")
		b := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 12).Draw(t, "b")
		got := common(len(a), len(b), func(i, j int) bool { return a[i] == b[j] },
			func(i int) string { return a[i] }, func(j int) string { return b[j] })
		for k, m := range got {
			if a[m.a] != b[m.b] || k > 0 && (m.a <= got[k-1].a || m.b <= got[k-1].b) {
				t.Fatalf("not a common subsequence: %v", got)
			}
		}
		if want := longest(a, b); len(got) != want {
			t.Fatalf("%d long, the longest is %d", len(got), want)
		}
	})
}

func longest(a, b []string) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			if a[i] == b[j] {
				table[i+1][j+1] = table[i][j] + 1
			} else {
				table[i+1][j+1] = max(table[i][j+1], table[i+1][j])
			}
		}
	}
	return table[len(a)][len(b)]
}

// A dialog that comes up before a page changes every line of it, and none: what an
// agent needs is the dialog.
func TestDiffBehindDialogs(t *testing.T) {
	rows := func(n int, state string) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("b%d Row %d%s", i+1, i+1, state))
		}
		return list
	}
	dialog := []string{"d90 Rename", "  b91 Save"}
	told := func(op string, from, to int, state string) (text string) {
		for i := from; i <= to; i++ {
			text += fmt.Sprintf("%s @e%d [button%s] \"Row %d\"\n", op, i, state, i)
		}
		return text
	}
	plus := "+ @e13 [dialog modal] \"Rename\"\n+   @e14 [button] \"Save\"\n"
	minus := "- @e13 [dialog modal] \"Rename\"\n-   @e14 [button] \"Save\"\n"
	const open12 = " [more] 12 nodes not shown here: \"behind what is open; close it to reach them\"\n"
	open14 := strings.Replace(open12, "12", "14", 1)
	for _, test := range []struct {
		name   string
		states [][]string // of the page, one after the other
		want   []string   // the deltas between them
	}{
		{"covers few", [][]string{rows(8, ""), append(slices.Clone(dialog), rows(8, " covered")...), rows(8, "")}, []string{
			strings.ReplaceAll(strings.ReplaceAll(plus, "@e13", "@e9"), "@e14", "@e10") + told("~", 1, 8, " covered"),
			strings.ReplaceAll(strings.ReplaceAll(minus, "@e13", "@e9"), "@e14", "@e10") + told("~", 1, 8, ""),
		}},
		{"covers many", [][]string{rows(12, ""), append(slices.Clone(dialog), rows(12, " covered")...), rows(12, "")}, []string{
			plus + told("~", 1, 8, " covered") + "+ [more] 4 nodes not shown here: \"covered now, and else as they were\"\n",
			minus + told("~", 1, 8, "") + "+ [more] 4 nodes not shown here: \"no longer covered, and else as they were\"\n",
		}},
		{"hides few", [][]string{rows(3, ""), dialog, rows(3, "")}, []string{
			told("-", 1, 3, "") + strings.ReplaceAll(strings.ReplaceAll(plus, "@e13", "@e4"), "@e14", "@e5"),
			strings.ReplaceAll(strings.ReplaceAll(minus, "@e13", "@e4"), "@e14", "@e5") + told("+", 1, 3, ""),
		}},
		{"hides many, which are there when it goes, but one", [][]string{rows(12, ""), dialog, append(slices.Clone(dialog), "  b92 Cancel"), rows(11, "")}, []string{
			plus + "+ [more] 12 nodes not shown here: \"behind the dialog; close it to reach them\"\n",
			"+   @e15 [button] \"Cancel\"\n",
			minus + "-   @e15 [button] \"Cancel\"\n" + told("-", 12, 12, ""),
		}},
		{"hides many, and counts them itself", [][]string{rows(12, ""), append(slices.Clone(dialog), "more 12"), rows(12, "")}, []string{
			plus + "+ [more] 12 nodes not shown here: \"inert\"\n",
			minus + "- [more] 12 nodes not shown here: \"inert\"\n",
		}},
		{"hides many behind a menu, of which one line changes and one goes", [][]string{
			rows(12, ""), {"b90 Copy", "b91 Paste", "open 12"}, {"b90 Cut", "open 12"}, append(rows(11, ""), "b99 Undo")}, []string{
			"+ @e13 [button] \"Copy\"\n+ @e14 [button] \"Paste\"\n+ [more] 12 nodes not shown here: \"behind what is open; close it to reach them\"\n",
			"~ @e13 [button] \"Cut\"\n- @e14 [button] \"Paste\"\n",
			"- @e13 [button] \"Cut\"\n- [more] 12 nodes not shown here: \"behind what is open; close it to reach them\"\n- @e12 [button] \"Row 12\"\n+ @e15 [button] \"Undo\"\n",
		}},
		{"a list that opens in a dialog, and closes with a choice by which one line changes and one goes", [][]string{
			rows(12, ""), append(slices.Clone(dialog), "  b92 Cancel", "open 12"), {"b93 Small", "open 14"}, {"d90 Rename", "  b91 Saved", "open 12"}, rows(12, "")}, []string{
			plus + "+   @e15 [button] \"Cancel\"\n+" + open12,
			"-" + open12 + "+ @e16 [button] \"Small\"\n+" + open14,
			"- @e16 [button] \"Small\"\n-" + open14 + "~   @e14 [button] \"Saved\"\n-   @e15 [button] \"Cancel\"\n+" + open12,
			strings.ReplaceAll(minus, "Save", "Saved") + "-" + open12,
		}},
		{"a dialog makes room for a menu", [][]string{
			rows(12, ""), append(slices.Clone(dialog), "open 12"), {"b93 Small", "open 12"}}, []string{
			plus + "+" + open12,
			minus + "+ @e15 [button] \"Small\"\n",
		}},
		{"goes when the dialog is there already", [][]string{append(slices.Clone(dialog), rows(12, "")...), dialog, dialog[:1]}, []string{
			"+ [more] 12 nodes not shown here: \"behind the dialog; close it to reach them\"\n",
			"-   @e2 [button] \"Save\"\n",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, refs := DefaultOptions(), NewRefs()
			_, shown := Render(page(test.states[0]...), o, refs)
			for i, want := range test.want {
				_, cur := Render(page(test.states[i+1]...), o, refs)
				var got Delta
				got, shown = Diff(shown, cur, o, refs)
				if got.Text != strings.TrimSuffix(want, "\n") {
					t.Errorf("delta %d: got\n%s\nwant\n%s", i+1, got.Text, want)
				}
				if _, err := parse(got.Text); err != nil {
					t.Errorf("delta %d: %v", i+1, err)
				}
			}
		})
	}
}

// Whatever dialogs come and go, what is told can be read, and when none is left the
// client has the page.
func TestDiffThroughDialogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, refs := DefaultOptions(), NewRefs()
		_, shown := Render(draw(t, "first"), o, refs)
		for step := range rapid.IntRange(1, 5).Draw(t, "steps") {
			c := draw(t, "page")
			switch rapid.SampledFrom([]string{"covers", "hides", "counts", "menu"}).Draw(t, "dialog") {
			case "covers":
				for i := range c.Nodes {
					if c.Nodes[i].Role == "button" {
						c.Nodes[i].States = []string{"covered"}
					}
				}
			case "hides":
				c.Nodes = nil
			case "counts":
				c.Nodes = []Node{{More: len(c.Nodes) + 1, Name: "inert"}}
			case "menu":
				c.Nodes = []Node{{More: len(c.Nodes) + 1, Name: behindOpen}}
			}
			c.Nodes = append([]Node{{Key: Key{1, 100 + step}, Role: "dialog", States: []string{"modal"}}, {Depth: 1, Role: RoleText, Name: "in it"}}, c.Nodes...)
			_, cur := Render(c, o, refs)
			var d Delta
			d, shown = Diff(shown, cur, o, refs)
			if _, err := parse(d.Text); err != nil {
				t.Fatalf("%v\n%s", err, d.Text)
			}
		}
		_, cur := Render(draw(t, "last"), o, refs)
		d, now := Diff(shown, cur, o, refs)
		if _, err := parse(d.Text); err != nil {
			t.Fatalf("%v\n%s", err, d.Text)
		}
		if diff := cmp.Diff(now.lines, cur.lines, cmp.AllowUnexported(shownLine{})); diff != "" {
			t.Fatalf("the client has, before the page\n%s", diff)
		}
		if again, _ := Diff(now, cur, o, refs); again.Text != "" {
			t.Fatalf("told twice\n%s", again.Text)
		}
	})
}
