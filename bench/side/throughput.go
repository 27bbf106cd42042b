package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

// loads are the sessions at once of the throughput's columns.
var loads = []int{8, 32, 100}

// tooHeavy is whether so many sessions of a tool are left out: with a Chromium
// for each of a hundred, the machine is what is measured.
func tooHeavy(t driver.Tool, sessions int) bool { return sessions > 32 && t.Name == "agent-browser" }

// throughput lets sessions go through open, snapshot, click and delta on a small
// page, as fast as they can, one tool at a time.
func (b *suite) throughput() error {
	type setup struct{ title, ours, theirs string }
	setups := []setup{{"All with " + filepath.Base(b.o.Chromium), b.o.Chromium, b.o.Chromium}}
	if len(b.builds()) > 1 {
		setups = append(setups, setup{"Each with its default: browserd the headless shell, the others the whole browser", b.o.Chromium, b.full})
	}
	for i, s := range setups {
		most := b.crowd
		switch {
		case most > 0:
		case i > 0 || b.quick:
			most = 8
		default:
			most = 100
		}
		sizes := slices.DeleteFunc(slices.Clone(loads), func(n int) bool { return n > most })
		fmt.Fprintf(b.out, "%s. Rounds of open, snapshot, click and delta per second, all sessions together; in brackets processor milliseconds per round.\n\n| |", s.title)
		for _, n := range sizes {
			fmt.Fprintf(b.out, " %d sessions |", n)
		}
		fmt.Fprintf(b.out, "\n|---|%s\n", strings.Repeat("---|", len(sizes)))
		best := make([]float64, len(sizes))
		ours := make([]float64, len(sizes))
		var failed []string
		for _, t := range b.shared() {
			if t.Name == "playwright-mcp" { // over HTTP it serves many with one Chromium
				continue
			}
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
	lasting := 3 * time.Second
	if b.quick {
		lasting = 1500 * time.Millisecond
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
