// Package handoff says who drives a session: its agent, or a person. It owns the rules: one
// driver at a time, how long a hand-off lasts, and what the agent is told at its end. It
// knows no page, no browser and no transport.
//
// A hand-off begins when the agent asks for one, or when a person takes over unasked. It ends
// when a person says that it is done or cancelled, when its time is over, or, where nobody
// asked for it, when the person who drove is gone. An agent that has asked gets its outcome
// once.
package handoff

import (
	"context"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// How long a hand-off lasts.
const (
	// TakenOver is how long a person drives who took over unasked.
	TakenOver = 15 * time.Minute
	// Busy is what a driver has, after each input, in any case: nobody is cut off in the
	// middle of a word.
	Busy = time.Minute
	// Away is after how long a driver of whom nothing is heard drives no longer: the tab is
	// closed, the network gone.
	Away = time.Minute
)

// State is what became of a hand-off.
type State string

// The states of a hand-off.
const (
	Waiting   State = "waiting"   // for a person, or until the one who drives is done
	Done      State = "done"      // a person did what was asked, or handed back
	Cancelled State = "cancelled" // a person will not do it
	Expired   State = "expired"   // nobody came, or the time was over
)

// Person is somebody who looks at a session.
type Person struct {
	ID   string // one for each view, never shown
	Name string // for the agent and for others who look: whose link the person opened
}

// Status is a hand-off as others see it. The zero value is that there is none.
type Status struct {
	State        State     `json:"state,omitempty"`
	Asked        bool      `json:"asked,omitempty"`        // the agent asked for it
	Reason       string    `json:"reason,omitempty"`       // the agent's own words
	Since        time.Time `json:"since,omitzero"`         // when it began
	Until        time.Time `json:"until,omitzero"`         // when it ends by itself
	Driver       string    `json:"driver,omitempty"`       // Person.Name; empty: nobody drives
	DrivingSince time.Time `json:"driving_since,omitzero"` // by Driver
	Ready        bool      `json:"-"`                      // what the driver does reaches the page
	Note         string    `json:"note,omitempty"`         // the person's words, at the end
	ID           string    `json:"-"`                      // Person.ID of the driver
	URL          string    `json:"-"`                      // the link for the agent's person; empty: there is none yet
}

// Control is who drives one session. The zero value is that its agent does. Any goroutine
// may call its methods.
type Control struct {
	// Changed is called after each change with what is so now, in order, with a lock held:
	// it must not block and not call the Control. Set it before the first call.
	Changed func(Status)

	mu       sync.Mutex
	now      Status
	seen     time.Time // when something was heard of the driver
	input    time.Time // when the driver last did something
	timer    *time.Timer
	over     chan struct{}                   // closed at the end; nil: there is no hand-off
	result   *Status                         // the outcome that the agent has not been told; nil: none
	driving  *driving                        // what the driver does now; nil: they do not drive, or not yet
	spans    []span                          // when persons drove
	taken    map[int]context.CancelCauseFunc // called when a person takes over
	last     int
	typed    map[int]bool // documents into which a person has typed
	scripted bool         // the agent has run JavaScript
	opens    time.Time    // until when the link can be opened
}

// Ask begins a hand-off for the agent. Where there is one, which a person may have begun, it
// stays as it is; began says whether there was none. It forgets an outcome that was not fetched. link makes the link
// that the agent gives its person; it is called where there is none yet, or where the one that
// there is can be opened no longer. Its error is that of Ask, and then nothing has begun.
func (c *Control) Ask(reason string, life time.Duration, link func() (url string, opens time.Time, err error)) (began bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	began = c.over == nil
	if began || c.now.URL == "" || !now.Before(c.opens) {
		url, opens, err := link()
		if err != nil {
			return false, err
		}
		if began {
			c.begin(now)
		}
		c.now.URL, c.opens = url, opens
	}
	if began {
		c.now.Asked, c.now.Reason, c.now.Until = true, reason, now.Add(life)
		c.changed()
	}
	return began, nil
}

func (c *Control) begin(now time.Time) {
	c.now, c.over, c.result = Status{State: Waiting, Since: now}, make(chan struct{}), nil
}

// changed reports the change, and sees to the end. The caller holds mu.
func (c *Control) changed() {
	if c.Changed != nil {
		c.Changed(c.now)
	}
	c.watch()
}

// watch sets the timer for the next end. The caller holds mu.
func (c *Control) watch() {
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.over == nil {
		return
	}
	next := c.ends()
	if gone := c.seen.Add(Away); c.now.Driver != "" && gone.Before(next) {
		next = gone
	}
	c.timer = time.AfterFunc(time.Until(next), c.expire)
}

// ends is when the hand-off ends by itself. The caller holds mu.
func (c *Control) ends() time.Time {
	if busy := c.input.Add(Busy); c.now.Driver != "" && busy.After(c.now.Until) {
		return busy
	}
	return c.now.Until
}

func (c *Control) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	switch {
	case c.over == nil:
	case !now.Before(c.ends()):
		c.end(Expired, "")
	case c.now.Driver != "" && !now.Before(c.seen.Add(Away)):
		c.leave()
	default:
		c.watch()
	}
}

// Take makes the person the driver. Whatever runs under UntilTaken ends. Taking twice is
// harmless. The error is handed_off: somebody else drives.
func (c *Control) Take(p Person) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.over != nil && c.now.Driver != "" {
		if c.now.ID == p.ID {
			c.seen = now
			return nil
		}
		return protocol.Errorf(protocol.HandedOff, "somebody else drives the session since %s: %s", clock(c.now.DrivingSince), c.now.Driver).
			With("driver", c.now.Driver).With("since", c.now.DrivingSince.UTC())
	}
	if c.over == nil {
		c.begin(now)
		c.now.Until = now.Add(TakenOver)
	}
	c.seen, c.input = now, now
	c.now.Driver, c.now.ID, c.now.DrivingSince = p.Name, p.ID, now
	if len(c.spans) == maxSpans {
		c.spans[1].from = c.spans[0].from
		c.spans = append(c.spans[:0], c.spans[1:]...)
	}
	c.spans = append(c.spans, span{from: now})
	for _, cancel := range c.taken {
		cancel(c.refusal())
	}
	clear(c.taken)
	c.changed()
	return nil
}

// driving is the time in which one person drives.
type driving struct {
	from  time.Time
	ctx   context.Context // ends with it
	stop  context.CancelFunc
	work  sync.WaitGroup // what they have begun
	alone chan struct{}  // 1: free for what needs the session's turn
	ended func()
}

// span is a time in which a person drove. A zero to: they still do.
type span struct{ from, to time.Time }

// maxSpans is how many of them are kept. Of older ones it is only known when the first began and the
// last ended.
const maxSpans = 100

// Begin is for when the session is ready for the person who took it over: from now on Enter
// lets them in. ended is called once, by a goroutine of its own, when they drive no longer and
// what they had begun has ended, which may be now.
func (c *Control) Begin(p Person, ended func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.drives(p) {
		go ended()
		return
	}
	d := &driving{from: c.now.DrivingSince, alone: make(chan struct{}, 1), ended: ended}
	d.ctx, d.stop = context.WithCancel(context.Background())
	c.driving, c.now.Ready = d, true
}

// Enter begins something that the person does to the session. inside ends with ctx, and when
// they drive no longer; whoever drives next waits for leave. alone: it needs the session's turn,
// and waits for what else does. ok is false where they do not drive, or not yet.
func (c *Control) Enter(ctx context.Context, p Person, alone bool) (inside context.Context, leave func(), ok bool) {
	c.mu.Lock()
	d := c.driving
	if d == nil || !c.drives(p) {
		c.mu.Unlock()
		return nil, nil, false
	}
	d.work.Add(1)
	c.mu.Unlock()
	inside, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(d.ctx, cancel)
	end := func() { stop(); cancel(); d.work.Done() }
	if !alone {
		return inside, end, true
	}
	select {
	case d.alone <- struct{}{}:
		if inside.Err() != nil { // both were ready
			<-d.alone
			end()
			return nil, nil, false
		}
		return inside, func() { <-d.alone; end() }, true
	case <-inside.Done():
		end()
		return nil, nil, false
	}
}

// Drove reports whether a person drove at that time.
func (c *Control) Drove(at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if !at.Before(s.from) && (s.to.IsZero() || !at.After(s.to)) {
			return true
		}
	}
	return false
}

// Drives reports whether the person drives.
func (c *Control) Drives(p Person) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drives(p)
}

func (c *Control) drives(p Person) bool {
	return c.over != nil && c.now.Driver != "" && c.now.ID == p.ID
}

// Seen notes that the person is there, where they drive; acts: that they did something.
func (c *Control) Seen(p Person, acts bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.drives(p) {
		return
	}
	c.seen = time.Now()
	if acts {
		c.input = c.seen
	}
}

// HandBack ends the person's driving. What nobody asked for is done with it; else the
// hand-off goes on, for somebody else. It reports whether they drove.
func (c *Control) HandBack(p Person) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.drives(p) {
		return false
	}
	c.leave()
	return true
}

// leave takes it that the driver has left. The caller holds mu.
func (c *Control) leave() {
	if !c.now.Asked {
		c.end(Done, "")
		return
	}
	c.drop()
	c.changed()
}

// left notes that whoever drove from then on has left. The caller holds mu.
func (c *Control) left(from time.Time) {
	for i := range c.spans {
		if c.spans[i].from.Equal(from) {
			c.spans[i].to = time.Now()
		}
	}
}

// drop is the end of a person's driving. The caller holds mu.
func (c *Control) drop() {
	if d := c.driving; d != nil {
		d.stop()
		go func() {
			d.work.Wait()
			d.ended()
			c.mu.Lock()
			defer c.mu.Unlock()
			c.left(d.from)
		}()
	} else {
		c.left(c.now.DrivingSince)
	}
	c.driving, c.now.Driver, c.now.ID, c.now.DrivingSince, c.now.Ready = nil, "", "", time.Time{}, false
}

// End ends the hand-off, with the person's note. It may be said by who drives, and by
// anybody while nobody does. The error is handed_off: somebody else drives. Where there is
// no hand-off it does nothing.
func (c *Control) End(p Person, how State, note string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over == nil {
		return nil
	}
	if c.now.Driver != "" && !c.drives(p) {
		return protocol.Errorf(protocol.HandedOff, "somebody else drives the session since %s: %s", clock(c.now.DrivingSince), c.now.Driver).
			With("driver", c.now.Driver).With("since", c.now.DrivingSince.UTC())
	}
	c.end(how, note)
	return nil
}

// end ends the hand-off. The caller holds mu.
func (c *Control) end(how State, note string) {
	c.drop()
	c.now.State, c.now.Note = how, note
	said := c.now
	c.result = &said
	close(c.over)
	c.over = nil
	c.changed()
	c.now = Status{}
}

// Close is for the end of the session: nothing is told any more.
func (c *Control) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.over != nil {
		c.drop()
		close(c.over)
		c.over, c.now = nil, Status{}
	}
}

// Status returns what is so now.
func (c *Control) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Over returns what is closed at the end of the hand-off; nil: there is none.
func (c *Control) Over() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// Outcome returns, once, what became of the hand-off that has ended; nil: nothing that the
// agent has not been told.
func (c *Control) Outcome() *Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.result
	c.result = nil
	return r
}

// Untold takes an outcome back that the agent was not told after all.
func (c *Control) Untold(said Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over == nil {
		c.result = &said
	}
}

// Typed notes that a person typed into the document of that number.
func (c *Control) Typed(document int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.typed == nil {
		c.typed = map[int]bool{}
	}
	c.typed[document] = true
}

// TypedInto reports whether a person has typed into the document of that number.
func (c *Control) TypedInto(document int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.typed[document]
}

// Scripts notes that the agent has run JavaScript, which may still listen.
func (c *Control) Scripts() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scripted = true
}

// Scripted reports whether the agent has run JavaScript: it may see what a person types.
func (c *Control) Scripted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.scripted
}

// Refusal is the error handed_off for a command of the agent's: of any while a person
// drives, and, of one that changes something, while one is waited for. nil: it may run.
func (c *Control) Refusal(changes bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over == nil || c.now.Driver == "" && !changes {
		return nil
	}
	return c.refusal()
}

// refusal is Refusal for a caller that holds mu.
func (c *Control) refusal() error {
	var e *protocol.Error
	if c.now.Driver != "" {
		e = protocol.Errorf(protocol.HandedOff, "a person drives the session since %s", clock(c.now.DrivingSince)).
			With("driver", c.now.Driver).With("since", c.now.DrivingSince.UTC())
	} else {
		e = protocol.Errorf(protocol.HandedOff, "the session waits since %s for a person to take over", clock(c.now.Since)).
			With("since", c.now.Since.UTC())
	}
	return e.With("asked", c.now.Asked).With("until", c.ends().UTC())
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// UntilTaken returns a context that ends, with the cause handed_off, when a person takes
// over. Call stop when it is not needed any more.
func (c *Control) UntilTaken(ctx context.Context) (until context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken == nil {
		c.taken = map[int]context.CancelCauseFunc{}
	}
	if c.now.Driver != "" {
		cancel(c.refusal())
	}
	c.last++
	key := c.last
	c.taken[key] = cancel
	return ctx, func() {
		cancel(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.taken, key)
	}
}
