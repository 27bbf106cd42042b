package script

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/contain"
)

// priority is how the kernel ranks a thread: its nice value, and its policy of sched(7).
type priority struct {
	nice   int
	policy uint32
}

func priorityOf(t *testing.T, thread int) priority {
	t.Helper()
	v, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
	if err != nil {
		t.Fatal(err)
	}
	a, err := unix.SchedGetAttr(thread, 0)
	if err != nil {
		t.Fatal(err)
	}
	return priority{20 - v, a.Policy} // the system call returns 20 less the nice value
}

// priorities are those of a process's threads, with how many threads have each.
func priorities(t *testing.T, pid int) map[priority]int {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	values := map[priority]int{}
	for _, thread := range threads {
		id, _ := strconv.Atoi(thread.Name())
		values[priorityOf(t, id)]++
	}
	return values
}

// The process of a script has a lower priority than Chromium and other sessions from its start on, also
// while it waits for its script, and this program's own threads do not.
func TestAScriptHasLowPriorityFromTheStart(t *testing.T) {
	pool := testPool(t, DefaultConfig)
	own := priorityOf(t, 0)
	lower := priority{min(own.nice+contain.Nice, 19), own.policy}
	for range 20 {
		c, err := pool.spawn(!pool.Namespaces())
		if err != nil {
			t.Fatal(err)
		}
		defer pool.discard(c)
		if v := priorities(t, c.cmd.Process.Pid); len(v) != 1 || v[lower] == 0 {
			t.Errorf("when it has begun, its threads have the priorities %v", v)
		}
	}
	c, err := pool.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.discard(c)
	if v := priorities(t, c.cmd.Process.Pid); len(v) != 1 || v[lower] < 2 {
		t.Errorf("when it is ready, its threads have the priorities %v", v)
	}
	const children = 21 // each has one thread that started it and lives as long
	v := priorities(t, os.Getpid())
	wrong := len(v) != 2 || v[own] == 0 || v[lower] != children
	if lower == own { // the test has the lowest there is: the threads are told apart by their number alone
		wrong = len(v) != 1 || v[own] <= children
	}
	if wrong {
		t.Errorf("this program's own threads have the priorities %v", v)
	}
}

// Scripts that compute without end are stopped for most of the time: one, many together, those
// of several tokens, and short ones that follow each other without a pause.
func TestScriptsAreThrottled(t *testing.T) {
	const watched = 3 * time.Second
	loop, short := "for(;;);", "const end = Date.now() + 40; while (Date.now() < end);"
	for name, c := range map[string]struct {
		code       string
		at, tokens int
	}{
		"one":           {loop, 1, 1},
		"four":          {loop, 4, 1},
		"of two tokens": {loop, 4, 2},
		"short ones":    {short, 4, 1},
	} {
		t.Run(name, func(t *testing.T) {
			pool := testPool(t, Config{MemoryMB: 64, CPU: 20 * time.Second, Steps: 10, PerToken: 8})
			const starts = 4
			began := childrenUsed(t)
			for range starts {
				p, err := pool.start(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				pool.discard(p)
			}
			pool.processes.Wait()
			start := (childrenUsed(t) - began) / starts
			ctx, cancel := context.WithTimeout(t.Context(), watched)
			defer cancel()
			before := childrenUsed(t)
			var scripts sync.WaitGroup
			var started atomic.Int64
			for i := range c.at {
				scripts.Go(func() {
					for ctx.Err() == nil {
						started.Add(1)
						ended, err := pool.Run(ctx, Script{Code: c.code, Commands: map[string]string{}, Token: i % c.tokens}, nil)
						if ctx.Err() == nil && (err != nil || ended.Failure != nil) {
							t.Errorf("%v %+v", err, ended.Failure)
							return
						}
					}
				})
			}
			scripts.Wait()
			pool.Close()
			used := childrenUsed(t) - before - time.Duration(started.Load()+1)*start
			// What is free, the turns, and for each script what it computes until it is stopped.
			most := time.Duration(c.tokens)*(maxFreeCPU+watched/refill) + watched/pauseFactor + time.Duration(c.at)*4*slice
			t.Logf("%d scripts computed for %v in %v, their starts for %v each", started.Load(), used, watched, start)
			if used > most+most/4 {
				t.Errorf("they may compute for %v", most)
			}
		})
	}
}

// childrenUsed is the processor time of all processes that this one has started and waited for.
func childrenUsed(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// What a token's scripts may compute for nothing comes back slowly, and what one has computed
// without being stopped for it is paid by the next one.
func TestCPUThrottleCharge(t *testing.T) {
	p, now := newCPUThrottle(), time.Now()
	for i, c := range []struct {
		token                   int
		after, computed, excess time.Duration
	}{
		{1, 0, maxFreeCPU - slice, 0},
		{1, 0, 3 * slice, 2 * slice},
		{1, 0, slice, slice},
		{2, 0, maxFreeCPU, 0}, // another token's
		{1, 10 * slice * refill, 4 * slice, 0},
		{1, 0, 7 * slice, slice},
		{1, time.Hour, maxFreeCPU + slice, slice}, // no more than maxFreeCPU is saved up
	} {
		now = now.Add(c.after)
		if excess := p.charge(c.token, c.computed, now); excess != c.excess {
			t.Errorf("%d: %v, want %v", i, excess, c.excess)
		}
	}
	p.carryOver(1, slice/2)
	p.carryOver(1, slice/4)
	if excess := p.charge(1, 0, now); excess != slice*3/4 {
		t.Errorf("the excess carried over is %v", excess)
	}
}

// A script that waits for its steps is not stopped for what the others of its token compute.
func TestAScriptThatWaitsIsNotStopped(t *testing.T) {
	pool := testPool(t, Config{MemoryMB: 64, CPU: 20 * time.Second, Steps: 10, PerToken: 8})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range 3 {
		all.Go(func() { pool.Run(ctx, Script{Code: "for(;;);", Commands: map[string]string{}}, nil) })
	}
	for end := time.Now().Add(20 * time.Second); len(pool.throttle.pausing) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("none of them is stopped")
		}
	}
	c, err := pool.assign(ctx, Script{Code: "for (let i = 0; i < 5; i++) await browser.echo('a');", Commands: map[string]string{"echo": "text"}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.discard(c)
	watched, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { pool.throttle.watch(watched, c, 0) })
	stopped := 0
	ended, err := c.run(ctx, pool.config, func(context.Context, Step) Answer {
		for range 10 {
			time.Sleep(slice)
			if state := stateOf(t, c.cmd.Process.Pid); state == "T" {
				stopped++
			}
		}
		return Answer{Result: []byte(`{}`)}
	})
	stop()
	watching.Wait()
	if err != nil || ended.Failure != nil || ended.Steps != 5 {
		t.Errorf("%v %+v", err, ended)
	}
	if stopped > 20 { // of 50: it may have computed for a slice itself
		t.Errorf("while it waited it was stopped %d times of 50", stopped)
	}
}

// stateOf is a process's state (proc(5)).
func stateOf(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(text[bytes.LastIndexByte(text, ')')+2:][:1])
}
