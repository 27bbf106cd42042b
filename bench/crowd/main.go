// Command crowd holds one daemon to a hundred sessions at once, and to what one
// bad page among them may do to the others. It prints what a session costs in
// memory, how long commands take, and how much longer the others' take beside
// a page or a script that loops, floods or eats memory; it ends with 1 where a command was
// answered as it may not be. The daemon is BROWSERD_BIN, or the one that it builds.
//
//	go run ./crowd -sessions 100
//	go run ./crowd -sessions 0 -beside scripts
//
// With builds of browserd it compares these instead, in turn.
//
//	go run ./crowd -sessions 24 -at 8 -rounds 40 before=/path/to/browserd now=../bin/browserd
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

func main() {
	sessions := flag.Int("sessions", 100, "sessions open at once; 0: only the bad pages")
	rounds := flag.Int("rounds", 3, "how often each session does its commands, and each bad page is compared")
	only := flag.String("beside", "pages,scripts", "beside what the others are watched")
	window := flag.Duration("window", 4*time.Second, "how long the others are watched, with the bad page and without; 0: not at all")
	at := flag.Int("at", 8, "commands at a time, of builds that are compared")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code := testdaemon.Main(func(tb testdaemon.TB) {
		site := serveSite(tb)
		if flag.NArg() > 0 {
			compare(ctx, tb, site, flag.Args(), *sessions, *at, *rounds)
			return
		}
		if *sessions > 0 {
			crowd(ctx, tb, site, *sessions, *rounds)
		}
		if *window > 0 && strings.Contains(*only, "pages") {
			isolation(ctx, tb, site, *rounds, *window)
		}
		if *window > 0 && strings.Contains(*only, "scripts") {
			besideScripts(ctx, tb, site, *rounds, *window)
		}
	})
	testdaemon.RemoveBinary()
	os.Exit(code)
}

// crowd opens the sessions, has them all work at once, and closes them.
func crowd(ctx context.Context, tb testdaemon.TB, site string, n, rounds int) {
	d := testdaemon.Start(tb, testdaemon.Options{Env: map[string]string{
		"BROWSERD_SESSION__MAX": fmt.Sprint(n), "BROWSERD_SESSION__MAX_PER_AGENT": fmt.Sprint(n),
	}})
	defer d.Stop()
	first := newAgent(ctx, tb, d)
	first.open(site + "/good")
	before := weigh(d)
	agents := make([]*agent, n)
	agents[n-1] = first
	var opening timings
	began := time.Now()
	each(n-1, 4, func(i int) {
		agents[i] = newAgent(ctx, tb, d)
		agents[i].took = &opening
		agents[i].open(site + "/good")
	})
	opened := time.Since(began)
	after := weigh(d)
	fmt.Printf("%d sessions, opened by 4 at a time in %v\n\n", n, opened.Round(10*time.Millisecond))
	fmt.Printf("%-34s %8s %8s %8s\n", "memory, MiB", "1", fmt.Sprint(n), "each")
	row := func(what string, of func(weight) float64) {
		a, b := of(before)/(1<<20), of(after)/(1<<20)
		fmt.Printf("%-34s %8.1f %8.1f %8.2f\n", what, a, b, (b-a)/float64(n-1))
	}
	row("daemon, resident", func(w weight) float64 { return w.daemon })
	row("Chromium, proportional (PSS)", func(w weight) float64 { return w.pss })
	row("Chromium, resident, shared in each", func(w weight) float64 { return w.rss })
	fmt.Printf("%-34s %8d %8d\n", "processes", before.processes, after.processes)

	fmt.Printf("\n%-34s %8s %8s %8s %8s %8s\n", "milliseconds", "n", "median", "p90", "p99", "most")
	opening.print("open, with its session")
	for _, at := range []int{1, 8, n} {
		work := map[string]*timings{"snapshot": {}, "click, then snapshot": {}, "click with its delta": {}, "type": {}}
		began := time.Now()
		for range rounds {
			each(n, at, func(i int) { agents[i].work(work) })
		}
		took := time.Since(began)
		for _, what := range workDone {
			work[what].print(fmt.Sprintf("%s, %d at a time", what, at))
		}
		fmt.Printf("%-34s %8.0f commands/s\n", "", float64(5*n*rounds)/took.Seconds())
	}
	var closing timings
	each(n, 4, func(i int) { agents[i].took = &closing; agents[i].call("session_close", nil, nil) })
	closing.print("session_close")
	end := weigh(d)
	fmt.Printf("\nclosed: the daemon has %.1f MiB, Chromium %.1f MiB (PSS) in %d processes\n", end.daemon/(1<<20), end.pss/(1<<20), end.processes)
}
