package snapshot

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/browserd/browserd/snapshot/pagetext"
)

// page makes a capture of short words: "b3 Save" a button with node 3 and the
// name Save, "  t words" a text at depth 1, "d4 Open" a modal dialog, "more 12" a
// [more] line.
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

// body returns the text of the lines, as pagetext has it.
func (s Baseline) body() string {
	var lines []string
	for _, l := range s.lines {
		lines = append(lines, l.text)
	}
	if s.more != "" {
		lines = append(lines, s.more)
	}
	return strings.Join(lines, "\n")
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// holder is a client that applies every delta, and the daemon that sends them.
type holder struct {
	t     fataler
	o     Options
	refs  *Refs
	shown Baseline
	held  pagetext.PageText
	sent  func(kind, text, held string) // may be nil
}

func newHolder(t fataler, o Options) *holder { return &holder{t: t, o: o, refs: NewRefs()} }

// sees sends the client what changed, checks that it then holds the page, and returns the
// delta; ok is false if it was sent the snapshot.
func (h *holder) sees(c Capture) (d Delta, ok bool) {
	h.t.Helper()
	before := h.held.Text()
	snap, cur := Render(c, h.o, h.refs)
	d, now, ok := Diff(h.shown, cur, h.o)
	kind, text := "delta", d.Text
	if ok {
		if n := utf8.RuneCountInString(d.Text); n > snap.Stats.Chars || n > max(h.o.MaxChars, 0) || n != d.Stats.Chars {
			h.t.Fatalf("%d characters in the delta, stats say %d, the snapshot has %d:\n%s", n, d.Stats.Chars, snap.Stats.Chars, d.Text)
		}
		if err := h.held.Delta(d.Text); err != nil {
			h.t.Fatalf("%v: the delta\n%s\nto\n%s\nof\n%s", err, d.Text, before, cur.body())
		}
		h.shown = now
	} else {
		h.held.Snapshot(snap.Text)
		h.shown, kind, text = cur, "snapshot", snap.Text
	}
	if diff := cmp.Diff(cur.body(), h.held.Text()); diff != "" {
		h.t.Fatalf("the page before what the client holds\n%s\nafter the %s\n%s\nto\n%s", diff, kind, text, before)
	}
	if h.sent != nil {
		h.sent(kind, text, h.held.Text())
	}
	if again, _, _ := Diff(h.shown, cur, h.o); again.Text != "" || again.Changes != 0 {
		h.t.Fatalf("told again: %s", again.Text)
	}
	return d, ok
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
			"+ @e2 [button] \"Save\"\n- @e1 [button] \"Save\""},
		{"a name that holds brackets, and none", []string{`b1 ] "x" [`, "b2 "}, nil,
			"- @e1 [button] \"] \\\"x\\\" [\"\n- @e2 [button]"},
		{"a row in the middle", []string{"b1 A", "b2 B"}, []string{"b1 A", "  b3 New", "    t new", "b2 B"},
			"  @e1 [button] \"A\"\n+   @e3 [button] \"New\"\n+     text \"new\""},
		{"a row at the end of a list", []string{"b1 List", "  b2 B", "b3 C"}, []string{"b1 List", "  b2 B", "  b4 New", "b3 C"},
			"  @e1 [button] \"List\"\n    @e2 [button] \"B\"\n+   @e4 [button] \"New\""},
		{"a text replaced between others", []string{"t one", "t two", "t three"}, []string{"t one", "t 2", "t three"},
			"  text \"one\"\n+ text \"2\"\n- text \"two\""},
		{"the same text twice, the first goes", []string{"t x", "b1 A", "t x"}, []string{"b1 A", "t x"},
			"- text \"x\""},
		{"the same text twice, the second goes", []string{"t x", "b1 A", "t x"}, []string{"t x", "b1 A"},
			"  @e1 [button] \"A\"\n- text \"x\""},
		{"behind the third of the same texts", []string{"t x", "t x", "t x", "t x"}, []string{"t x", "t x", "t x", "b1 New", "t x"},
			"  text \"x\"\n  text \"x\"\n  text \"x\"\n+ @e1 [button] \"New\""},
		{"a text goes to the other side of a ref", []string{"t x", "b1 A"}, []string{"b1 A", "t x"},
			"  @e1 [button] \"A\"\n+ text \"x\"\n- text \"x\""},
		{"moved to the front", []string{"b1 A", "b2 B", "b3 C"}, []string{"b3 C", "b1 A", "b2 B"},
			"> @e3 [button] \"C\""},
		{"moved to another list, with what is below", []string{"b1 Todo", "  b2 Item", "    t milk", "    b3 Delete", "b4 Done", "  b5 Old", "  b6 Older"},
			[]string{"b1 Todo", "b4 Done", "  b5 Old", "  b6 Older", "  b2 Item", "    t milk", "    b3 Delete"},
			"  @e4 [button] \"Done\"\n    @e6 [button] \"Older\"\n>   @e2 [button] \"Item\" with 2 lines below"},
		{"moved and deeper", []string{"b1 A", "  t a", "b2 B", "  b3 C"}, []string{"b2 B", "  b3 C", "    b1 A", "      t a"},
			"    @e3 [button] \"C\"\n>     @e1 [button] \"A\" with 1 lines below"},
		{"deeper", []string{"b1 A"}, []string{"    b1 A"},
			"~     @e1 [button] \"A\""},
		{"a run goes", []string{"b1 A", "b2 B", "  t b", "b3 C", "t end"}, []string{"b1 A", "t end"},
			"- @e2 to @e3, 3 lines"},
		{"many are covered", []string{"b1 A", "b2 B", "t x", "b3 C", "b4 D", "b5 E"},
			[]string{"b1 A covered", "b2 B covered", "t x", "b3 C", "b4 D covered", "b5 E covered"},
			"~ covered: @e1 to @e2, @e4 to @e5"},
		{"many are covered no longer", []string{"b1 A covered", "b2 B covered", "t x", "b3 C covered"},
			[]string{"b1 A", "b2 B", "t x", "b3 C"},
			"~ not covered: @e1 to @e3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := DefaultOptions()
			o.MaxChars = 12000
			h := newHolder(t, o)
			var snap Snapshot
			snap, h.shown = Render(page(test.prev...), o, h.refs)
			h.held.Snapshot(snap.Text)
			if got, ok := h.sees(page(test.cur...)); got.Text != test.want || !ok {
				t.Errorf("got %v\n%s\nwant\n%s", ok, got.Text, test.want)
			}
		})
	}
}

func TestDiffStats(t *testing.T) {
	o, refs := DefaultOptions(), NewRefs()
	_, prev := Render(page("b1 A", "b2 B", "t x"), o, refs)
	_, cur := Render(page("b1 A!", "b3 C", "t y"), o, refs)
	got, _, ok := Diff(prev, cur, o)
	want := Stats{InputNodes: 3, NodesVisited: 3, NodesEmitted: 2, Chars: utf8.RuneCountInString(got.Text), Reasons: []string{}}
	if diff := cmp.Diff(got.Stats, want); diff != "" || !ok {
		t.Errorf("got before want\n%s", diff)
	}
}

// A page whose lines do not fit has a [more] line at its end, which a delta replaces.
func TestDiffOfSnapshotsThatStop(t *testing.T) {
	o := DefaultOptions()
	o.MaxNodes = 4
	h := newHolder(t, o)
	h.sees(page("b1 A", "b2 B", "b3 C", "b4 D", "b5 E"))
	for _, test := range []struct {
		page []string
		want string
	}{
		{[]string{"b6 New", "b1 A", "b3 C", "b7 Newer", "b4 D", "b5 E"},
			"+ @e5 [button] \"New\"\n  @e3 [button] \"C\"\n+ @e6 [button] \"Newer\"\n- @e2 [button] \"B\"\n- @e4 [button] \"D\"\n[more] 2 nodes not shown; continue with after=@e6"},
		{[]string{"b6 New", "b1 A", "b3 C", "b7 Newer"}, "- [more]"},
		{[]string{"b6 New", "b1 A", "b3 C", "b7 Newer", "b4 D"}, "[more] 1 nodes not shown; continue with after=@e6"},
	} {
		if got, ok := h.sees(page(test.page...)); got.Text != test.want || !ok {
			t.Errorf("got %v\n%s\nwant\n%s", ok, got.Text, test.want)
		}
	}
}

// A delta that does not fit into max_chars, or is longer than the page, is not sent.
func TestDiffIsNeverLongerThanThePage(t *testing.T) {
	o, refs := DefaultOptions(), NewRefs()
	var before, after []string
	for i := range 20 {
		before = append(before, fmt.Sprintf("t Save row %d", i+1))
		after = append(after, fmt.Sprintf("t Delete row %d", i+1))
	}
	snap, prev := Render(page(before...), o, refs)
	_, cur := Render(page(after...), o, refs)
	if d, _, ok := Diff(prev, cur, o); ok {
		t.Errorf("sent for a page of %d characters:\n%s", cur.chars, d.Text)
	}
	_, cur = Render(page(before[1:]...), o, refs)
	d, _, ok := Diff(prev, cur, o)
	if !ok || d.Text == "" || d.Stats.Chars >= snap.Stats.Chars {
		t.Fatalf("%v:\n%s", ok, d.Text)
	}
	o.MaxChars = d.Stats.Chars
	if _, _, ok := Diff(prev, cur, o); !ok {
		t.Error("not sent within exactly its characters")
	}
	o.MaxChars--
	if _, _, ok := Diff(prev, cur, o); ok {
		t.Error("sent within fewer characters than it has")
	}
}

// draw makes a page of few nodes and fewer texts, so that two of them share some.
func draw(t *rapid.T, label string) Capture {
	nodes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Node {
		n := Node{Depth: rapid.IntRange(0, 3).Draw(t, "depth"), Role: RoleText, Name: rapid.SampledFrom([]string{"a", "b", "c", `@e1 [button] "a"`}).Draw(t, "name")}
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			n.More = rapid.IntRange(1, 3).Draw(t, "more")
		case 1, 2, 3, 4:
			n.Role, n.Key = "button", Key{1, rapid.IntRange(1, 30).Draw(t, "node")}
			n.States = rapid.SampledFrom([][]string{nil, nil, {"disabled"}, {"covered"}, {"disabled", "covered", "offscreen"}, {"offscreen"}}).Draw(t, "states")
			if rapid.IntRange(0, 3).Draw(t, "attrs") == 0 {
				n.Attrs = []Attr{{"href", "/ covered ]", false}, {"level", "1", true}}
				n.Value = ` covered "] `
			}
		}
		return n
	}), 0, 40).Draw(t, label)
	return Capture{URL: "u", Nodes: nodes}
}

// step changes a page as pages do: lines are added, removed, renamed, moved, sorted,
// covered, hidden and shown again.
func step(t *rapid.T, nodes, first []Node, key *int) []Node {
	nodes = slices.Clone(nodes)
	n := len(nodes)
	from := rapid.IntRange(0, n).Draw(t, "from")
	to := rapid.IntRange(from, min(n, from+8)).Draw(t, "to")
	switch rapid.SampledFrom([]string{"add", "remove", "rename", "move", "sort", "cover", "uncover", "hide", "back", "deeper", "redraw"}).Draw(t, "change") {
	case "add":
		*key++
		nodes = slices.Insert(nodes, from, Node{Depth: from % 3, Role: "button", Key: Key{1, *key}, Name: "New"}, Node{Depth: from % 4, Role: RoleText, Name: "a"})
	case "remove":
		nodes = slices.Delete(nodes, from, to)
	case "rename":
		for i := from; i < to; i++ {
			nodes[i].Name += "'"
		}
	case "move":
		lines := slices.Clone(nodes[from:to])
		nodes = slices.Delete(nodes, from, to)
		nodes = slices.Insert(nodes, rapid.IntRange(0, len(nodes)).Draw(t, "place"), lines...)
	case "sort":
		slices.Reverse(nodes[from:to])
	case "cover", "uncover":
		for i := range nodes {
			nodes[i].States = nil
			if from%2 == 0 {
				nodes[i].States = []string{"covered"}
			}
		}
	case "hide":
		*key++
		nodes = []Node{{Key: Key{1, *key}, Role: "dialog", States: []string{"modal"}}, {More: n + 1, Name: "behind what is open"}}
	case "back":
		nodes = first
	case "deeper":
		for i := from; i < to; i++ {
			nodes[i].Depth++
		}
	case "redraw":
		for i := from; i < to; i++ {
			if nodes[i].Key != (Key{}) {
				*key++
				nodes[i].Key.Node = *key
			}
		}
	}
	return nodes
}

// Whatever happens to a page, a client that applies every delta holds it.
func TestAppliedDeltasMatchThePage(t *testing.T) {
	checks, deltas := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		checks++
		o := DefaultOptions()
		o.MaxChars = rapid.SampledFrom([]int{0, 100, 300, 700, 100000}).Draw(t, "max_chars")
		o.MaxNodes = rapid.SampledFrom([]int{0, 5, 200}).Draw(t, "max_nodes")
		h := newHolder(t, o)
		key := 100
		c := draw(t, "first")
		first := c.Nodes
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if d, ok := h.sees(c); ok && d.Text != "" {
				deltas++
			}
			c.Nodes = step(t, c.Nodes, first, &key)
		}
		h.sees(c)
		h.sees(draw(t, "another"))
	})
	if deltas < checks/2 { // rapid makes fewer checks with -short
		t.Errorf("only %d deltas were applied in %d checks", deltas, checks)
	}
}

// The deltas of a walk from a fixed seed, for clients in other languages.
func TestDeltasForOtherLanguages(t *testing.T) {
	type sent struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
		Held string `json:"held"`
	}
	var list []sent
	walk := rapid.Custom(func(t *rapid.T) bool {
		o := DefaultOptions()
		o.MaxNodes = rapid.SampledFrom([]int{10, 200}).Draw(t, "max_nodes")
		h := newHolder(t, o)
		h.sent = func(kind, text, held string) { list = append(list, sent{kind, text, held}) }
		c, key := draw(t, "first"), 100
		snap, cur := Render(c, h.o, h.refs)
		h.held.Snapshot(snap.Text)
		h.shown = cur
		h.sent("snapshot", snap.Text, h.held.Text())
		first := c.Nodes
		for range 12 {
			c.Nodes = step(t, c.Nodes, first, &key)
			h.sees(c)
		}
		return true
	})
	for seed := range 30 {
		walk.Example(seed)
	}
	o := DefaultOptions()
	o.MaxNodes = 30
	h := newHolder(t, o)
	h.sent = func(kind, text, held string) { list = append(list, sent{kind, text, held}) }
	snap, cur := Render(grid(20, 1), o, h.refs)
	h.held.Snapshot(snap.Text)
	h.shown = cur
	h.sent("snapshot", snap.Text, h.held.Text())
	for _, rows := range []int{20, 5, 5, 8} {
		h.sees(grid(rows, 1+2*(rows%3)))
		h.sees(grid(rows, 3))
	}
	got, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	const file = "pagetext/testdata/deltas.json"
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != string(got)+"\n" {
		t.Errorf("%s is not what is sent (%v); run go test ./snapshot -run %s -update", file, err, t.Name())
	}
	for _, mark := range []string{"\n[more] ", "\n- [more]", "\n+ @e", "\n> ", " lines below", "~ covered: ", "~ not covered: "} {
		if !slices.ContainsFunc(list, func(s sent) bool { return s.Kind == "delta" && strings.Contains("\n"+s.Text, mark) }) {
			t.Errorf("no delta has %q", mark)
		}
	}
}

// grid is a table of n rows with five cells each, sorted by step.
func grid(n, step int) Capture {
	c := page("b1 Table")
	for i := range n {
		row := i * step % n
		c.Nodes = append(c.Nodes, page(fmt.Sprintf("  b%d Order %d", 10+5*row, row), fmt.Sprintf("    b%d INV-%04d", 11+5*row, row),
			"    t Paid", fmt.Sprintf("    t Customer with a name %d", row*7%n), fmt.Sprintf("    b%d Edit", 12+5*row), fmt.Sprintf("    b%d Delete", 13+5*row)).Nodes...)
	}
	return c
}

// Sorting a grid moves its rows, and says nothing of their cells.
func TestDiffOfASortedGrid(t *testing.T) {
	h := newHolder(t, whole())
	h.sees(grid(20, 1))
	d, ok := h.sees(grid(20, 3))
	t.Logf("%d characters for a page of %d", d.Stats.Chars, h.shown.chars)
	if rows := strings.Count(d.Text, "\n> ") + strings.Count(d.Text, " with 5 lines below"); !ok || rows < 20 || d.Stats.Chars > h.shown.chars/2 {
		t.Errorf("%v, %d characters for a page of %d:\n%s", ok, d.Stats.Chars, h.shown.chars, d.Text)
	}
}

// Large lists of texts: no quadratic table, and like lines still found.
func TestDiffLarge(t *testing.T) {
	o := DefaultOptions()
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
	h := newHolder(t, o)
	h.sees(page(before...))
	got, _ := h.sees(page(after...))
	marks := map[string]int{}
	for row := range strings.Lines(got.Text) {
		marks[row[:1]]++
	}
	if diff := cmp.Diff(marks, map[string]int{"+": 200, "-": 200, " ": 200}); diff != "" {
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

// What a dialog or a menu hides goes in one line, and comes back in one.
func TestDiffBehindDialogs(t *testing.T) {
	rows := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("b%d Row %d", i+1, i+1))
		}
		return list
	}
	h := newHolder(t, DefaultOptions())
	h.sees(page(rows(12)...))
	changed := rows(12)
	changed[4] = "b5 Other"
	for _, test := range []struct {
		page []string
		want string
	}{
		{[]string{"d90 Rename", "  b91 Save", "more 12"}, "+ @e13 [dialog modal] \"Rename\"\n+   @e14 [button] \"Save\"\n+ [more] 12 nodes not shown here: \"inert\"\n- @e1 to @e12, 12 lines"},
		{[]string{"b93 Small", "more 14"}, "+ @e15 [button] \"Small\"\n+ [more] 14 nodes not shown here: \"inert\"\n- @e13 to @e14, 3 lines"},
		{[]string{"d90 Rename", "  b91 Save", "more 12"}, "+ @e13 to @e14, 3 lines\n- @e15 [button] \"Small\"\n- [more] 14 nodes not shown here: \"inert\""},
		{changed, "+ @e1 to @e4, 4 lines\n+ @e5 [button] \"Other\"\n+ @e6 to @e12, 7 lines\n- @e13 to @e14, 3 lines"},
	} {
		if got, ok := h.sees(page(test.page...)); got.Text != test.want || !ok {
			t.Errorf("got %v\n%s\nwant\n%s", ok, got.Text, test.want)
		}
	}
}

// What can be put back is limited: what is older is written out.
func TestDiffKeepsSoManyRemovedLines(t *testing.T) {
	var list []string
	for i := range maxRemoved - 1 {
		list = append(list, fmt.Sprint("b", i+1, " Row"))
	}
	o := whole()
	h := newHolder(t, o)
	h.sees(page(append([]string{"b9001 A", "b9002 B", "b9003 C"}, list...)...))
	h.sees(page(list...))
	if d, _ := h.sees(page("b9005 End")); d.Text == "" || len(h.shown.removed) > 1 {
		t.Errorf("%d runs are kept after\n%s", len(h.shown.removed), d.Text)
	}
	h.sees(page("b9001 A", "b9002 B", "b9003 C"))
}
