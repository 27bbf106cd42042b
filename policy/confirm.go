package policy

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Limits of what may wait for an answer at once, so that an agent can neither
// fill the memory nor bury an operator in questions.
const (
	maxQuestions         = 256
	maxQuestionsPerAgent = 32
	// offerLife is how long an egress question may be answered: an agent asks
	// its person, who may be making coffee.
	offerLife = 15 * time.Minute
)

// Question is something that an operator may answer.
type Question struct {
	// ID names it in confirm; Confirmations sets it, with Asked and Expires.
	ID      string    `json:"id"`
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires"`
	// Agent asks, by the token that Token tells from all others; the same token
	// may not answer.
	Agent string `json:"agent"`
	Token int    `json:"-"`
	// Session is where it is to happen, Command what, with Params: secrets
	// masked, long values cut.
	Session string         `json:"session,omitempty"`
	Command string         `json:"command"`
	Params  map[string]any `json:"params,omitempty"`
	// URL is the page's, Origin that of the documents in which it is to happen, by
	// their own word ("null": an opaque one, such as a sandboxed frame's), TabOrigin the
	// tab's where that is another. Ref is the element's as the agent saw it.
	URL       string `json:"url,omitempty"`
	Origin    string `json:"origin,omitempty"`
	TabOrigin string `json:"tab_origin,omitempty"`
	Ref       string `json:"ref,omitempty"`
	Role      string `json:"role,omitempty"`
	Name      string `json:"name,omitempty"`
	// Why says in a sentence which rule asks.
	Why string `json:"why"`
	// Config is what a yes adds to the policy; nil where the question is about
	// the command itself.
	Config *Setting `json:"config,omitempty"`
	// Host is where it is to happen: the origin's host, that of the address, or a
	// route's pattern.
	Host string `json:"host,omitempty"`
	// Place is what the answer is remembered for, with agent and command; Once: for
	// nothing, since what it holds for cannot be told from others.
	Place string `json:"-"`
	Once  bool   `json:"-"`
}

// event is the question as operators are told it. A value that is empty is
// left out.
func (q Question) event() protocol.Event {
	fields := map[string]any{
		"id": q.ID, "agent": q.Agent, "command": q.Command, "why": q.Why, "asked": q.Asked, "expires": q.Expires,
	}
	for key, value := range map[string]string{"url": q.URL, "origin": q.Origin, "tab_origin": q.TabOrigin, "ref": q.Ref, "role": q.Role, "name": q.Name, "host": q.Host} {
		if value != "" {
			fields[key] = value
		}
	}
	if len(q.Params) > 0 {
		fields["params"] = q.Params
	}
	if q.Config != nil {
		fields["config"] = q.Config
	}
	return protocol.Event{Type: protocol.EventConfirmationRequested, Session: q.Session, Fields: fields}
}

// How long an answer holds.
const (
	RememberNo      = "no"      // for this question
	RememberSession = "session" // for the session's life
	RememberAlways  = "always"  // across restarts too
)

// Answer is an operator's.
type Answer struct {
	Allow    bool
	Remember string // RememberNo, RememberSession or RememberAlways
}

// Confirmations are the questions that wait for an operator, and the answers
// that are kept for good. Its methods may be called by any goroutine. Make it
// with NewConfirmations.
type Confirmations struct {
	memory    *memory
	operators bool

	mu        sync.Mutex
	open      map[string]*pending
	listeners map[int]func(protocol.Event)
	next      int
}

// pending is a question, and who waits for its answer: a command by answered,
// or, for an offer, nobody but what apply does.
type pending struct {
	Question
	number   int         // in the order of asking
	answered chan Answer // of one, for the one that waits; nil for an offer
	apply    func(Answer) error
	expiry   *time.Timer
	over     bool // nobody waits any more
}

// ErrNoOperator says that no token has the role operator, so that nobody could
// ever answer.
var ErrNoOperator = errors.New("no token has the role operator")

// ErrTooMany says that too many questions wait already.
var ErrTooMany = errors.New("too many questions wait for an operator already")

// ErrNoAnswer says that a question's time is over.
var ErrNoAnswer = errors.New("no operator answered in time")

// NewConfirmations reads what was remembered for good from the file at path; an
// empty path: nothing can be remembered so. operators says whether a token with
// the role operator is configured. A file that cannot be understood, or that
// others could have written, is an error: what it said might have been a no.
func NewConfirmations(path string, operators bool) (*Confirmations, error) {
	m, err := readMemory(path)
	if err != nil {
		return nil, err
	}
	return &Confirmations{memory: m, operators: operators, open: map[string]*pending{}, listeners: map[int]func(protocol.Event){}}, nil
}

// Settings are the additions to the policy that were remembered for good, as
// far as they have entries.
func (c *Confirmations) Settings() []Setting { return c.memory.settings() }

// Remembered returns the answer that was given for good to the agent's command
// at that Question.Place, known false where there is none.
func (c *Confirmations) Remembered(agent, command, place string) (allow, known bool) {
	return c.memory.command(agent, command, place)
}

// Ask puts the question to the operators and waits for an answer, at most for
// wait. Errors: ErrNoOperator, ErrTooMany and ErrNoAnswer, and ctx's cause;
// whatever it is, the answer is no.
func (c *Confirmations) Ask(ctx context.Context, q Question, wait time.Duration) (Answer, error) {
	p := &pending{Question: q, answered: make(chan Answer, 1)}
	p.Asked = time.Now()
	p.Expires = p.Asked.Add(wait)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(p.Expires) {
		p.Expires = deadline
	}
	if err := c.add(p); err != nil {
		return Answer{}, err
	}
	defer c.forget(p)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case a := <-p.answered:
		return a, nil
	case <-timer.C:
		return Answer{}, ErrNoAnswer
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return Answer{}, ErrNoAnswer
		}
		return Answer{}, context.Cause(ctx)
	}
}

// Offer puts a question that nobody waits for: a yes is done by apply, called
// once, by the goroutine that answers; its error leaves the question open. The
// same question, by agent, session and setting, is put once: it keeps its id.
// q.Config must be there.
// Errors: ErrNoOperator and ErrTooMany.
func (c *Confirmations) Offer(q Question, apply func(Answer) error) (id string, err error) {
	p := &pending{Question: q, apply: apply}
	p.Asked = time.Now()
	p.Expires = p.Asked.Add(offerLife)
	if id := c.same(q); id != "" {
		return id, nil
	}
	if err := c.add(p); err != nil {
		return "", err
	}
	return p.ID, nil
}

// same finds the offer that asks what q asks.
func (c *Confirmations) same(q Question) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, p := range c.open {
		if p.apply != nil && p.Agent == q.Agent && p.Session == q.Session && p.Config.Key == q.Config.Key && slices.Equal(p.Config.Add, q.Config.Add) {
			return id
		}
	}
	return ""
}

// add opens the question and tells the operators that listen.
func (c *Confirmations) add(p *pending) error {
	if !c.operators {
		return ErrNoOperator
	}
	p.ID = "c_" + strings.ToLower(rand.Text()[:16])
	c.mu.Lock()
	defer c.mu.Unlock()
	own := 0
	for _, o := range c.open {
		if o.Agent == p.Agent {
			own++
		}
	}
	if len(c.open) >= maxQuestions || own >= maxQuestionsPerAgent {
		return ErrTooMany
	}
	c.next++
	p.number = c.next
	c.open[p.ID] = p
	if p.apply != nil {
		p.expiry = time.AfterFunc(time.Until(p.Expires), func() { c.forget(p) })
	}
	for _, tell := range c.listeners {
		tell(p.event())
	}
	return nil
}

func (c *Confirmations) forget(p *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.over = true
	delete(c.open, p.ID)
}

// Answer gives the question's answer, in the name of the token. Only the first
// answer counts. RememberAlways is on disk when it returns. Errors are
// *protocol.Error, invalid_params for an id that waits for nothing (any more)
// and policy_denied for the token that asks, or those of the disk and of what a
// yes does; then the question is still open.
func (c *Confirmations) Answer(id string, token int, a Answer) (Question, error) {
	c.mu.Lock()
	p := c.open[id]
	if p == nil || time.Now().After(p.Expires) {
		c.mu.Unlock()
		return Question{}, protocol.Errorf(protocol.InvalidParams, "id: nothing waits for a confirmation under %q: it was answered, or its time is over", shortID(id)).
			With("parameter", "id").Then("status lists what waits")
	}
	if p.Token == token {
		c.mu.Unlock()
		return Question{}, protocol.Errorf(protocol.PolicyDenied, "who asks may not answer").With("reason", string(ReasonRole)).
			Then("answer with another operator's token")
	}
	// Taken out while it is being answered, so that a second answer finds nothing.
	delete(c.open, id)
	c.mu.Unlock()

	if err := c.settle(p, a); err != nil {
		c.mu.Lock()
		if !p.over {
			c.open[id] = p
		}
		c.mu.Unlock()
		return Question{}, err
	}
	if p.expiry != nil {
		p.expiry.Stop()
	}
	return p.Question, nil
}

func (c *Confirmations) settle(p *pending, a Answer) error {
	if p.apply != nil {
		// A no to an address changes nothing: it stays shut.
		if !a.Allow {
			return nil
		}
		if a.Remember == RememberAlways {
			if err := c.memory.addSetting(*p.Config); err != nil {
				return err
			}
		}
		return p.apply(a)
	}
	if a.Remember == RememberAlways && !p.Once {
		if err := c.memory.addCommand(p.Agent, p.Command, p.Place, a.Allow); err != nil {
			return err
		}
	}
	p.answered <- a
	return nil
}

// Pending lists the questions that wait, the oldest first.
func (c *Confirmations) Pending() []Question {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending()
}

func (c *Confirmations) pending() []Question {
	list := make([]Question, 0, len(c.open))
	for _, p := range slices.SortedFunc(maps.Values(c.open), func(a, b *pending) int { return a.number - b.number }) {
		list = append(list, p.Question)
	}
	return list
}

// Listen tells the questions that wait now, and then each that comes, until
// stop is called. tell must not block and must not call Confirmations. It is
// for operators alone.
func (c *Confirmations) Listen(tell func(protocol.Event)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.pending() {
		tell(q.event())
	}
	c.next++
	id := c.next
	c.listeners[id] = tell
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, id)
	}
}

func shortID(id string) string { return protocol.Cut(id, 40) }
