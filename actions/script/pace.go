package script

import (
	"context"
	"sync"
	"time"

	"github.com/browserd/browserd/contain"
)

// Scripts give way to Chromium and to the daemon's other sessions by their nice value, from the
// start of their process on. That does not help where a container or a desktop counts the
// processor time of the daemon and all that it starts together: what a script takes there, the
// others do not get. So what scripts compute beyond freeCPU is limited too: a script is stopped
// for pauses times as long as it has computed, one script of the daemon after the other.
const (
	freeCPU = 500 * time.Millisecond // processor time that the scripts of one token may save up
	refill  = 20                     // a free second in so many, until freeCPU is reached
	slice   = 10 * time.Millisecond  // processor time after which a script is stopped
	pauses  = 3
)

// pace knows what the scripts of each token have computed. Any goroutine may call its methods.
type pace struct {
	turn chan struct{} // held by the script that pauses

	mu   sync.Mutex
	free map[int]*allowance // by the number of the token
}

// allowance is the processor time that the scripts of a token may still use for nothing; below
// 0 where scripts have ended that used more.
type allowance struct {
	left time.Duration
	at   time.Time // when left was right
}

func newPace() *pace { return &pace{turn: make(chan struct{}, 1), free: map[int]*allowance{}} }

// charge takes what a script has computed from its token's allowance, and returns what is not
// covered.
func (p *pace) charge(token int, computed time.Duration, now time.Time) (owed time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.free[token]
	if a == nil {
		a = &allowance{left: freeCPU, at: now}
		p.free[token] = a
	}
	a.left, a.at = min(a.left+now.Sub(a.at)/refill, freeCPU)-computed, now
	owed = max(-a.left, 0)
	a.left += owed
	return owed
}

// leave has the token's next script pay what one owed at its end.
func (p *pace) leave(token int, owed time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free[token].left -= owed
}

// pause waits until those who came before have paused, and then for what is owed.
func (p *pace) pause(ctx context.Context, owed time.Duration) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return
	}
	wait := time.NewTimer(pauses * owed)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
}

// begin waits until the token's next script may begin.
func (p *pace) begin(ctx context.Context, token int) {
	if owed := p.charge(token, 0, time.Now()); owed >= slice {
		p.pause(ctx, owed)
	} else {
		p.leave(token, owed)
	}
}

// watch keeps the pace of a script in its process until ctx ends.
func (p *pace) watch(ctx context.Context, c *process, token int) {
	pid := c.cmd.Process.Pid
	before := contain.ProcessorTime(pid)
	tick := time.NewTicker(slice)
	defer tick.Stop()
	var owed time.Duration
	for over := false; !over; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			over = true
		}
		now := contain.ProcessorTime(pid)
		owed += p.charge(token, max(now-before, 0), time.Now())
		before = now
		if owed >= slice && !over {
			contain.Stop(pid)
			p.pause(ctx, owed)
			contain.Continue(pid)
			owed = 0
		}
	}
	p.leave(token, owed)
}
