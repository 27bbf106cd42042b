package browser

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/snapshot"
)

var updateWalks = flag.Bool("update-walks", false, "write testdata/walk/*.golden anew")

// TestWalkPages walks each testdata/walk/NAME.html twice, for interactive_only and
// whole, and compares the lines with NAME.golden.
func TestWalkPages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/walk/*.html")
	if err != nil || len(files) == 0 {
		t.Fatal("no pages", err)
	}
	p := launchTestPage(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".html"), func(t *testing.T) {
			html, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p.load(string(html))
			p.ask("__bd.addListeners(...document.querySelectorAll('[data-listens]')), ''")
			o := snapshot.DefaultOptions()
			got := dumpWalk(p.walk(walk.NewOptions(o)))
			o.InteractiveOnly = false
			got += "\n==== whole ====\n" + dumpWalk(p.walk(walk.NewOptions(o)))

			golden := strings.TrimSuffix(file, ".html") + ".golden"
			if *updateWalks {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(got, string(want)); d != "" {
				t.Errorf("got - want +\n%s", d)
			}
		})
	}
}

// dumpWalk writes nodes one a line, for people.
func dumpWalk(w walk.Result) string {
	var b strings.Builder
	frames := func(i int) {
		for _, f := range w.Frames {
			if f.Index == i {
				fmt.Fprintf(&b, "%s<frame of %d>\n", strings.Repeat("  ", f.Depth), f.Owner)
			}
		}
	}
	for i, n := range w.Nodes {
		frames(i)
		b.WriteString(strings.Repeat("  ", n.Depth))
		switch {
		case n.More > 0:
			fmt.Fprintf(&b, "[more] %d %q\n", n.More, n.Name)
		case n.Role == snapshot.RoleText:
			fmt.Fprintf(&b, "text %q\n", n.Name)
		default:
			fmt.Fprintf(&b, "%d [%s", n.Key.Node, n.Role)
			for _, a := range n.Attrs {
				if a.Bare {
					fmt.Fprintf(&b, " %s=%s", a.Key, a.Value)
				} else {
					fmt.Fprintf(&b, " %s=%q", a.Key, a.Value)
				}
			}
			for _, s := range n.States {
				b.WriteString(" " + s)
			}
			if n.Value != "" {
				fmt.Fprintf(&b, " value=%q", n.Value)
			}
			b.WriteString("]")
			if n.Name != "" {
				fmt.Fprintf(&b, " %q", n.Name)
			}
			b.WriteString("\n")
		}
	}
	frames(len(w.Nodes))
	if w.Rest > 0 || len(w.Reasons) > 0 {
		fmt.Fprintf(&b, "rest %d %v\n", w.Rest, w.Reasons)
	}
	return b.String()
}

// nameCase is one case of accname.json.
type nameCase struct {
	ID, HTML, Role string
	Expect         struct{ Name *string }
	Agrees         bool `json:"chromium_agrees"`
	AnyRole        bool `json:"any_role"`
}

// TestWalkNames plays the role and name cases in which Chromium says what they do.
func TestWalkNames(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../shared/cases/accname.json")
	if err != nil {
		untested.Skip(t, "the shared cases are not beside this checkout: %v", err)
	}
	var cases []nameCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	cases = slices.DeleteFunc(cases, func(c nameCase) bool { return !c.Agrees || c.Role == "none" || c.Role == "generic" })
	p := openTestPage(t, "<!doctype html><meta charset=utf-8><body>")
	o := walk.NewOptions(snapshot.DefaultOptions())
	o.Interactive, o.MaxChars, o.MaxNodes = false, 1<<20, 1<<20
	misses := 0
	for _, c := range cases {
		html, _ := json.Marshal(c.HTML)
		p.run("document.body.innerHTML = " + string(html))
		w := p.walk(o)
		if !hasNamed(w.Nodes, c) {
			misses++
			t.Logf("%s: no %s %q in\n%s\nof %s", c.ID, c.Role, c.name(), dumpWalk(w), c.HTML)
		}
	}
	t.Logf("%d of %d cases", len(cases)-misses, len(cases))
	if misses*200 > len(cases) { // 99.5 %
		t.Errorf("%d of %d cases missed", misses, len(cases))
	}
}

func (c nameCase) name() string {
	if c.Expect.Name == nil {
		return "(any)"
	}
	return *c.Expect.Name
}

func hasNamed(nodes []snapshot.Node, c nameCase) bool {
	fold := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return slices.ContainsFunc(nodes, func(n snapshot.Node) bool {
		if n.Role == snapshot.RoleText || n.Role == "generic" || !c.AnyRole && n.Role != c.Role {
			return false
		}
		return c.Expect.Name == nil || fold(n.Name) == fold(*c.Expect.Name)
	})
}

// Items that stand in nothing that they could be items of, and some that do.
const items = `<main><p role=listitem>1</p></main><div role=none><div role=treeitem>2</div></div><div role=option tabindex=0>3</div>
<div role=listbox><div role=option>4</div><div><span><b role=option>5</b></span></div><div role=group><div role=option>6</div></div>
<ul role=none><li role=option>7</ul><ul><li role=option>8</ul><section><div role=option>9</div></section></div>
<div role=menu><div role=option>10</div></div><div role=treegrid><div role=treeitem>11</div></div>
<div role=tree><ul role=group><li role=treeitem>12<div role=treeitem>13</div></ul><ul><li role=treeitem>14</ul></div>
<div role=group><div role=listitem>15</div></div><fieldset><div role=listitem>16</div></fieldset>
<ol><div role=listitem>17</div></ol><div role=list><x-y><div role=listitem>18<div role=listitem>19</div></div></x-y></div>
<div role=directory><div role=listitem>20</div></div><div role=feed><div role=listitem>21</div></div>
<div role=listbox aria-owns=ow></div><div id=ow role=option>22</div><li role=treeitem>23</li><li role=listitem>24</li>
<button role=option>25</button><a href=x role=treeitem>26</a><h2 role=listitem>27</h2><div role="option button">28</div>
<div role=treeitem>29<div role=treeitem>30</div></div><div role=list aria-hidden=true><div role=listitem>31</div></div>
<dl><dd role=listitem>32</dl><div role=combobox><div role=option>33</div></div><form role=tree><i role=treeitem>34</i></form>
<ul role=none><div role=listitem>35</div></ul><div role=option inert>36</div><div role=listbox inert><div role=option>37</div></div>`

// TestItemsWithoutAList compares the roles of items with Chromium's.
func TestItemsWithoutAList(t *testing.T) {
	t.Parallel()
	p := openTestPage(t, "<!doctype html>"+items)
	// The roles of what is inert are not Chromium's to say.
	got := p.ask(`[...document.querySelectorAll('[role*=item],[role*=option]')].map((e) => [e.firstChild.data, __bd.roleOf(e), e.computedRole])
		.filter(([, own, theirs]) => own !== theirs && theirs !== 'none').join(' ')`)
	if got != "" {
		t.Errorf("roles unlike Chromium's: number, own, Chromium's: %s", got)
	}
}

// TestDataTables compares with Chromium which tables hold data and which only place things: of every kind of
// mark, border, colour and count that decides it, by chance.
func TestDataTables(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	rare := func(mark string) string { return one("", "", "", "", "", "", "", "", "", "", "", mark) }
	var page strings.Builder
	page.WriteString(`<!doctype html><style>.b td{border:1px solid} .u td{border-bottom:1px solid} .l td{border-left:1px solid} .r td{border-right:1px solid}
.c td{background:#eee} .s tr:nth-child(odd){background:#ddd} .x tr:nth-child(3n){background:#ddd} .n{border-spacing:0} .o{border-spacing:3px 0} .k{border-collapse:collapse} .g{background:#eee} .e{empty-cells:hide}
.h td:first-child{border:1px solid} .p td{padding:9px}</style>`)
	for range 150 {
		fmt.Fprintf(&page, `<table class="%s %s %s %s"%s%s%s%s>%s%s`, one("", "", "b", "u", "l", "r", "h"), one("", "", "c", "s", "x"), one("", "", "n", "o", "k"), one("", "", "", "", "g", "e", "p"),
			rare(" border=1"), rare(" rules=all"), rare(" summary=S"), rare(" contenteditable"), rare("<caption>C</caption>"), rare("<col>"))
		rows, columns := 1+r.IntN(4), 1+r.IntN(4)
		if r.IntN(4) == 0 {
			rows = 18 + r.IntN(4)
		}
		for range rows {
			page.WriteString("<tr>")
			for range columns {
				page.WriteString("<td" + rare(rare(` scope=""`)+rare(" scope=row")+rare(" abbr=a")+rare(" headers=h")) + one(">x", ">x", ">x", ">x", ">", ` style="display:none">x`, ` style="border:1px solid">x`, "><table><tr><td>y</table>"))
			}
		}
		page.WriteString("</table>")
	}
	p := openTestPage(t, page.String())
	p.call("Accessibility.enable", nil, nil) // without it each question to Chromium builds the page's tree
	if got := p.ask(`[...document.querySelectorAll('table')].map((e) => [__bd.roleOf(e), e.computedRole, e.outerHTML.slice(0, 300)])
		.filter(([own, theirs]) => (own === 'table') !== (theirs === 'table')).slice(0, 5).join('\n')`); got != "" {
		t.Errorf("tables unlike Chromium's: own, Chromium's\n%s", got)
	}
}
