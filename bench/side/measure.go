package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

// commandTimeout is how long one command may take on a busy machine.
const commandTimeout = 90 * time.Second

// member is a tool that is started and warm.
type member struct {
	name  string
	d     driver.Driver
	meter *driver.Meter
	ref   string // of what the case acts on
}

// cost is what one tool needs for one case.
type cost struct {
	p50, p90 time.Duration // waited
	cpu      time.Duration // of the tool and its Chromium: median of means over blocks of commands
	n        int
	err      error
}

// effort is how long a case may take.
type effort struct {
	most   int           // commands of one tool
	budget time.Duration // after which a tool is asked no more, but for the least
	// between is what happens before each command, and is not timed; nil: nothing.
	between func(context.Context, *member) error
}

// warm is how many commands come before those that count, where they are quick:
// compilers in the page and in the tool are done then.
const warm = 8

// least is how many commands a figure needs.
const least = 3

// race runs op by turns for all members, in blocks of a few commands so that a
// thread's clock is worth reading, and warm: prepare and a few ops come before
// and are not counted. The order of the members rotates from round to round. One
// that fails drops out with its error.
func (b *suite) race(members []*member, e effort, prepare func(context.Context, *member) error, op func(context.Context, *member, int) error) map[string]cost {
	type run struct {
		waited, cpu []time.Duration
		spent       time.Duration
		block       int
		err         error
	}
	runs := map[string]*run{}
	timed := func(m *member, i int) (time.Duration, error) {
		ctx, cancel := context.WithTimeout(b.ctx, commandTimeout)
		defer cancel()
		began := time.Now()
		err := op(ctx, m, i)
		return time.Since(began), err
	}
	for _, m := range members {
		r := &run{block: 1}
		runs[m.name] = r
		r.err = b.limited(m, prepare)
		var warming time.Duration
		for i := range warm {
			if r.err != nil || i > 0 && warming > e.budget/3 {
				break
			}
			var waited time.Duration
			waited, r.err = timed(m, -1-i)
			warming += waited
			if e.between == nil {
				r.block = min(5, max(1, int(25*time.Millisecond/max(waited, 1))))
			}
		}
	}
	for round := 0; ; round++ {
		asked := false
		for i := range members {
			m := members[(i+round)%len(members)]
			r := runs[m.name]
			if r.err != nil || len(r.waited) >= e.most || r.spent > e.budget && len(r.waited) >= least {
				continue
			}
			asked = true
			before := m.meter.Read()
			for range r.block {
				if e.between != nil { // each block is one command
					if r.err = b.limited(m, e.between); r.err != nil {
						break
					}
					before = m.meter.Read()
				}
				waited, err := timed(m, len(r.waited))
				if err != nil {
					r.err = err
					break
				}
				r.waited = append(r.waited, waited)
				r.spent += waited
			}
			r.cpu = append(r.cpu, (m.meter.Read()-before)/time.Duration(r.block))
		}
		if !asked {
			break
		}
	}
	costs := map[string]cost{}
	for name, r := range runs {
		f := cost{err: r.err, n: len(r.waited)}
		if f.err == nil {
			f.p50, f.p90, f.cpu = quantile(r.waited, 0.5), quantile(r.waited, 0.9), quantile(r.cpu, 0.5)
		}
		costs[name] = f
	}
	return costs
}

// limited runs do with the time that a command may take.
func (b *suite) limited(m *member, do func(context.Context, *member) error) error {
	ctx, cancel := context.WithTimeout(b.ctx, commandTimeout)
	defer cancel()
	return do(ctx, m)
}

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 == len(sorted) {
		return sorted[low]
	}
	return sorted[low] + time.Duration((at-float64(low))*float64(sorted[low+1]-sorted[low]))
}

// column is one case of a table.
type column struct {
	name  string
	costs map[string]cost
}

// report writes a table of the columns: for each tool the median waited, the
// 90th percentile in brackets, and the processor time; then how many times as
// fast browserd is as the fastest peer, and which that is, and the same of the
// baseline, where it is among the names. The tools' errors stand below.
func report(w io.Writer, names []string, columns []column) {
	fmt.Fprint(w, "| ms: waited, median (90th percentile) / processor |")
	for _, c := range columns {
		fmt.Fprintf(w, " %s |", c.name)
	}
	fmt.Fprint(w, "\n|---|")
	for range columns {
		fmt.Fprint(w, "---|")
	}
	fmt.Fprintln(w)
	var failed []string
	for _, name := range names {
		fmt.Fprintf(w, "| %s |", name)
		for _, c := range columns {
			f, ran := c.costs[name]
			switch {
			case !ran:
				fmt.Fprint(w, " |")
			case f.err != nil:
				fmt.Fprint(w, " failed |")
				failed = append(failed, fmt.Sprintf("%s, %s: %v", name, c.name, f.err))
			case f.cpu == 0: // not read
				fmt.Fprintf(w, " %s (%s) |", ms(f.p50), ms(f.p90))
			default:
				fmt.Fprintf(w, " %s (%s) / %s |", ms(f.p50), ms(f.p90), ms(f.cpu))
			}
		}
		fmt.Fprintln(w)
	}
	for _, who := range []string{reference, baselineName} {
		if who != reference && !slices.Contains(names, who) {
			continue
		}
		fmt.Fprintf(w, "| **fastest peer over %s**, waited / processor |", who)
		for _, c := range columns {
			fmt.Fprintf(w, " %s |", ratios(c.costs, who))
		}
		fmt.Fprintln(w)
	}
	for _, f := range failed {
		fmt.Fprintf(w, "\nFailed: %s\n", oneLine(f))
	}
	fmt.Fprintln(w)
}

// ratios compares browserd over its WebSocket, or the baseline, with the peer that
// needs the least, once for each measure.
func ratios(costs map[string]cost, who string) string {
	ours, ok := costs[who]
	if !ok || ours.err != nil {
		return "–"
	}
	over := func(of func(cost) time.Duration) string {
		var best time.Duration
		peer := ""
		for name, f := range costs {
			if isPeer(name) && f.err == nil && f.n > 0 && (peer == "" || of(f) < best) {
				best, peer = of(f), name
			}
		}
		if peer == "" || of(ours) == 0 {
			return "–"
		}
		return fmt.Sprintf("%s (%s)", three(float64(best)/float64(of(ours))), peer)
	}
	waited := over(func(f cost) time.Duration { return f.p50 })
	if ours.cpu == 0 {
		return waited
	}
	return waited + " / " + over(func(f cost) time.Duration { return f.cpu })
}

// ms is a duration in milliseconds, with three digits that count.
func ms(d time.Duration) string { return three(float64(d) / float64(time.Millisecond)) }

func three(v float64) string {
	switch {
	case v < 0.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.5:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
