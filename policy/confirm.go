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

// Limits on pending questions, so that an agent can neither fill the memory nor flood
// the operators.
const (
	maxQuestions         = 256
	maxQuestionsPerAgent = 32
	// offerTTL is how long a question about egress can be answered. No command waits
	// for it, so the operator has more time.
	offerTTL = 15 * time.Minute
)

// Question is something that an operator may answer.
type Question struct {
	// ID identifies the question in confirm. Confirmations sets ID, Asked and Expires.
	ID      string    `json:"id"`
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires"`
	// Agent is who asks, and Asker its token. The same token may not answer.
	Agent string `json:"agent"`
	Asker Asker  `json:"-"`
	// Session, Command and Params are the command to run. Secrets in Params are masked,
	// and long values are cut.
	Session string         `json:"session,omitempty"`
	Command string         `json:"command"`
	Params  map[string]any `json:"params,omitempty"`
	// URL is the page's address. Origin is the origin of the documents in which the
	// command will run, as they report it ("null" for an opaque origin, such as a
	// sandboxed frame's). TabOrigin is the tab's origin if it differs. Ref is the
	// element's ref as the agent was shown it.
	URL       string `json:"url,omitempty"`
	Origin    string `json:"origin,omitempty"`
	TabOrigin string `json:"tab_origin,omitempty"`
	Ref       string `json:"ref,omitempty"`
	Role      string `json:"role,omitempty"`
	Name      string `json:"name,omitempty"`
	// Why names the rule that requires the question, in a sentence.
	Why string `json:"why"`
	// Script is the script that sends the command. It is nil if no script does.
	Script *ScriptStep `json:"script,omitempty"`
	// Config is what a yes adds to the policy. It is nil if the question is about the
	// command itself.
	Config *Setting `json:"config,omitempty"`
	// Host is the host that the command is about: the origin's, the address's, or a
	// route's pattern.
	Host string `json:"host,omitempty"`
	// Place is the key under which the answer is remembered, together with agent and
	// command. If Once is set, the answer is not remembered, since the origin is opaque.
	Place string `json:"-"`
	Once  bool   `json:"-"`
}

// Asker is the token with which a question was asked.
type Asker struct {
	ID       string // identifies the token at every node of a fleet; empty: a node of an older version does not say
	Operator bool   // it has the role operator
}

// ScriptStep is a script and the step of it that a question is about.
type ScriptStep struct {
	Run  string `json:"run"`            // the id of the run
	Step int    `json:"step"`           // from 1
	Line int    `json:"line,omitempty"` // of Code, from 1
	Call string `json:"call,omitempty"` // as the script wrote it
	Name string `json:"name,omitempty"` // under which the script was saved, if it is replayed
	Code string `json:"code"`
}

// event returns the question as the fields of an event. It leaves empty values out.
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
	if q.Script != nil {
		fields["script"] = q.Script
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

// Answer is an operator's answer to a Question.
type Answer struct {
	Allow    bool
	Remember string // RememberNo, RememberSession or RememberAlways
}

// Confirmations has the pending questions and the answers to remember always. Any goroutine may call its methods. Make it with NewConfirmations.
type Confirmations struct {
	answers   Answers
	operators bool

	mu        sync.Mutex
	open      map[string]*pending
	listeners map[int]func(protocol.Event)
	relays    map[int]func(protocol.Event) // for operators at other daemons of the fleet
	next      int
}

// pending is a question together with what its answer does: it is sent to answered, on
// which a command waits, or, for an offer, it calls apply.
type pending struct {
	Question
	number   int         // in the order of asking
	answered chan Answer // buffers one answer, so that the sender never waits; nil for an offer
	apply    func(context.Context, Answer) error
	keep     func(ctx context.Context, allow bool) error // nil: there is no session
	expiry   *time.Timer
	over     bool // no command waits any more; guarded by Confirmations.mu
}

// ErrNoOperator means that no token has the role operator, so that there is nobody to answer.
var ErrNoOperator = errors.New("no token has the role operator")

// ErrTooMany means that too many questions are pending.
var ErrTooMany = errors.New("too many questions wait for an operator already")

// ErrNoAnswer means that nobody answered in time.
var ErrNoAnswer = errors.New("no operator answered in time")

// NewConfirmations returns confirmations. answers stores the answers to remember always, and
// operators says whether a token with the role operator is configured.
func NewConfirmations(answers Answers, operators bool) *Confirmations {
	return &Confirmations{answers: answers, operators: operators, open: map[string]*pending{}, listeners: map[int]func(protocol.Event){}, relays: map[int]func(protocol.Event){}}
}

// Remembered returns the stored answer for the agent's command at that Question.Place. known
// is false if there is none. After an error there may be one: ask.
func (c *Confirmations) Remembered(ctx context.Context, agent, command, place string) (allow, known bool, err error) {
	return c.answers.Command(ctx, agent, command, place)
}

// Ask asks the operators and waits for an answer, at most for wait. keep keeps one that is to hold for the life of the
// session; nil: it holds for this question. Errors: ErrNoOperator, ErrTooMany, ErrNoAnswer, or ctx's cause. Treat any
// error as a no.
func (c *Confirmations) Ask(ctx context.Context, q Question, wait time.Duration, keep func(ctx context.Context, allow bool) error) (Answer, error) {
	p := &pending{Question: q, answered: make(chan Answer, 1), keep: keep}
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

// Offer asks a question that no command waits for. A yes calls apply, once, in the
// goroutine that answers; one to remember always is stored instead, which applies it too. If
// that fails, the question stays open. A question with the
// same agent, session and setting is asked only once and keeps its ID; the newest apply is
// called. q.Config must be set. Errors: ErrNoOperator and ErrTooMany.
func (c *Confirmations) Offer(q Question, apply func(context.Context, Answer) error) (id string, err error) {
	p := &pending{Question: q, apply: apply}
	p.Asked = time.Now()
	p.Expires = p.Asked.Add(offerTTL)
	if id := c.findOffer(q, apply); id != "" {
		return id, nil
	}
	if err := c.add(p); err != nil {
		return "", err
	}
	return p.ID, nil
}

// findOffer returns the id of the pending offer that is equal to q, or "". A yes then calls apply, which is for the
// session that has the name now: the one that was refused first may have ended.
func (c *Confirmations) findOffer(q Question, apply func(context.Context, Answer) error) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, p := range c.open {
		if p.apply != nil && p.Agent == q.Agent && p.Session == q.Session && p.Config.Key == q.Config.Key && slices.Equal(p.Config.Add, q.Config.Add) {
			p.apply = apply
			return id
		}
	}
	return ""
}

// add makes the question pending and notifies the listening operators.
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
	for _, all := range []map[int]func(protocol.Event){c.listeners, c.relays} {
		for _, notify := range all {
			notify(p.event())
		}
	}
	return nil
}

func (c *Confirmations) forget(p *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.over = true
	delete(c.open, p.ID)
}

// mayBe reports whether the token of that ID asked the question, or may have. Only operators answer: where an ID is
// missing, only an operator's own question counts.
func (a Asker) mayBe(id string) bool {
	return id == a.ID && id != "" || a.Operator && (id == "" || a.ID == "")
}

// Answer answers the question with that ID, on behalf of the token of that ID (Asker.ID). Only the first answer
// counts. With RememberAlways or RememberSession the answer is kept when Answer returns. Errors:
// invalid_params if no such question is pending, policy_denied if token is the one that
// asked, or an error of Answers, of keep or of apply. After an error the question stays open, unless its
// time, or the command that waits, has ended meanwhile.
func (c *Confirmations) Answer(ctx context.Context, id, tokenID string, a Answer) (Question, error) {
	c.mu.Lock()
	p := c.open[id]
	if p == nil || time.Now().After(p.Expires) {
		c.mu.Unlock()
		return Question{}, protocol.Errorf(protocol.InvalidParams, "id: nothing waits for a confirmation under %q: it was answered, or its time is over", shortID(id)).
			With("parameter", "id").Then("status lists what waits")
	}
	if p.Asker.mayBe(tokenID) {
		c.mu.Unlock()
		return Question{}, protocol.Errorf(protocol.PolicyDenied, "whoever asks may not answer").With("reason", string(ReasonRole)).
			Then("answer with another operator's token")
	}
	// Remove it while it is being answered, so that a second answer does not find it.
	delete(c.open, id)
	c.mu.Unlock()

	if err := c.resolve(ctx, p, a); err != nil {
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

func (c *Confirmations) resolve(ctx context.Context, p *pending, a Answer) error {
	if p.apply != nil {
		// A no to an address changes nothing: the address stays refused.
		if !a.Allow {
			return nil
		}
		if a.Remember == RememberAlways {
			return c.answers.KeepSetting(ctx, *p.Config)
		}
		return p.apply(ctx, a)
	}
	var err error
	switch {
	case p.Once:
	case a.Remember == RememberAlways:
		err = c.answers.KeepCommand(ctx, p.Agent, p.Command, p.Place, a.Allow)
	case a.Remember == RememberSession && p.keep != nil:
		err = p.keep(ctx, a.Allow)
	}
	if err != nil {
		return err
	}
	p.answered <- a
	return nil
}

// Pending returns the pending questions, oldest first.
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

// Listen calls notify with each pending question, and then with each new one, until stop is
// called. notify must not block and must not call Confirmations. Only operators may
// listen.
func (c *Confirmations) Listen(notify func(protocol.Event)) (stop func()) {
	return c.listen(c.listeners, notify)
}

// Relay is Listen for the operators at another daemon of the fleet. It does not pass on
// the events of Tell.
func (c *Confirmations) Relay(notify func(protocol.Event)) (stop func()) {
	return c.listen(c.relays, notify)
}

// Tell passes the event of a question at another daemon of the fleet to the operators here.
func (c *Confirmations) Tell(e protocol.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, notify := range c.listeners {
		notify(e)
	}
}

func (c *Confirmations) listen(to map[int]func(protocol.Event), notify func(protocol.Event)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.pending() {
		notify(q.event())
	}
	c.next++
	id := c.next
	to[id] = notify
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(to, id)
	}
}

func shortID(id string) string { return protocol.Cut(id, 40) }
