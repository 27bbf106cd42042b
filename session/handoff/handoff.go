// Package handoff decides who drives a session: its agent or a person. It owns the rules: one driver at a time,
// how long a hand-off lasts, and what the agent is told at its end. It knows no page, no browser and no
// transport.
//
// A hand-off begins when the agent asks for one, or when a person takes over without being asked. It ends when
// a person says that it is done or cancelled, or when its time is over. If the agent did not ask for it, it
// also ends when the person stops driving. The agent gets the outcome once.
package handoff

import (
	"context"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// How long a hand-off lasts.
const (
	// TakeoverDuration is how long a person may drive who took over without being asked.
	TakeoverDuration = 15 * time.Minute
	// InputGrace is how long a hand-off lasts at least after each input of the driver, so that nobody is cut
	// off in the middle of a word.
	InputGrace = time.Minute
	// DriverTimeout is how long a driver may be silent before they stop driving: their tab may be closed or
	// their network down.
	DriverTimeout = time.Minute
)

// State is the state of a hand-off.
type State string

// The states of a hand-off.
const (
	Waiting   State = "waiting"   // for a person to come, or to finish
	Done      State = "done"      // a person did what was asked, or handed back
	Cancelled State = "cancelled" // a person will not do it
	Expired   State = "expired"   // its time was over
)

// Person is somebody who has a view of a session open.
type Person struct {
	ID   string // identifies the view; never shown
	Name string // shown to the agent and to other viewers: whose link the person opened
}

// Status is a hand-off as others see it. The zero value means that there is none.
type Status struct {
	State        State     `json:"state,omitempty"`
	Asked        bool      `json:"asked,omitempty"`        // the agent asked for it
	Reason       string    `json:"reason,omitempty"`       // the agent's own words
	Since        time.Time `json:"since,omitzero"`         // when it began
	Until        time.Time `json:"until,omitzero"`         // when it ends by itself
	Driver       string    `json:"driver,omitempty"`       // Person.Name; empty: nobody drives
	DrivingSince time.Time `json:"driving_since,omitzero"` // by Driver
	Ready        bool      `json:"-"`                      // the driver's input reaches the page
	Note         string    `json:"note,omitempty"`         // what the person wrote at the end
	ID           string    `json:"-"`                      // Person.ID of the driver
	URL          string    `json:"-"`                      // the link for the agent's person; empty: there is none yet
}

// Control says who drives one session. With the zero value its agent does. Any goroutine may call its methods.
type Control struct {
	// Changed is called after each change with the new status, in order. A mutex is held: it must not block and
	// must not call the Control. Set it before the first method call.
	Changed func(Status)

	mu          sync.Mutex
	now         Status
	lastSeen    time.Time // when the driver's view was last heard of
	lastInput   time.Time // when the driver last did something
	timer       *time.Timer
	ended       chan struct{}                   // closed at the end; nil: there is no hand-off
	result      *Status                         // the outcome, until the agent has got it; nil: none
	driving     *driving                        // the time in which a person drives; nil: nobody drives, or the session is not ready for them yet
	spans       []span                          // times in which a person drove, oldest first
	onTakeover  map[int]context.CancelCauseFunc // cancel funcs of UntilTakenOver, by a number
	last        int
	typed       map[int]bool // documents into which a person has typed
	ranScript   bool         // the agent has run JavaScript
	linkExpires time.Time    // until when the link can be opened
}

// Ask begins a hand-off for the agent, and forgets an outcome that the agent did not fetch. If there is a
// hand-off already, which a person may have begun, it stays as it is, and began is false. link makes the link
// that the agent gives its person. It is called if there is no link yet or if it has expired. If it fails, Ask
// returns its error and begins nothing.
func (c *Control) Ask(reason string, life time.Duration, link func() (url string, linkExpires time.Time, err error)) (began bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	began = c.ended == nil
	if began || c.now.URL == "" || !now.Before(c.linkExpires) {
		url, linkExpires, err := link()
		if err != nil {
			return false, err
		}
		if began {
			c.begin(now)
		}
		c.now.URL, c.linkExpires = url, linkExpires
	}
	if began {
		c.now.Asked, c.now.Reason, c.now.Until = true, reason, now.Add(life)
		c.changed()
	}
	return began, nil
}

func (c *Control) begin(now time.Time) {
	c.now, c.ended, c.result = Status{State: Waiting, Since: now}, make(chan struct{}), nil
}

// changed calls Changed, and sets the timer anew. The caller holds mu.
func (c *Control) changed() {
	if c.Changed != nil {
		c.Changed(c.now)
	}
	c.resetTimer()
}

// resetTimer sets the timer for the next time at which expire has something to do. The caller holds mu.
func (c *Control) resetTimer() {
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.ended == nil {
		return
	}
	next := c.deadline()
	if gone := c.lastSeen.Add(DriverTimeout); c.now.Driver != "" && gone.Before(next) {
		next = gone
	}
	c.timer = time.AfterFunc(time.Until(next), c.expire)
}

// deadline returns when the hand-off ends by itself. The caller holds mu.
func (c *Control) deadline() time.Time {
	if busy := c.lastInput.Add(InputGrace); c.now.Driver != "" && busy.After(c.now.Until) {
		return busy
	}
	return c.now.Until
}

func (c *Control) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	switch {
	case c.ended == nil:
	case !now.Before(c.deadline()):
		c.end(Expired, "")
	case c.now.Driver != "" && !now.Before(c.lastSeen.Add(DriverTimeout)):
		c.leave()
	default:
		c.resetTimer()
	}
}

// Take makes the person the driver, and ends the contexts of UntilTakenOver. Taking twice is harmless. Error:
// handed_off if somebody else drives.
func (c *Control) Take(p Person) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.ended != nil && c.now.Driver != "" {
		if c.now.ID == p.ID {
			c.lastSeen = now
			return nil
		}
		return protocol.Errorf(protocol.HandedOff, "somebody else drives the session since %s: %s", clock(c.now.DrivingSince), c.now.Driver).
			With("driver", c.now.Driver).With("since", c.now.DrivingSince.UTC())
	}
	if c.ended == nil {
		c.begin(now)
		c.now.Until = now.Add(TakeoverDuration)
	}
	c.lastSeen, c.lastInput = now, now
	c.now.Driver, c.now.ID, c.now.DrivingSince = p.Name, p.ID, now
	if len(c.spans) == maxSpans {
		c.spans[1].from = c.spans[0].from
		c.spans = append(c.spans[:0], c.spans[1:]...)
	}
	c.spans = append(c.spans, span{from: now})
	for _, cancel := range c.onTakeover {
		cancel(c.refusal())
	}
	clear(c.onTakeover)
	c.changed()
	return nil
}

// driving is the time in which one person drives and the session is ready for them.
type driving struct {
	from      time.Time
	ctx       context.Context // ends when they stop driving
	stop      context.CancelFunc
	work      sync.WaitGroup // what they have begun (Enter)
	exclusive chan struct{}  // a semaphore of one, for what needs the session's turn
	onEnd     func()
}

// span is a time in which a person drove. If to is zero, they still do.
type span struct{ from, to time.Time }

// maxSpans is how many spans are kept. The oldest ones are joined to one, from the first one's begin to the
// last one's end.
const maxSpans = 100

// Begin says that the session is ready for the person who took it over: from now on Enter lets them in. ended
// is called once, in its own goroutine, when they have stopped driving and everything that they began has
// ended. That may be at once.
func (c *Control) Begin(p Person, ended func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.drives(p) {
		go ended()
		return
	}
	d := &driving{from: c.now.DrivingSince, exclusive: make(chan struct{}, 1), onEnd: ended}
	d.ctx, d.stop = context.WithCancel(context.Background())
	c.driving, c.now.Ready = d, true
}

// Enter begins something that the person does to the session. The context inside ends with ctx, or when they
// stop driving. Call leave when it is done: the next driver and the agent wait for that. With exclusive it
// needs the session's turn, and waits for everything else that does. ok is false if the person does not drive,
// or the session is not ready for them yet.
func (c *Control) Enter(ctx context.Context, p Person, exclusive bool) (inside context.Context, leave func(), ok bool) {
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
	if !exclusive {
		return inside, end, true
	}
	select {
	case d.exclusive <- struct{}{}:
		if inside.Err() != nil { // both were ready
			<-d.exclusive
			end()
			return nil, nil, false
		}
		return inside, func() { <-d.exclusive; end() }, true
	case <-inside.Done():
		end()
		return nil, nil, false
	}
}

// DroveAt reports whether a person drove at that time.
func (c *Control) DroveAt(at time.Time) bool {
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
	return c.ended != nil && c.now.Driver != "" && c.now.ID == p.ID
}

// MarkActive records that the person, if they drive, is still there. acts says that they did something.
func (c *Control) MarkActive(p Person, acts bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.drives(p) {
		return
	}
	c.lastSeen = time.Now()
	if acts {
		c.lastInput = c.lastSeen
	}
}

// HandBack ends the person's driving. If the agent asked for the hand-off, that goes on, for another person;
// otherwise it ends as done. HandBack reports whether the person drove.
func (c *Control) HandBack(p Person) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.drives(p) {
		return false
	}
	c.leave()
	return true
}

// leave ends the driving of the driver, who has left. The caller holds mu.
func (c *Control) leave() {
	if !c.now.Asked {
		c.end(Done, "")
		return
	}
	c.stopDriving()
	c.changed()
}

// closeSpan ends the span that began at from. The caller holds mu.
func (c *Control) closeSpan(from time.Time) {
	for i := range c.spans {
		if c.spans[i].from.Equal(from) {
			c.spans[i].to = time.Now()
		}
	}
}

// stopDriving ends a person's driving, and calls onEnd when everything that they began has ended. The caller
// holds mu.
func (c *Control) stopDriving() {
	if d := c.driving; d != nil {
		d.stop()
		go func() {
			d.work.Wait()
			d.onEnd()
			c.mu.Lock()
			defer c.mu.Unlock()
			c.closeSpan(d.from)
		}()
	} else {
		c.closeSpan(c.now.DrivingSince)
	}
	c.driving, c.now.Driver, c.now.ID, c.now.DrivingSince, c.now.Ready = nil, "", "", time.Time{}, false
}

// End ends the hand-off with the person's note. The driver may call it, and anybody while nobody drives.
// Without a hand-off it does nothing. Error: handed_off if somebody else drives.
func (c *Control) End(p Person, how State, note string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
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
	c.stopDriving()
	c.now.State, c.now.Note = how, note
	said := c.now
	c.result = &said
	close(c.ended)
	c.ended = nil
	c.changed()
	c.now = Status{}
}

// Close ends the hand-off with the session. Changed is not called any more.
func (c *Control) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.ended != nil {
		c.stopDriving()
		close(c.ended)
		c.ended, c.now = nil, Status{}
	}
}

// Status returns the current status.
func (c *Control) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Ended returns a channel that is closed at the end of the hand-off; nil: there is none.
func (c *Control) Ended() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// Outcome returns the outcome of the last hand-off, once. It is nil if there is none or if it was returned
// before.
func (c *Control) Outcome() *Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.result
	c.result = nil
	return r
}

// RestoreOutcome makes Outcome return an outcome again, which did not reach the agent.
func (c *Control) RestoreOutcome(said Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.result = &said
	}
}

// RecordTyping records that a person has typed into the document of that number.
func (c *Control) RecordTyping(document int) {
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

// RecordScript records that the agent has run JavaScript, which may still listen to input.
func (c *Control) RecordScript() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ranScript = true
}

// RanScript reports whether the agent has run JavaScript: it may see what a person types.
func (c *Control) RanScript() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ranScript
}

// Refusal returns the error handed_off for a command of the agent, or nil if it may run. While a person drives,
// no command may. While a person is waited for, commands that only read may (changes is false).
func (c *Control) Refusal(changes bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil || c.now.Driver == "" && !changes {
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
	return e.With("asked", c.now.Asked).With("until", c.deadline().UTC())
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// UntilTakenOver returns a context that ends with the cause handed_off when a person takes over. Call stop when
// it is not needed any more.
func (c *Control) UntilTakenOver(ctx context.Context) (until context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.onTakeover == nil {
		c.onTakeover = map[int]context.CancelCauseFunc{}
	}
	if c.now.Driver != "" {
		cancel(c.refusal())
	}
	c.last++
	key := c.last
	c.onTakeover[key] = cancel
	return ctx, func() {
		cancel(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.onTakeover, key)
	}
}
