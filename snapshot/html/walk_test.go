package html

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/snapshottext"
	"github.com/browserd/browserd/snapshot"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// TestPages reads each page as a digest and whole, and compares with NAME.golden.
func TestPages(t *testing.T) {
	own, _ := filepath.Glob("testdata/*.html")
	if len(own) == 0 {
		t.Fatal("no pages")
	}
	for _, file := range own {
		name := strings.TrimSuffix(filepath.Base(file), ".html")
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, digest := range []bool{true, false} {
				o := snapshot.DefaultOptions()
				o.InteractiveOnly = digest
				if !digest {
					got += "\n==== whole ====\n"
				}
				s, _, err := snapshotOf(string(raw), o)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := snapshottext.Parse(s.Text, snapshot.Quote); err != nil {
					t.Fatal(err)
				}
				got += s.Text + "\n"
			}
			golden := filepath.Join("testdata", name+".golden")
			if *update {
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

// dump writes nodes as browser's tests do.
func dump(c snapshot.Capture) string {
	var b strings.Builder
	for _, n := range c.Nodes {
		b.WriteString(strings.Repeat("  ", n.Depth))
		if n.Role == snapshot.RoleText && n.Key.Node == 0 {
			fmt.Fprintf(&b, "text %q\n", n.Name)
			continue
		}
		fmt.Fprintf(&b, "[%s", n.Role)
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
	return b.String()
}
