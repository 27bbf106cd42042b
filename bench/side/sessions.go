package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

// added are the sessions beside the first that are opened for their time and
// their memory: with it there are ten.
const added = 9

// builds are the Chromiums that sessions are opened in: the one that all are
// pointed at, and the whole one.
func (b *suite) builds() []string {
	if b.full == "" || b.full == b.o.Chromium {
		return []string{b.o.Chromium}
	}
	return []string{b.o.Chromium, b.full}
}

// with is the run with another Chromium.
func (b *suite) with(chromium string) *suite {
	other := *b
	other.o.Chromium = chromium
	return &other
}

func (b *suite) sessions() error {
	for _, chromium := range b.builds() {
		fmt.Fprintf(b.out, "All with %s. A session opened beside others, warm, until it has a page of 30 elements; what nine of them add (without the pages of files, which the tools share), and what the tool itself holds with ten.\n\n", filepath.Base(chromium))
		if err := b.with(chromium).sessionsWith(); err != nil {
			return err
		}
	}
	return nil
}

// grown is a tool with its ten sessions.
type grown struct {
	*member
	others        []driver.Driver
	before, after driver.Memory
	waited        []time.Duration
	cpu           []time.Duration
	err           error
}

func (b *suite) sessionsWith() error {
	members, stop := b.fleet(b.shared())
	defer stop()
	var all []*grown
	for _, m := range members {
		g := &grown{member: m}
		all = append(all, g)
		ctx, cancel := context.WithTimeout(b.ctx, commandTimeout)
		if g.err = m.d.Open(ctx, b.site.shop(30)); g.err == nil {
			_, g.err = m.d.Text(ctx, driver.Default)
		}
		if g.err == nil { // one session is opened and closed: warm
			var one driver.Driver
			if one, g.err = g.add(ctx, b.site.shop(30)); g.err == nil {
				g.err = one.Close()
			}
		}
		cancel()
		g.before = driver.ReadMemory(m.d)
	}
	defer func() {
		for _, g := range all {
			for _, d := range g.others {
				d.Close()
			}
		}
	}()
	for round := range added {
		for i := range all {
			g := all[(i+round)%len(all)]
			if g.err != nil {
				continue
			}
			ctx, cancel := context.WithTimeout(b.ctx, commandTimeout)
			before, began := g.meter.Read(), time.Now()
			var d driver.Driver
			if d, g.err = g.add(ctx, b.site.shop(30)); g.err == nil {
				g.waited = append(g.waited, time.Since(began))
				used := g.meter.Read() - before
				if apart(g.d, d) {
					used += driver.NewAccount(d).Read()
				}
				g.cpu = append(g.cpu, used)
				g.others = append(g.others, d)
			}
			cancel()
		}
	}
	costs := map[string]cost{}
	for _, g := range all {
		g.after = driver.ReadMemory(g.d)
		for _, d := range g.others {
			if apart(g.d, d) {
				m := driver.ReadMemory(d)
				g.after.Tool += m.Tool
				g.after.Chromium += m.Chromium
				g.after.Processes += m.Processes
			}
		}
		costs[g.name] = cost{quantile(g.waited, 0.5), quantile(g.waited, 0.9), quantile(g.cpu, 0.5), len(g.waited), g.err}
	}
	report(b.out, namesOf(members), []column{{"a session with its page", costs}})
	b.memory(all)
	return nil
}

// add opens a session and a page in it.
func (g *grown) add(ctx context.Context, url string) (driver.Driver, error) {
	d, err := g.d.NewSession(ctx)
	if err != nil {
		return nil, err
	}
	return d, d.Open(ctx, url)
}

// apart is whether two sessions live in processes of their own.
func apart(a, b driver.Driver) bool {
	one, other := a.PIDs(), b.PIDs()
	return len(one) > 0 && len(other) > 0 && one[0] != other[0]
}

func (b *suite) memory(all []*grown) {
	fmt.Fprintf(b.out, "| MB | the tool's processes, ten sessions | Chromium, one session | Chromium, for each added session | both, for each added session | processes added by each |\n|---|---|---|---|---|---|\n")
	each := func(g *grown) (chromium, both float64) {
		chromium = megabytes(g.after.Chromium-g.before.Chromium) / added
		return chromium, chromium + max(0, megabytes(g.after.Tool-g.before.Tool))/added // a heap may shrink
	}
	var ours, least float64
	var who string
	for _, g := range all {
		if g.err != nil {
			continue
		}
		chromium, both := each(g)
		fmt.Fprintf(b.out, "| %s | %s | %s | %s | %s | %s |\n", g.name, three(megabytes(g.after.Tool)), three(megabytes(g.before.Chromium)),
			three(chromium), three(both), three(float64(g.after.Processes-g.before.Processes)/added))
		switch {
		case g.name == reference:
			ours = both
		case isPeer(g.name) && (who == "" || both < least):
			least, who = both, g.name
		}
	}
	if ours > 0 && who != "" {
		fmt.Fprintf(b.out, "\nAn added session of browserd holds %.2f of what the smallest peer's (%s) does.\n", ours/least, who)
	}
	fmt.Fprintln(b.out)
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }
