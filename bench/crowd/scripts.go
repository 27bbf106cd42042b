package main

import (
	"context"
	"fmt"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// badScripts are scripts of the command run that do harm, by what they do; at is how many run
// at once, each in a session of its own.
var badScripts = []struct {
	name, code string
	at         int
}{
	{"loops for ever", `for (;;);`, 1},
	{"the same, 4 at once", `for (;;);`, 4},
	{"promises for ever", `const f = () => { Promise.resolve().then(f); }; f(); await new Promise(() => {});`, 1},
	{"a regular expression", `return /^(a+)+$/.test('a'.repeat(60) + '!');`, 1},
	{"eats memory", `const all = []; for (;;) all.push(new Array(1e4).fill(1));`, 1},
	{"recursion", `for (;;) try { const f = (n) => f(n + 1) + 1; f(0); } catch {}`, 1},
	{"a long value and log", `for (let i = 0; i < 1e3; i++) console.log('x'.repeat(1000)); return 'x'.repeat(1e6);`, 1},
	{"steps for ever", `for (;;) await browser.tab_list({});`, 1},
	{"snapshots for ever", `for (;;) await browser.snapshot({});`, 1},
}

// besideScripts watches how long the commands of some sessions take beside scripts that do
// harm and without them, by turns.
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
	fmt.Printf("\n%d sessions that click and take a snapshot every 50 ms, milliseconds of a click without / beside a script that …\n\n", others)
	fmt.Printf("%-22s %17s %7s %17s %7s   %s\n", "", "median", "ratio", "p99", "ratio", "how the scripts ended")
	for _, b := range badScripts {
		var without, beside timings
		how := map[string]int{}
		for range rounds {
			watch(ctx, agents, window, &without)
			until, stop := context.WithTimeout(ctx, window)
			told := make(chan string)
			for _, v := range villains[:b.at] {
				go func() { told <- v.script(until, b.code) }()
			}
			watch(ctx, agents, window, &beside)
			stop()
			for range b.at {
				how[<-told]++
			}
		}
		fmt.Printf("%-22s %7.1f / %7.1f %7.2f %7.1f / %7.1f %7.2f   %v\n", b.name, without.at(.5), beside.at(.5), beside.at(.5)/without.at(.5),
			without.at(.99), beside.at(.99), beside.at(.99)/without.at(.99), how)
	}
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
