package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

// twenty characters, two texts by turns, so that each one changes the field.
var texts = []string{"twenty characters ok", "another twenty, fine"}

// find opens a page and finds what the case acts on.
func find(url, role, name string) func(context.Context, *member) error {
	return func(ctx context.Context, m *member) error {
		if err := m.d.Open(ctx, url); err != nil {
			return err
		}
		s, err := m.d.Snapshot(ctx, driver.Default)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(s.Nodes, func(n driver.Node) bool {
			return n.Ref != "" && n.Name == name && (n.Role == role || role == "textbox" && n.Role == "searchbox")
		})
		if i < 0 {
			return fmt.Errorf("no %s %q with a ref", role, name)
		}
		m.ref = s.Nodes[i].Ref
		return nil
	}
}

func click(ctx context.Context, m *member, _ int) error { return m.d.Click(ctx, m.ref) }

func clickAndSee(ctx context.Context, m *member, _ int) error {
	text, err := m.d.ClickAndSee(ctx, m.ref)
	if err == nil && text == "" {
		return errNothing
	}
	return err
}

func (b *suite) actions() error {
	members, stop := b.fleet(b.doors(true))
	defer stop()
	doors := withoutCommandLines(members)
	e := b.effort(40, 2500*time.Millisecond)
	small, large := b.site.shop(30), b.site.shop(1500)
	table := func(names []string, columns ...column) { report(b.out, names, columns) }

	fmt.Fprintf(b.out, "A click that changes one line of text; alone (browserd with `snapshot: none`):\n\n")
	table(namesOf(members),
		column{"30 elements", b.race(members, e, find(small, "button", "Count"), click)},
		column{"1500", b.race(doors, e, find(large, "button", "Count"), click)},
		column{"10000", b.race(doors, e, find(b.site.shop(10_000), "button", "Count"), click)})

	fmt.Fprintf(b.out, "The same and what the page shows then: browserd's delta; the others' default snapshot, with chrome-devtools-mcp in the same call:\n\n")
	table(namesOf(doors),
		column{"30 elements", b.race(doors, e, find(small, "button", "Count"), clickAndSee)},
		column{"1500", b.race(doors, e, find(large, "button", "Count"), clickAndSee)},
		column{"10000", b.race(doors, e, find(b.site.shop(10_000), "button", "Count"), clickAndSee)})

	fmt.Fprintf(b.out, "Twenty characters in place of twenty others; a page opened:\n\n")
	typed := func(ctx context.Context, m *member, i int) error { return m.d.Type(ctx, m.ref, texts[i&1]) }
	opened := func(url string) map[string]figure {
		return b.race(doors, e, open(url), func(ctx context.Context, m *member, _ int) error { return m.d.Open(ctx, url) })
	}
	table(namesOf(doors),
		column{"type, 1500 elements", b.race(doors, e, find(large, "textbox", "Search"), typed)},
		column{"open, 30 elements", opened(small)},
		column{"open, 1500", opened(large)},
		column{"open, 10000", opened(b.site.shop(10_000))})
	return nil
}
