package script

import (
	"context"
	"sync"
	"time"

	"github.com/browserd/browserd/contain"
)

// Scripts have a lower priority (nice) than Chromium and the daemon's other sessions, from the
// start of their process on. That does not help where a container or a desktop counts the
// processor time of the daemon and all that it starts together: the others do not get what a
// script uses. So processor time beyond maxFreeCPU is throttled: a script is stopped for
// pauseFactor times as long as it has computed, one script of the daemon after the other.
const (
	maxFreeCPU  = 500 * time.Millisecond // processor time that the scripts of one token may save up
	refill      = 20                     // one free second is added in so many, up to maxFreeCPU
	slice       = 10 * time.Millisecond  // processor time after which a script is stopped
	pauseFactor = 3
)

// cpuThrottle limits the processor time of the scripts of each token. Any goroutine may call its
// methods.
type cpuThrottle struct {
	pausing chan struct{} // held by the script that pauses

	mu         sync.Mutex
	allowances map[int]*allowance // by the number of the token
}

// allowance is the processor time that the scripts of a token may still use without a pause. It
// is below 0 if scripts that have ended used more (carryOver).
type allowance struct {
	left time.Duration
	at   time.Time // when left was computed
}

func newCPUThrottle() *cpuThrottle {
	return &cpuThrottle{pausing: make(chan struct{}, 1), allowances: map[int]*allowance{}}
}

// charge subtracts the processor time of a script from its token's allowance, and returns the
// excess.
func (p *cpuThrottle) charge(token int, computed time.Duration, now time.Time) (excess time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.allowances[token]
	if a == nil {
		a = &allowance{left: maxFreeCPU, at: now}
		p.allowances[token] = a
	}
	a.left, a.at = min(a.left+now.Sub(a.at)/refill, maxFreeCPU)-computed, now
	excess = max(-a.left, 0)
	a.left += excess
	return excess
}

// carryOver charges the excess of a script that has ended to the token's next script.
func (p *cpuThrottle) carryOver(token int, excess time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowances[token].left -= excess
}

// pause waits until the pauses of other scripts are over, and then for that of excess.
func (p *cpuThrottle) pause(ctx context.Context, excess time.Duration) {
	select {
	case p.pausing <- struct{}{}:
		defer func() { <-p.pausing }()
	case <-ctx.Done():
		return
	}
	wait := time.NewTimer(pauseFactor * excess)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
}

// waitToBegin waits until the token's next script may begin.
func (p *cpuThrottle) waitToBegin(ctx context.Context, token int) {
	if excess := p.charge(token, 0, time.Now()); excess >= slice {
		p.pause(ctx, excess)
	} else {
		p.carryOver(token, excess)
	}
}

// watch throttles a script in its process until ctx ends.
func (p *cpuThrottle) watch(ctx context.Context, c *process, token int) {
	pid := c.cmd.Process.Pid
	before := contain.ProcessorTime(pid)
	tick := time.NewTicker(slice)
	defer tick.Stop()
	var excess time.Duration
	for over := false; !over; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			over = true
		}
		now := contain.ProcessorTime(pid)
		excess += p.charge(token, max(now-before, 0), time.Now())
		before = now
		if excess >= slice && !over {
			contain.Stop(pid)
			p.pause(ctx, excess)
			contain.Continue(pid)
			excess = 0
		}
	}
	p.carryOver(token, excess)
}
