package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// badScripts are scripts of the command run that do harm, by what they do; at is how many run
// at once, each in a session of its own. plain is a command that a client without a script may
// send as often, so that it tells what the script adds.
var badScripts = []struct {
	name, code string
	at         int
	plain      string
}{
	{"loops for ever", `for (;;);`, 1, ""},
	{"the same, 4 at once", `for (;;);`, 4, ""},
	{"promises for ever", `const f = () => { Promise.resolve().then(f); }; f(); await new Promise(() => {});`, 1, ""},
	{"a regular expression", `return /^(a+)+$/.test('a'.repeat(60) + '!');`, 1, ""},
	{"eats memory", `const all = []; for (;;) all.push(new Array(1e4).fill(1));`, 1, ""},
	{"recursion", `for (;;) try { const f = (n) => f(n + 1) + 1; f(0); } catch {}`, 1, ""},
	{"a long value and log", `for (let i = 0; i < 1e3; i++) console.log('x'.repeat(1000)); return 'x'.repeat(1e6);`, 1, ""},
	{"ends at once, 4 at once", `return 1;`, 4, ""},
	{"steps for ever", `for (;;) await browser.tab_list({});`, 1, "tab_list"},
	{"snapshots for ever", `for (;;) await browser.snapshot({});`, 1, "snapshot"},
	{"snapshots, 4 at once", `for (;;) await browser.snapshot({});`, 4, "snapshot"},
}

// besideScripts watches how long the clicks of some sessions take beside scripts that do harm
// and without them, by turns. Each round watches twice without: how far these two are apart is
// chance.
func besideScripts(ctx context.Context, tb testdaemon.TB, site string, rounds int, window time.Duration) {
	d := testdaemon.Start(tb, testdaemon.Options{})
	defer d.Stop()
	agents := make([]*agent, others)
	for i := range agents {
		agents[i] = newAgent(ctx, tb, d)
		agents[i].open(site + "/good")
		agents[i].only = "click"
	}
	villains := make([]*agent, 4)
	for i := range villains {
		villains[i] = newAgent(ctx, tb, d)
		villains[i].open(site + "/good")
	}
	// harmed watches while so many villains do harm, and counts how that ended.
	harmed := func(at int, times *timings, how map[string]int, harm func(context.Context, *agent) string) {
		until, stop := context.WithTimeout(ctx, window)
		told := make(chan string)
		for _, v := range villains[:at] {
			go func() { told <- harm(until, v) }()
		}
		watch(ctx, agents, window, times)
		stop()
		for range at {
			how[<-told]++
		}
	}
	fmt.Printf("\n%d sessions that click and take a snapshot every 50 ms, milliseconds of a click without / without again / beside a script that …\n\n", others)
	fmt.Printf("%-24s %24s %7s %7s %24s %7s %7s   %s\n", "", "median", "again", "beside", "p99", "again", "beside", "clicks, and how the scripts ended")
	row := func(name string, without, again, beside *timings, how map[string]int) {
		fmt.Printf("%-24s", name)
		for _, q := range []float64{.5, .99} {
			a, b, c := without.at(q), again.at(q), beside.at(q)
			fmt.Printf(" %6.1f / %6.1f / %6.1f %7.2f %7.2f", a, b, c, b/a, c/both(without, again).at(q))
		}
		fmt.Printf("   %d/%d/%d %v\n", len(without.all), len(again.all), len(beside.all), how)
	}
	for _, b := range badScripts {
		var without, again, beside, plain timings
		how, sent := map[string]int{}, map[string]int{}
		for range rounds {
			watch(ctx, agents, window, &without)
			harmed(b.at, &beside, how, func(ctx context.Context, v *agent) string { return v.script(ctx, b.code) })
			watch(ctx, agents, window, &again)
			if b.plain != "" {
				harmed(b.at, &plain, sent, func(ctx context.Context, v *agent) string { return v.repeat(ctx, b.plain) })
			}
		}
		row(b.name, &without, &again, &beside, how)
		if b.plain != "" {
			row("… by a plain client", &without, &again, &plain, sent)
		}
	}
}

// both has the timings of a and b.
func both(a, b *timings) *timings {
	return &timings{all: slices.Concat(a.all, b.all)}
}

// repeat sends a command again and again until ctx ends.
func (a *agent) repeat(ctx context.Context, method string) string {
	for ctx.Err() == nil {
		if err := a.c.Call(ctx, method, map[string]any{}, nil); err != nil && ctx.Err() == nil {
			return string(codeOf(err))
		}
	}
	return "cancelled"
}

// script runs a script again and again until ctx ends, and says how the last one ended: by
// which limit, or by its end.
func (a *agent) script(ctx context.Context, code string) string {
	for how := "cancelled"; ; {
		err := a.c.Call(ctx, "run", map[string]any{"code": code, "snapshot": "none", "timeout_ms": 60000}, nil)
		if ctx.Err() != nil {
			return how
		}
		how = string(codeOf(err))
		if limit := limitOf(err); limit != "" {
			how = limit
		}
	}
}
