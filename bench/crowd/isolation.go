package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpages"
)

// bad are pages that do harm once their window.go() is called, by what they do.
var bad = []struct{ name, script string }{
	{"loops for ever", `for (;;);`},
	{"loops in 4 workers", `for (let i = 0; i < 4; i++) new Worker(URL.createObjectURL(new Blob(["for (;;);"])))`},
	{"floods the console", `setInterval(() => { for (let i = 0; i < 500; i++) console.error("flood", i) }, 0)`},
	{"floods the network", `const go = () => fetch("/data?" + Math.random()).then(go, go); for (let i = 0; i < 20; i++) go()`},
	{"changes its document", `setInterval(() => { for (let i = 0; i < 300; i++) { const p = document.createElement("p"); p.textContent = "line " + i; document.body.append(p) }
		while (document.body.childElementCount > 3000) document.body.firstElementChild.remove() }, 0)`},
	{"navigates without end", `setInterval(() => history.pushState(0, "", "?" + Math.random()), 0)`},
	{"eats memory", `const m = []; setInterval(() => m.push(new Uint8Array(64 << 20).fill(1)), 10)`},
}

// others is how many sessions are watched beside the bad one.
const others = 6

// isolation watches how long the commands of some sessions take beside one bad
// page and without it, by turns.
func isolation(ctx context.Context, tb testdaemon.TB, site string, rounds int, window time.Duration) {
	// So that a page reaches it within the window also where there is other work.
	d := testdaemon.Start(tb, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__PAGE_MEMORY_MB": "512"}})
	defer d.Stop()
	agents := make([]*agent, others)
	for i := range agents {
		agents[i] = newAgent(ctx, tb, d)
		agents[i].open(site + "/good")
	}
	fmt.Printf("\n%d sessions that click and take a snapshot every 50 ms, milliseconds without / beside a page that …\n\n", others)
	fmt.Printf("%-22s %17s %7s %17s %7s %17s   %s\n", "", "median", "ratio", "p90", "ratio", "p99", "its own command, and how it went on")
	for _, b := range bad {
		var without, beside timings
		var how string
		for range rounds {
			watch(ctx, agents, window, &without)
			villain := newAgent(ctx, tb, d)
			villain.call("open", map[string]any{"url": site + "/bad", "snapshot": "none"}, nil)
			told := make(chan string, 1)
			go func() { told <- villain.harm(b.script) }()
			watch(ctx, agents, window, &beside)
			how = <-told
			villain.call("session_close", nil, nil)
			watch(ctx, agents, time.Second, new(timings)) // it is gone, and its traces
		}
		fmt.Printf("%-22s %7.1f / %7.1f %7.2f %7.1f / %7.1f %7.2f %7.1f / %7.1f   %s\n", b.name,
			without.at(.5), beside.at(.5), beside.at(.5)/without.at(.5), without.at(.9), beside.at(.9), beside.at(.9)/without.at(.9), without.at(.99), beside.at(.99), how)
	}
}

// harm starts a bad page's script and says what became of the commands.
func (a *agent) harm(script string) string {
	began := time.Now()
	err := a.try("eval", map[string]any{"expression": "(() => {" + script + "})()", "timeout_ms": 2000}, nil)
	said := fmt.Sprintf("eval: %s after %.1f s", codeOf(err), time.Since(began).Seconds())
	again := time.Now()
	err = a.try("wait", map[string]any{"ms": 4000, "timeout_ms": 6000}, nil)
	said += fmt.Sprintf("; wait: %s after %.1f s", codeOf(err), time.Since(again).Seconds())
	again = time.Now()
	err = a.try("snapshot", map[string]any{"timeout_ms": 6000}, nil)
	return said + fmt.Sprintf("; snapshot: %s after %.1f s", codeOf(err), time.Since(again).Seconds())
}

// watch has the agents work for so long and notes how long each click and
// snapshot takes.
func watch(ctx context.Context, agents []*agent, window time.Duration, times *timings) {
	ctx, cancel := context.WithTimeout(ctx, window)
	defer cancel()
	var all sync.WaitGroup
	for _, a := range agents {
		all.Go(func() {
			a.took = times
			for pace := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; {
				a.call("click", map[string]any{"ref": a.count, "snapshot": "none"}, nil)
				a.call("snapshot", nil, nil)
				select {
				case <-pace.C:
				case <-ctx.Done():
					pace.Stop()
				}
			}
		})
	}
	all.Wait()
}

// serveSite serves the good and the bad page on loopback.
func serveSite(tb testdaemon.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	mux := http.NewServeMux()
	page := func(path, text string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, text)
		})
	}
	page("/good", testpages.Page(107))
	page("/bad", "<!doctype html><title>Bad</title><h1>Bad</h1>")
	page("/data", "data")
	page("/favicon.ico", "")
	s := &http.Server{Handler: mux}
	go s.Serve(l)
	tb.Cleanup(func() { s.Close() })
	return "http://" + l.Addr().String()
}
