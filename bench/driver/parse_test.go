package driver

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

var parsers = map[string]parser{
	"browserd":            parseBrowserd,
	"browserd-whole":      parseBrowserd,
	"agent-browser":       parseAgentBrowser,
	"agent-browser-whole": parseAgentBrowser,
	"playwright-mcp":      parsePlaywright,
	"chrome-devtools-mcp": parseDevtools,
	"pinchtab":            parsePinchtab,
	"pinchtab-whole":      parsePinchtab,
}

// What each tool wrote of one page, as it was read.
func TestParsers(t *testing.T) {
	for name, parse := range parsers {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			nodes, err := parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".nodes")
			got := written(nodes)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// written is one line for each node: what is empty is left out.
func written(nodes []Node) string {
	var b strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&b, "%s%s %s", strings.Repeat("  ", n.Depth), n.Role, n.Ref)
		if n.Name != "" {
			fmt.Fprintf(&b, " name=%q", n.Name)
		}
		if n.Value != "" {
			fmt.Fprintf(&b, " value=%q", n.Value)
		}
		if len(n.States) > 0 {
			fmt.Fprintf(&b, " %v", n.States)
		}
		if len(n.Attrs) > 0 {
			fmt.Fprintf(&b, " %v", n.Attrs) // fmt prints maps in the order of their keys
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// What is not written as the tool writes is an error and no node less.
func TestParsersRefuse(t *testing.T) {
	for name, parse := range parsers {
		for _, text := range []string{"* no line of any", "uid=", "- [", "uid=1_1 button \"x\" WRONG"} {
			nodes, err := parse(text)
			if err == nil && len(nodes) > 0 {
				t.Errorf("%s reads %q as %+v", name, text, nodes)
			}
		}
	}
}

func TestYAMLPair(t *testing.T) {
	for _, c := range []struct{ item, key, value string }{
		{`text: a: b`, "text", "a: b"},
		{`'button "It''s: on" [ref=e1]'`, `button "It's: on" [ref=e1]`, ""},
		{`'button "a: b"': "c: \"d\""`, `button "a: b"`, `c: "d"`},
		{`button "x: y" [ref=e2]:`, `button "x: y" [ref=e2]`, ""},
		{`link "a\"b: c": d`, `link "a\"b: c"`, "d"},
		{`/url: http://h/x`, "/url", "http://h/x"},
		{`text: 'it''s'`, "text", "it's"},
	} {
		if key, value := yamlPair(c.item); key != c.key || value != c.value {
			t.Errorf("%s: %q, %q; want %q, %q", c.item, key, value, c.key, c.value)
		}
	}
}
