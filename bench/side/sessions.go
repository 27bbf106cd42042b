package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
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
		fmt.Fprintf(b.out, "All with %s. A session opened beside others, warm, until it has a page of 30 elements; what nine of them add, and what the tool itself holds with ten.\n\n", filepath.Base(chromium))
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
	members, stop := b.fleet(b.doors(false))
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
	figures := map[string]figure{}
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
		figures[g.name] = figure{quantile(g.waited, 0.5), quantile(g.waited, 0.9), quantile(g.cpu, 0.5), len(g.waited), g.err}
	}
	report(b.out, namesOf(members), []column{{"a session with its page", figures}})
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
		return chromium, chromium + megabytes(g.after.Tool-g.before.Tool)/added
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

// loads are the sessions at once of the throughput's columns.
var loads = []int{8, 32, 100}

// tooHeavy are the tools that start a Chromium for each session: with a hundred
// of them the machine is what is measured.
func tooHeavy(t driver.Tool, sessions int) bool {
	return sessions > 32 && (t.Name == "agent-browser" || t.Name == "playwright-mcp") || sessions > 8 && t.Name == "playwright-mcp"
}

// throughput lets sessions go through open, snapshot, click and delta on a small
// page, as fast as they can, one tool at a time: two turns each, the better one
// counts.
func (b *suite) throughput() error {
	type setup struct{ title, ours, theirs string }
	setups := []setup{{"All with " + filepath.Base(b.o.Chromium), b.o.Chromium, b.o.Chromium}}
	if len(b.builds()) > 1 {
		setups = append(setups, setup{"Each with its default: browserd the headless shell, the others the whole browser", b.o.Chromium, b.full})
	}
	for i, s := range setups {
		sizes := loads
		if i > 0 || b.quick {
			sizes = loads[:1]
		}
		fmt.Fprintf(b.out, "%s. Rounds of open, snapshot, click and delta per second, all sessions together; in brackets processor milliseconds per round.\n\n| |", s.title)
		for _, n := range sizes {
			fmt.Fprintf(b.out, " %d sessions |", n)
		}
		fmt.Fprintf(b.out, "\n|---|%s\n", strings.Repeat("---|", len(sizes)))
		best := make([]float64, len(sizes))
		ours := make([]float64, len(sizes))
		var failed []string
		for _, t := range b.doors(false) {
			fmt.Fprintf(b.out, "| %s |", t.Name)
			chromium := s.theirs
			if !isPeer(t.Name) {
				chromium = s.ours
			}
			for at, n := range sizes {
				if tooHeavy(t, n) {
					fmt.Fprint(b.out, " |")
					continue
				}
				rate, cpu, err := b.with(chromium).load(t, n)
				if err != nil {
					fmt.Fprint(b.out, " failed |")
					failed = append(failed, fmt.Sprintf("%s, %d sessions: %s", t.Name, n, oneLine(err.Error())))
					continue
				}
				fmt.Fprintf(b.out, " %s (%s) |", three(rate), ms(cpu))
				if t.Name == reference {
					ours[at] = rate
				} else if isPeer(t.Name) {
					best[at] = max(best[at], rate)
				}
			}
			fmt.Fprintln(b.out)
		}
		fmt.Fprint(b.out, "| **browserd over the best peer** |")
		for at := range sizes {
			if best[at] == 0 {
				fmt.Fprint(b.out, " – |")
				continue
			}
			fmt.Fprintf(b.out, " %.1f |", ours[at]/best[at])
		}
		fmt.Fprintln(b.out)
		for _, f := range failed {
			fmt.Fprintf(b.out, "\nFailed: %s\n", f)
		}
		fmt.Fprintln(b.out)
	}
	return nil
}

// load is the rate of rounds with so many sessions, and the processor time of
// one round.
func (b *suite) load(t driver.Tool, sessions int) (rate float64, cpu time.Duration, err error) {
	lasting := 4 * time.Second
	if b.quick {
		lasting = 2 * time.Second
	}
	ctx, cancel := context.WithTimeout(b.ctx, 3*time.Minute)
	defer cancel()
	first, err := t.Start(ctx, b.o)
	if err != nil {
		return 0, 0, err
	}
	defer first.Close()
	list := []driver.Driver{first}
	defer func() {
		var closing sync.WaitGroup
		for _, d := range list[1:] {
			closing.Go(func() { d.Close() })
		}
		closing.Wait()
	}()
	for len(list) < sessions {
		d, err := first.NewSession(ctx)
		if err != nil {
			return 0, 0, fmt.Errorf("session %d: %w", len(list)+1, err)
		}
		list = append(list, d)
	}
	all := driver.Together(list)
	url := b.site.shop(30)
	refs := make([]string, len(list))
	if _, err := together(list, func(i int, d driver.Driver) error { // warm, and the refs
		m := &member{d: d}
		err := find(url, "button", "Count")(ctx, m)
		refs[i] = m.ref
		return err
	}); err != nil {
		return 0, 0, err
	}
	meter := driver.NewMeter(all)
	began := time.Now()
	until := began.Add(lasting)
	rounds, err := together(list, func(_ int, d driver.Driver) error {
		return b.round(ctx, d, url)
	}, func() bool { return time.Now().Before(until) })
	took := time.Since(began)
	if err != nil {
		return 0, 0, err
	}
	return float64(rounds) / took.Seconds(), meter.Read() / time.Duration(rounds), nil
}

// round is what one session does again and again.
func (b *suite) round(ctx context.Context, d driver.Driver, url string) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	m := &member{d: d}
	if err := find(url, "button", "Count")(ctx, m); err != nil { // opens, takes a snapshot, reads it
		return err
	}
	return clickAndSee(ctx, m, 0)
}

// together runs f for every session at once, again while every one of more says
// so, and counts the runs.
func together(list []driver.Driver, f func(int, driver.Driver) error, more ...func() bool) (runs int, err error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for i, d := range list {
		all.Go(func() {
			for {
				failed := f(i, d)
				mu.Lock()
				runs++
				if failed != nil {
					err = failed
				}
				stop := err != nil
				mu.Unlock()
				if stop || len(more) == 0 || !more[0]() {
					return
				}
			}
		})
	}
	all.Wait()
	return runs, err
}
