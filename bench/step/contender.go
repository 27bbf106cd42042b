package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

// played is an episode that a tool has played, and what it took. What opening its page took
// is in Opening and in Tokens; the calls, and the rest of the waiting, are the steps'.
type played struct {
	Task      string
	Seed      int
	Won       bool
	Lost      string `json:",omitempty"` // why
	Calls     int
	Tokens    int           // read, o200k_base
	Opening   time.Duration // waited for the page
	Waited    time.Duration // waited for the calls
	Processor time.Duration // of the tool and its Chromium
}

// contender is a tool that plays, and what it has played.
type contender struct {
	tool   driver.Tool
	o      driver.Options
	driver driver.Driver
	meter  *driver.Meter
	count  func(string) int
	calls  []driver.Call // of the episode
	played []played
}

func newContender(ctx context.Context, tool driver.Tool, o driver.Options, count func(string) int) (*contender, error) {
	c := &contender{tool: tool, o: o, count: count}
	c.o.Steps = true
	c.o.Told = func(call driver.Call) { c.calls = append(c.calls, call) }
	return c, c.start(ctx)
}

func (c *contender) start(ctx context.Context) (err error) {
	if c.driver, err = c.tool.Start(ctx, c.o); err != nil {
		return err
	}
	c.meter = driver.NewMeter(c.driver)
	return nil
}

// play plays an episode and keeps what it took. A tool that no longer answers is started
// anew.
func (c *contender) play(ctx context.Context, s *site, task string, seed int, trace bool) error {
	c.calls = nil
	before := c.meter.Read()
	p, e, lost := s.play(ctx, c.driver, task, seed, trace)
	r := played{Task: task, Seed: seed, Won: e.won(), Processor: c.meter.Read() - before}
	for i, call := range c.calls {
		r.Tokens += c.count(call.Answer)
		if i == 0 {
			r.Opening = call.Waited
			continue
		}
		r.Calls++
		r.Waited += call.Waited
	}
	if !r.Won {
		r.Lost = fmt.Sprintf("%q", p.ask)
		if s.over(e, 0) {
			r.Lost += fmt.Sprintf(": reward %g", e.Reward)
		}
		if p.err != nil {
			r.Lost += ": " + p.err.Error()
		}
	}
	c.played = append(c.played, r)
	if !lost || ctx.Err() != nil {
		return ctx.Err()
	}
	c.driver.Close()
	return c.start(ctx)
}

// printTask says how a task went.
func (c *contender) printTask(task string) {
	won, all := 0, 0
	var why []string
	for _, r := range c.played {
		if r.Task != task {
			continue
		}
		all++
		if r.Won {
			won++
		} else {
			why = append(why, fmt.Sprintf("     seed %d: %s", r.Seed, r.Lost))
		}
	}
	fmt.Printf("%-22s %-30s %3d of %d\n", c.tool.Name, task, won, all)
	for _, line := range why {
		fmt.Println(line)
	}
}

// report writes a row for each tool: over all that it played, and over the episodes that
// all the tools have won, in which each has done the same.
func report(w io.Writer, all []*contender) {
	fmt.Fprintln(w, "\n| | episodes won | calls | tokens | waited for the page, ms | waited for the calls, ms | processor, ms |\n|---|---|---|---|---|---|---|")
	row := func(name, of string, list []played) {
		if len(list) == 0 {
			return
		}
		mean := func(f func(played) float64) float64 {
			sum := 0.0
			for _, r := range list {
				sum += f(r)
			}
			return sum / float64(len(list))
		}
		median := func(f func(played) time.Duration) float64 {
			var each []time.Duration
			for _, r := range list {
				each = append(each, f(r))
			}
			slices.Sort(each)
			return float64(each[len(each)/2]) / 1e6
		}
		fmt.Fprintf(w, "| %s | %s | %.1f | %.0f | %.0f | %.0f | %.0f |\n", name, of,
			mean(func(r played) float64 { return float64(r.Calls) }), mean(func(r played) float64 { return float64(r.Tokens) }),
			median(func(r played) time.Duration { return r.Opening }), median(func(r played) time.Duration { return r.Waited }),
			mean(func(r played) float64 { return float64(r.Processor) / 1e6 }))
	}
	for _, c := range all {
		won := 0
		for _, r := range c.played {
			if r.Won {
				won++
			}
		}
		row(c.tool.Name, fmt.Sprintf("%d of %d: %.1f %%", won, len(c.played), 100*float64(won)/float64(max(len(c.played), 1))), c.played)
	}
	if len(all) == 1 {
		return
	}
	for _, c := range all {
		var both []played
		for i, r := range c.played {
			if !slices.ContainsFunc(all, func(o *contender) bool { return !o.played[i].Won }) {
				both = append(both, r)
			}
		}
		row(c.tool.Name, fmt.Sprintf("the %d that all have won", len(both)), both)
	}
}
