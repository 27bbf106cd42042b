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
	members, stop := b.fleet(b.direct(true))
	defer stop()
	direct := withoutCommandLines(members)
	e := b.effort(40, 1500*time.Millisecond)
	each := func(members []*member, role, name string, op func(context.Context, *member, int) error) (columns []column) {
		for _, n := range b.sizes {
			if n > 10_000 {
				continue
			}
			taking := members
			if n > 30 { // a process that starts is not what grows with the page
				taking = direct
			}
			columns = append(columns, column{fmt.Sprintf("%d elements", n), b.race(taking, e, find(b.site.shop(n), role, name), op)})
		}
		return columns
	}
	fmt.Fprintf(b.out, "A click that changes one line of text; alone (browserd with `snapshot: none`):\n\n")
	report(b.out, namesOf(members), each(members, "button", "Count", click))

	fmt.Fprintf(b.out, "The same and what the page shows then: browserd's delta; pinchtab's default snapshot with marks at what changed; the others' default snapshot, with chrome-devtools-mcp in the same call:\n\n")
	report(b.out, namesOf(direct), each(direct, "button", "Count", clickAndSee))

	fmt.Fprintf(b.out, "A click that changes nothing, and what the page shows then:\n\n")
	report(b.out, namesOf(direct), []column{{"30 elements", b.race(direct, e, find(b.site.URL+"/still", "button", "Still"), func(ctx context.Context, m *member, _ int) error {
		_, err := m.d.ClickAndSee(ctx, m.ref)
		return err
	})}})

	fmt.Fprintf(b.out, "Twenty characters in place of twenty others, browserd with a key event for each, the others without:\n\n")
	report(b.out, namesOf(direct), each(direct, "textbox", "Search", func(ctx context.Context, m *member, i int) error {
		return m.d.Type(ctx, m.ref, texts[i&1])
	}))

	fmt.Fprintf(b.out, "A page opened, from loopback:\n\n")
	var opened []column
	for _, n := range b.sizes {
		if n > 10_000 {
			continue
		}
		url := b.site.shop(n)
		opened = append(opened, column{fmt.Sprintf("%d elements", n), b.race(direct, e, open(url), func(ctx context.Context, m *member, _ int) error {
			return m.d.Open(ctx, url)
		})})
	}
	report(b.out, namesOf(direct), opened)
	return nil
}
