package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

func (b *suite) effort(most int, budget time.Duration) effort {
	if b.quick {
		return effort{most: max(least, most/5), budget: budget / 5}
	}
	return effort{most: most, budget: budget}
}

// open is the prepare of cases that begin on a page.
func open(url string) func(context.Context, *member) error {
	return func(ctx context.Context, m *member) error { return m.d.Open(ctx, url) }
}

// snapshotOf is the op of snapshot cases.
func snapshotOf(kind driver.Kind) func(context.Context, *member, int) error {
	return func(ctx context.Context, m *member, _ int) error {
		text, err := m.d.Text(ctx, kind)
		if err == nil && text == "" {
			return errNothing
		}
		return err
	}
}

// only are the members with one of these prefixes.
func only(members []*member, prefixes ...string) []*member {
	var list []*member
	for _, m := range members {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(m.name, p) }) {
			list = append(list, m)
		}
	}
	return list
}

func (b *suite) snapshots() error {
	members, stop := b.fleet(b.direct(true))
	defer stop()
	if d, err := startBaseline(b.ctx, b.o.Chromium); err != nil {
		fmt.Fprintf(b.out, "Missing: the baseline: %s\n\n", oneLine(err.Error()))
	} else {
		defer d.Close()
		members = append(members, &member{name: baselineName, d: d, meter: driver.NewMeter(d)})
	}
	direct := withoutCommandLines(members)
	e := b.effort(40, 2*time.Second)
	var defaults, wholes []column
	for _, n := range b.sizes {
		taking := members
		switch {
		case n > 10_000: // minutes with some peers: browserd is compared with itself
			taking = only(direct, reference)
		case n > 1500: // a process that starts is not what grows with the page
			taking = direct
		}
		defaults = append(defaults, column{fmt.Sprintf("%d elements", n), b.race(taking, e, open(b.site.shop(n)), snapshotOf(driver.Default))})
	}
	fmt.Fprintf(b.out, "What an agent is told to use: browserd's default budgets, `snapshot -i` of agent-browser, `snap` of pinchtab, the only snapshot of the others. The baseline is no tool: a daemon that asks Chromium once, for the number 1.\n\n")
	report(b.out, namesOf(members), defaults)
	b.flat(defaults)
	for i, n := range b.sizes {
		if n > 10_000 {
			continue
		}
		costs := b.race(only(direct, "browserd", "agent-browser", "pinchtab", baselineName), e, open(b.site.shop(n)), snapshotOf(driver.Whole))
		// The others have one snapshot: it was timed just now.
		for _, m := range direct {
			if _, ran := costs[m.name]; !ran {
				costs[m.name] = defaults[i].costs[m.name]
			}
		}
		wholes = append(wholes, column{fmt.Sprintf("%d elements", n), costs})
	}
	fmt.Fprintf(b.out, "The whole page: browserd with `interactive_only: false` and without budgets, `snapshot` of agent-browser, pinchtab's text format without a filter, the others' figures again. The baseline walks the page here, asks each element for tag, display, visibility, the width of its box, attributes and text, and works nothing out.\n\n")
	report(b.out, namesOf(direct), wholes)
	b.changed(direct, e)
	return nil
}

// restyle changes what a page looks like, by a class of its body that no rule is for but
// one that it adds: styles are worked out anew.
const restyle = `(() => {
  if (!document.getElementById('restyle')) document.head.insertAdjacentHTML('beforeend', '<style id=restyle>.restyle h1 { color: red }</style>');
  document.body.classList.toggle('restyle');
  return 1;
})()`

// changed is the snapshots of a page that is another each time, as after an action.
func (b *suite) changed(direct []*member, e effort) {
	e.between = func(ctx context.Context, m *member) error {
		_, err := m.d.Eval(ctx, restyle)
		return err
	}
	tools := slices.DeleteFunc(slices.Clone(direct), func(m *member) bool { return m.name == baselineName })
	var columns []column
	for _, n := range b.sizes {
		if n > 10_000 {
			continue
		}
		costs := b.race(tools, e, open(b.site.shop(n)), snapshotOf(driver.Default))
		columns = append(columns, column{fmt.Sprintf("%d elements, default", n), costs})
		whole := b.race(only(tools, "browserd", "agent-browser", "pinchtab"), e, open(b.site.shop(n)), snapshotOf(driver.Whole))
		for name, f := range costs {
			if _, ran := whole[name]; !ran {
				whole[name] = f
			}
		}
		columns = append(columns, column{"the whole page", whole})
	}
	fmt.Fprintf(b.out, "Both, of a page whose styles have changed since the last (a class of its body, by an untimed `eval`).\n\n")
	report(b.out, namesOf(tools), columns)
}

// flat says what the largest page costs over one of 1,500 elements.
func (b *suite) flat(columns []column) {
	i, last := slices.Index(b.sizes, 1500), len(b.sizes)-1
	if i < 0 || i == last {
		return
	}
	if huge, large := columns[last].costs[reference], columns[i].costs[reference]; large.p50 > 0 && large.cpu > 0 {
		fmt.Fprintf(b.out, "browserd at %d elements over browserd at 1500: waited %.2f, processor %.2f.\n\n", b.sizes[last],
			float64(huge.p50)/float64(large.p50), float64(huge.cpu)/float64(large.cpu))
	}
}

func withoutCommandLines(members []*member) []*member {
	return slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return strings.Contains(m.name, "command line") })
}

func (b *suite) otherPages() error {
	members, stop := b.fleet(b.direct(false))
	defer stop()
	e := b.effort(30, time.Second)
	names, urls := b.site.others()
	var columns []column
	for _, name := range names {
		columns = append(columns, column{name, b.race(members, e, open(urls[name]), snapshotOf(driver.Default))})
	}
	report(b.out, namesOf(members), columns)
	return nil
}
