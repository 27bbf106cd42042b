package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
)

// build is one of several builds of browserd that are compared, with its sessions.
type build struct {
	name     string
	d        *testdaemon.Daemon
	agents   []*agent
	medians  map[string][]float64 // milliseconds, of each block
	all      map[string]*timings
	opening  timings
	turns    int
	spent    map[string]float64 // milliseconds of the processor, by kind of thread
	duration time.Duration
}

// workDone is what agent.work times, in the order of the tables.
var workDone = []string{"snapshot", "click, then snapshot", "click with its delta", "type"}

// compare prints how long the sessions' commands take with each build, and their ratios to the first one's: of the
// medians of all, and the median of the blocks' ratios with 90 % of a bootstrap. All builds' sessions are open at once,
// and the builds work in turn, block by block, so that a machine whose speed changes changes all of them.
func compare(ctx context.Context, tb testdaemon.TB, site string, named []string, n, at, rounds int) {
	var builds []*build
	for _, arg := range named {
		name, path, ok := strings.Cut(arg, "=")
		if !ok {
			tb.Fatal(fmt.Sprintf("%q: a build is NAME=PATH of its program", arg))
		}
		builds = append(builds, startBuild(ctx, tb, name, path, n))
	}
	const atOnce = 8 // opened by a build before it is another's turn: what the last ones leave to be done falls to that one
	for i := 0; i < n; i += atOnce {
		for _, b := range inTurn(builds, i/atOnce) {
			agents := b.agents[i:min(i+atOnce, n)]
			each(len(agents), 4, func(i int) {
				agents[i].took = &b.opening
				agents[i].open(site + "/good")
			})
		}
	}
	for round := range rounds {
		for _, b := range inTurn(builds, round) {
			b.block(at)
		}
	}
	printBuilds(builds, at)
}

// inTurn returns builds with another one first each time.
func inTurn(builds []*build, turn int) []*build {
	first := turn % len(builds)
	return slices.Concat(builds[first:], builds[:first])
}

func startBuild(ctx context.Context, tb testdaemon.TB, name, path string, n int) *build {
	b := &build{name: name, medians: map[string][]float64{}, all: map[string]*timings{}, spent: map[string]float64{}}
	for _, what := range workDone {
		b.all[what] = &timings{}
	}
	b.d = testdaemon.Start(tb, testdaemon.Options{Binary: path, Alone: true, Env: map[string]string{
		"BROWSERD_SESSION__MAX": fmt.Sprint(n), "BROWSERD_SESSION__MAX_PER_AGENT": fmt.Sprint(n),
	}})
	for range n {
		// An old build does not prove that it knows the token.
		c, err := client.Connect(ctx, client.Options{URL: b.d.WS(), Token: b.d.Token, Once: true, Dial: new(net.Dialer).DialContext})
		if err != nil {
			tb.Fatal(fmt.Sprintf("%s: %v", name, err))
		}
		tb.Cleanup(func() { c.Close() })
		b.agents = append(b.agents, &agent{ctx: ctx, tb: tb, c: c})
	}
	return b
}

// block has each session do the commands of an agent's loop once.
func (b *build) block(at int) {
	times := map[string]*timings{}
	for _, what := range workDone {
		times[what] = &timings{}
	}
	before, began := processorTime(b.d.PID), time.Now()
	each(len(b.agents), at, func(i int) { b.agents[i].work(times) })
	b.duration += time.Since(began)
	for id, t := range processorTime(b.d.PID) {
		b.spent[t.kind] += float64(t.spent-before[id].spent) / float64(time.Millisecond)
	}
	b.turns += len(b.agents)
	for what, t := range times {
		b.medians[what] = append(b.medians[what], t.at(.5))
		for _, d := range t.all {
			b.all[what].add(d)
		}
	}
}

func printBuilds(builds []*build, at int) {
	base := builds[0]
	fmt.Printf("\n%-40s", fmt.Sprintf("milliseconds, median, %d at a time", at))
	for _, b := range builds {
		fmt.Printf(" %9s", b.name)
	}
	fmt.Printf("   to %s; of the blocks [90 %%]\n", base.name)
	row := func(what string, of func(b *build) float64) {
		fmt.Printf("%-40s", what)
		for _, b := range builds {
			fmt.Printf(" %9.2f", of(b))
		}
		for _, b := range builds[1:] {
			fmt.Printf("   %.2f", of(b)/of(base))
			if len(b.medians[what]) == 0 {
				continue
			}
			ratios := make([]float64, len(b.medians[what]))
			for i, m := range b.medians[what] {
				ratios[i] = m / base.medians[what][i]
			}
			low, high := bootstrap(ratios)
			fmt.Printf("; %.2f [%.2f, %.2f]", median(ratios), low, high)
		}
		fmt.Println()
	}
	row("open, with its session, 4 at a time", func(b *build) float64 { return b.opening.at(.5) })
	if base.turns == 0 {
		return
	}
	for _, what := range workDone {
		row(what, func(b *build) float64 { return b.all[what].at(.5) })
	}
	row("all five commands, mean of the time", func(b *build) float64 { return float64(b.duration.Milliseconds()) * float64(at) / float64(b.turns) })
	kinds := map[string]float64{}
	for _, b := range builds {
		for kind, ms := range b.spent {
			kinds[kind] += ms / float64(b.turns)
		}
	}
	fmt.Println("\nprocessor time of all five commands, milliseconds")
	row("all threads", func(b *build) float64 {
		var sum float64
		for _, ms := range b.spent {
			sum += ms
		}
		return sum / float64(b.turns)
	})
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), func(x, y string) int { return int(1e3 * (kinds[y] - kinds[x])) }) {
		if kinds[kind] > .2*float64(len(builds)) {
			row(kind, func(b *build) float64 { return b.spent[kind] / float64(b.turns) })
		}
	}
}

// thread is what a thread is for, and how long it was on a processor so far.
type thread struct {
	kind  string
	spent time.Duration
}

// processorTime reads the threads of a daemon and of all processes below it (schedstat, in proc(5)).
func processorTime(daemon int) map[string]thread {
	found := map[string]thread{}
	pids := []int{daemon}
	for _, p := range testdaemon.Descendants(daemon) {
		pids = append(pids, p.PID)
	}
	for _, pid := range pids {
		process := "browserd"
		if pid != daemon {
			process = "Chromium: browser"
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			for _, arg := range strings.FieldsFunc(string(line), func(r rune) bool { return r == 0 || r == ' ' }) { // spaces in what a zygote has made
				if t, ok := strings.CutPrefix(arg, "--type="); ok {
					process = "Chromium: " + t
				}
			}
		}
		dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		for _, dir := range dirs {
			stat, err := os.ReadFile(dir + "/schedstat")
			if err != nil {
				continue // it has ended
			}
			ns, _ := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
			kind := process
			if pid != daemon {
				comm, _ := os.ReadFile(dir + "/comm")
				kind += ", " + strings.TrimRight(strings.TrimSpace(string(comm)), "0123456789/")
			}
			found[dir] = thread{kind, time.Duration(ns)}
		}
	}
	return found
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// bootstrap returns the 5 % and the 95 % of the medians of samples that are drawn from values, with replacement.
func bootstrap(values []float64) (low, high float64) {
	random := rand.New(rand.NewPCG(1, 2))
	medians, sample := make([]float64, 1000), make([]float64, len(values))
	for i := range medians {
		for j := range sample {
			sample[j] = values[random.IntN(len(values))]
		}
		medians[i] = median(sample)
	}
	slices.Sort(medians)
	return medians[50], medians[949]
}
