package browser

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/snapshot"
)

var updateWalks = flag.Bool("update-walks", false, "write testdata/walk/*.golden anew")

// TestWalkPages walks each testdata/walk/NAME.html twice, for interactive_only and
// whole, and compares the lines with NAME.golden.
func TestWalkPages(t *testing.T) {
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
			p.ask("__bd.mark(...document.querySelectorAll('[data-listens]')), ''")
			o := snapshot.DefaultOptions()
			got := dumpWalk(p.walk(newWalkOptions(o)))
			o.InteractiveOnly = false
			got += "\n==== whole ====\n" + dumpWalk(p.walk(newWalkOptions(o)))

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
func dumpWalk(w walked) string {
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

// TestWalkNames plays the role and name cases, with Chromium's own names and with
// the script's.
func TestWalkNames(t *testing.T) {
	raw, err := os.ReadFile("../../shared/cases/accname.json")
	if err != nil {
		t.Skip("the shared cases are not beside this checkout: ", err)
	}
	var cases []nameCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	cases = slices.DeleteFunc(cases, func(c nameCase) bool { return !c.Agrees || c.Role == "none" || c.Role == "generic" })
	p := openTestPage(t, "<!doctype html><meta charset=utf-8><body>")
	for _, computed := range []bool{true, false} {
		t.Run(fmt.Sprintf("computed=%t", computed), func(t *testing.T) {
			o := newWalkOptions(snapshot.DefaultOptions())
			o.Interactive, o.Computed, o.MaxChars, o.MaxNodes = false, computed, 1<<20, 1<<20
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
		})
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
