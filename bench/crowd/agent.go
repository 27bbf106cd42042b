package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// agent is one connection with one session.
type agent struct {
	ctx  context.Context
	tb   testdaemon.TB
	c    *client.Client
	took *timings // of its next commands; nil: they are not counted
	only string   // the one command that is counted; empty: all

	count, field string // refs on the page
}

func newAgent(ctx context.Context, tb testdaemon.TB, d *testdaemon.Daemon) *agent {
	return &agent{ctx: ctx, tb: tb, c: d.Dial(tb)}
}

// answer is what is looked at of any result.
type answer struct {
	Snapshot struct{ Text string }
	Delta    struct{ Text string }
}

// try sends a command and waits for its answer.
func (a *agent) try(method string, params map[string]any, result any) error {
	if params == nil {
		params = map[string]any{}
	}
	ctx, cancel := context.WithTimeout(a.ctx, 40*time.Second)
	defer cancel()
	began := time.Now()
	err := a.c.Call(ctx, method, params, result)
	if err == nil && a.took != nil && (a.only == "" || a.only == method) {
		a.took.add(time.Since(began))
	}
	return err
}

// call is try for what must succeed.
func (a *agent) call(method string, params map[string]any, result any) {
	if err := a.try(method, params, result); err != nil && a.ctx.Err() == nil {
		a.tb.Errorf("%s %v: %v", method, params, err)
	}
}

var (
	button  = regexp.MustCompile(`(@e\d+) \[button[^\]]*\] "Count"`)
	textbox = regexp.MustCompile(`(@e\d+) \[textbox[^\]]*\] "Search"`)
)

// open opens a page of testpages.Page and finds what is acted on.
func (a *agent) open(url string) {
	var r answer
	a.call("open", map[string]any{"url": url}, &r)
	for at, pattern := range map[*string]*regexp.Regexp{&a.count: button, &a.field: textbox} {
		if m := pattern.FindStringSubmatch(r.Snapshot.Text); m != nil {
			*at = m[1]
		} else if a.ctx.Err() == nil {
			a.tb.Errorf("no %v in the snapshot:\n%s", pattern, r.Snapshot.Text)
		}
	}
}

// work does the commands of an agent's loop, each timed. A snapshot is of a page that a click has changed; what the two
// take together tells what an agent waits for, wherever Chromium draws the change.
func (a *agent) work(times map[string]*timings) {
	do := func(what, method string, params map[string]any) {
		a.took = times[what]
		a.call(method, params, nil)
	}
	began := time.Now()
	do("", "click", map[string]any{"ref": a.count, "snapshot": "none"})
	do("snapshot", "snapshot", nil)
	times["click, then snapshot"].add(time.Since(began))
	do("click with its delta", "click", map[string]any{"ref": a.count})
	do("type", "type", map[string]any{"ref": a.field, "text": "gold", "clear": true})
	do("", "read", map[string]any{"kind": "text"})
}

// timings are how long commands took. Any goroutine may add to them.
type timings struct {
	mu  sync.Mutex
	all []time.Duration
}

func (t *timings) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, d)
}

// at is the quantile q in milliseconds.
func (t *timings) at(q float64) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t.all))
	return float64(sorted[int(q*float64(len(sorted)-1))].Microseconds()) / 1000
}

func (t *timings) print(what string) {
	fmt.Printf("%-34s %8d %8.1f %8.1f %8.1f %8.1f\n", what, len(t.all), t.at(.5), t.at(.9), t.at(.99), t.at(1))
}

// each calls f with 0 to n-1, at most so many at a time, and waits.
func each(n, parallel int, f func(i int)) {
	next := make(chan int)
	var all sync.WaitGroup
	for range parallel {
		all.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// limitOf is the limit of a script that reached one.
func limitOf(err error) string {
	var e *protocol.Error
	if !errors.As(err, &e) {
		return ""
	}
	limit, _ := e.Details["limit"].(string)
	return limit
}

// codeOf is an answer's code: ok, or empty where there was no answer.
func codeOf(err error) protocol.Code {
	var e *protocol.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		return e.Code
	}
	return ""
}
