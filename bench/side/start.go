package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

// starts measures the way from no process to answers, each tool by turns and
// each time anew: to its accepting a client that has said hello, and from there
// to the first page that is open. Command lines have no server: their first is
// the page.
func (b *suite) starts() error {
	rounds := 11
	if b.quick {
		rounds = 5
	}
	tools := b.tools
	ready, page := map[string]cost{}, map[string]cost{}
	waitedReady, waitedPage := map[string][]time.Duration{}, map[string][]time.Duration{}
	cpu := map[string][]time.Duration{}
	for round := range rounds + 1 { // the first warms the disk's cache
		for i := range tools {
			t := tools[(i+round)%len(tools)]
			started, opened, used, err := b.start(t)
			if err != nil {
				ready[t.Name], page[t.Name] = cost{err: err}, cost{err: err}
				continue
			}
			if round > 0 {
				waitedReady[t.Name] = append(waitedReady[t.Name], started)
				waitedPage[t.Name] = append(waitedPage[t.Name], opened)
				cpu[t.Name] = append(cpu[t.Name], used)
			}
		}
	}
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
		if ready[t.Name].err == nil && !strings.Contains(t.Name, "command line") {
			w := waitedReady[t.Name]
			ready[t.Name] = cost{p50: quantile(w, 0.5), p90: quantile(w, 0.9), n: len(w)}
		}
		if page[t.Name].err == nil {
			w := waitedPage[t.Name]
			page[t.Name] = cost{p50: quantile(w, 0.5), p90: quantile(w, 0.9), cpu: quantile(cpu[t.Name], 0.5), n: len(w)}
		}
		if strings.Contains(t.Name, "command line") {
			delete(ready, t.Name)
		}
	}
	fmt.Fprintf(b.out, "From the start of the process, all files in the disk's cache: until it has answered a first command that needs no page "+
		"(browserd `ping`, agent-browser `session_info`, pinchtab `/health`, the others `initialize`), and until a page of 30 elements is open, Chromium's start in it.\n\n")
	report(b.out, names, []column{{"first answer", ready}, {"first page", page}})
	return nil
}

func (b *suite) start(t driver.Tool) (ready, opened, used time.Duration, err error) {
	ctx, cancel := context.WithTimeout(b.ctx, commandTimeout)
	defer cancel()
	began := time.Now()
	d, err := t.Start(ctx, b.o)
	if err != nil {
		return 0, 0, 0, err
	}
	ready = time.Since(began)
	meter := driver.NewAccount(d)
	err = d.Open(ctx, b.site.shop(30))
	opened = time.Since(began)
	used = meter.Read()
	if closed := d.Close(); err == nil {
		err = closed
	}
	return ready, opened, used, err
}
