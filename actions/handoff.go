package actions

import (
	"context"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/handoff"
	"github.com/browserd/browserd/snapshot"

	"github.com/browserd/browserd/actions/command"
)

// Handoff is the command handoff.
var Handoff = command.Define(command.Row{
	Name: "handoff", Summary: "Asks a person to do a step in your browser: a captcha, a login, a doubt.", Main: "reason",
	Next:  "Give url to the person; send handoff again to wait until they are done.",
	Flags: command.Unqueued | command.HandedOff | command.NotInBatch | command.ReadOnly | command.Unconfirmed | command.MCPNonDestructive | command.MCPTimeout,
	Examples: []command.Example{
		{For: "Asks a person for help", Params: `{"reason": "please solve the captcha", "minutes": 20}`},
	},
}, handOff)

// HandoffParams are the parameters of handoff.
type HandoffParams struct {
	Reason   string `json:"reason" doc:"what the person is to do, in your words; they read it"`
	Minutes  int    `json:"minutes" seldom:"true" default:"10" min:"1" max:"240" doc:"how long the session waits for the person"`
	Withdraw bool   `json:"withdraw" seldom:"true" default:"false" doc:"take the request back, unless a person drives already"`
	WaitMS   *int   `json:"wait_ms" min:"0" max:"118000" doc:"milliseconds to wait for the end, within timeout_ms; left out: none for the call that asks, which has the link, and 25000 for each later one"`
}

// HandoffResult is the answer of handoff.
type HandoffResult struct {
	command.Result
	// State is waiting, done, cancelled or expired.
	State       handoff.State `json:"state"`
	URL         string        `json:"url,omitempty"`    // the link for the person, while they are waited for
	Driver      string        `json:"driver,omitempty"` // whose link the person opened who drives now
	DriverSince *time.Time    `json:"driver_since,omitempty"`
	Until       *time.Time    `json:"until,omitempty"` // when the hand-off ends by itself
}

// handoffWait is how long a call that names no time waits for a hand-off that there is, and
// showTime what of the command's time is kept for showing the page afterwards.
const (
	handoffWait = 25 * time.Second
	showTime    = 2 * time.Second
)

// maxReason is how many characters of an agent's reason a person reads.
const maxReason = 600

func handOff(ctx context.Context, c *command.Call, p *HandoffParams) (HandoffResult, error) {
	control := session.Control(c.Session)
	if p.Withdraw {
		if err := control.End(handoff.Person{}, handoff.Cancelled, ""); err != nil {
			return HandoffResult{}, err
		}
		said := control.Outcome()
		if said == nil {
			said = &handoff.Status{State: handoff.Cancelled}
		}
		return handedBack(ctx, c, *said)
	}
	if said := control.Outcome(); said != nil { // it ended while the agent did not wait
		return handedBack(ctx, c, *said)
	}
	link, wait := command.ViewLink{}, time.Duration(0)
	began, err := askPerson(ctx, c, p, &link)
	if err != nil {
		return HandoffResult{}, err
	}
	switch {
	case p.WaitMS != nil:
		wait = time.Duration(*p.WaitMS) * time.Millisecond
	case !began:
		wait = handoffWait
	}
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)-showTime)
	}
	if over := control.Ended(); over != nil && wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-over:
		case <-timer.C:
		case <-c.Session.Done():
			return HandoffResult{}, protocol.Errorf(protocol.SessionNotFound, "the session was closed while a person was waited for")
		case <-ctx.Done():
			return HandoffResult{}, context.Cause(ctx)
		}
	}
	if said := control.Outcome(); said != nil {
		return handedBack(ctx, c, *said)
	}
	now := control.Status()
	r := HandoffResult{State: handoff.Waiting, URL: now.URL, Driver: now.Driver, Until: &now.Until}
	r.Result = command.Result{Session: c.Session.Name()}
	if page := c.Session.Page(); page != nil {
		r.Page = c.Session.ReportState(page)
		session.ForgetReported(c.Session, c.Caller.Token) // an MCP client may be sent the link in the place of this answer
	}
	switch {
	case now.Driver != "":
		r.DriverSince = &now.DrivingSince
		r.Note = "a person drives: send handoff again, with wait_ms, to wait until they are done"
	case command.Supervised(c):
		r.Note = "give url to a person, who sees the session there; an operator takes over in their own view (browserd view)"
	default:
		r.Note = "give url to a person; send handoff again, with wait_ms, to wait until they are done"
	}
	return r, nil
}

// askPerson parks the session, behind the commands that came before, unless there is a
// hand-off.
func askPerson(ctx context.Context, c *command.Call, p *HandoffParams, link *command.ViewLink) (began bool, err error) {
	control := session.Control(c.Session)
	if control.Ended() == nil {
		turn, err := c.Session.Take(false)
		if err != nil {
			return false, err
		}
		defer turn.End()
		// A person who takes over meanwhile has the turn.
		until, stop := control.UntilTakenOver(ctx)
		defer stop()
		err = turn.Wait(until)
		if err == nil {
			working, end := c.Session.BeginCommand(until, c.Command.Name)
			_, _, err = command.Live[session.Viewable](working, c)
			end()
		}
		if err != nil && protocol.CodeOf(context.Cause(until)) != protocol.HandedOff {
			return false, err
		}
	}
	return control.Ask(snapshot.Cut(p.Reason, maxReason), time.Duration(p.Minutes)*time.Minute, func() (string, time.Time, error) {
		var err error
		*link, err = command.LinkToView(c)
		return link.URL, link.Expires, err
	})
}

// handedBack answers with what has changed while the person drove, and with nothing that
// happened meanwhile: that would tell what they typed.
func handedBack(ctx context.Context, c *command.Call, said handoff.Status) (HandoffResult, error) {
	r, err := afterHandoff(ctx, c)
	if err != nil {
		session.Control(c.Session).RestoreOutcome(said)
		return HandoffResult{}, err
	}
	r.State, r.Note = said.State, said.Note
	return r, nil
}

func afterHandoff(ctx context.Context, c *command.Call) (r HandoffResult, err error) {
	turn, err := c.Session.Take(false)
	if err != nil {
		return r, err
	}
	defer turn.End()
	if err := turn.Wait(ctx); err != nil {
		return r, err
	}
	ctx, end := c.Session.BeginCommand(ctx, c.Command.Name)
	defer end()
	page, err := c.Page(ctx)
	if err != nil {
		return r, err
	}
	snap, delta, err := command.View(c).Changes(ctx, page, snapshot.DefaultOptions(), nil)
	if err != nil && protocol.CodeOf(err) != protocol.DialogOpen {
		return r, c.Session.DescribeLoss(err)
	}
	r.Result = c.Result(page)
	r.Snapshot, r.Delta, r.Since = snap, delta, nil
	return r, nil
}
