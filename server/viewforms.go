package server

import (
	"context"
	"net/http"
	"time"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/live"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/handoff"
)

// maxForm is the size limit of a form of the view, in bytes. formTimeout is how long its action may take.
const (
	maxForm     = 16 << 10
	formTimeout = 20 * time.Second
)

// viewForms are the actions of the view's buttons, by the last element of the path that the form is posted to.
var viewForms = map[string]func(ctx context.Context, s *Server, v *live.View, form func(string) string) error{
	"take": func(ctx context.Context, s *Server, v *live.View, form func(string) string) error {
		return driveInView(s, v, form, func(of *session.Session) error {
			if err := of.CheckLease(); err != nil {
				return err
			}
			if _, seen := of.Page().(session.Viewable); !seen {
				return protocol.Errorf(protocol.Unsupported, "the session has no page in Chromium yet")
			}
			return s.runtime.Sessions.TakeOver(ctx, of, v.Person())
		}, "take")
	},
	"back": func(_ context.Context, s *Server, v *live.View, form func(string) string) error {
		return driveInView(s, v, form, func(of *session.Session) error { session.Control(of).HandBack(v.Person()); return nil }, "back")
	},
	"done": func(_ context.Context, s *Server, v *live.View, form func(string) string) error {
		return driveInView(s, v, form, func(of *session.Session) error { return session.Control(of).End(v.Person(), handoff.Done, note(form)) }, "done")
	},
	"cancel": func(_ context.Context, s *Server, v *live.View, form func(string) string) error {
		return driveInView(s, v, form, func(of *session.Session) error {
			return session.Control(of).End(v.Person(), handoff.Cancelled, note(form))
		}, "cancel")
	},
	"stop": func(ctx context.Context, s *Server, v *live.View, form func(string) string) error {
		return driveInView(s, v, form, func(of *session.Session) error { s.runtime.Sessions.Stop(ctx, of); return nil }, "stop")
	},
	"grant": func(ctx context.Context, s *Server, v *live.View, form func(string) string) error {
		return driveInView(s, v, form, func(of *session.Session) error {
			grants, err := live.GrantsOf(v, of)
			if err != nil {
				return err
			}
			return grants.Grant(ctx, form("tab"))
		}, "grant")
	},
	"takeback": func(ctx context.Context, s *Server, v *live.View, form func(string) string) error {
		return driveInView(s, v, form, func(of *session.Session) error {
			grants, err := live.GrantsOf(v, of)
			if err != nil {
				return err
			}
			return grants.Revoke(ctx, form("tab"))
		}, "takeback")
	},
	"confirm": func(ctx context.Context, s *Server, v *live.View, form func(string) string) error {
		return confirmInView(ctx, s, v, form)
	},
}

// maxNote is how many characters of a person's note the agent gets.
const maxNote = 2000

func note(form func(string) string) string { return protocol.Cut(form("note"), maxNote) }

// serveViewForm runs the action of a button. The view has been found by its cookie. The form must also have the
// view's CSRF token and come from the daemon's own page.
func serveViewForm(s *Server, w http.ResponseWriter, r *http.Request, v *live.View, page string) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if !s.gate.ownOrigin(r) || r.ParseForm() != nil || !live.SameToken(r.PostForm.Get("csrf"), v.CSRF) {
		s.denyView(w, r, http.StatusForbidden)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), formTimeout)
	defer cancel()
	answerForm(s, w, viewForms[page](ctx, s, v, r.PostForm.Get))
}

// sessionOfView returns a session by its name if the view shows it, else session_not_found.
func sessionOfView(s *Server, v *live.View, agent, name string) (*session.Session, error) {
	of, err := s.runtime.Sessions.Get(agent, name)
	if err != nil || v.Session != nil && v.Session != of {
		return nil, protocol.Errorf(protocol.SessionNotFound, "there is no such session any more")
	}
	return of, nil
}

// driveInView runs an action that needs a view that may drive, and records it in the audit trail.
func driveInView(s *Server, v *live.View, form func(string) string, do func(*session.Session) error, what string) error {
	of, err := sessionOfView(s, v, form("agent"), form("session"))
	switch {
	case !v.Drives:
		err = protocol.Errorf(protocol.PolicyDenied, "this link only shows: an operator takes over in their own view").With("reason", string(policy.ReasonRole))
	case err == nil:
		err = do(of)
	}
	e := ledger.Entry{Agent: v.Agent, Command: actions.Handoff.Name, Session: protocol.Cut(form("session"), 64), Verdict: "person:" + what}
	if err != nil {
		e.Verdict = string(protocol.CodeOf(err)) + ":" + what
	} else if page := of.Page(); page != nil {
		e.URL = page.State().URL
	}
	s.log.Info("a person in the live view", "does", what, "agent", v.Agent, "session", e.Session, "verdict", e.Verdict)
	if l := s.runtime.Ledger; l != nil {
		l.Record(e)
	}
	return err
}

// confirmInView answers a confirmation as the command confirm does.
func confirmInView(ctx context.Context, s *Server, v *live.View, form func(string) string) error {
	confirmations := s.runtime.Rules.Confirmations
	if !v.Answers || confirmations == nil {
		return protocol.Errorf(protocol.PolicyDenied, "only an operator may confirm").With("reason", string(policy.ReasonRole))
	}
	a := policy.Answer{Allow: form("allow") == "yes", Remember: policy.RememberNo}
	if remember := form("remember"); remember == policy.RememberSession || remember == policy.RememberAlways {
		a.Remember = remember
	}
	q, err := confirmations.Answer(ctx, form("id"), v.TokenID, a)
	if protocol.CodeOf(err) == protocol.InvalidParams && s.peers.node != nil {
		return confirmAtOtherNode(ctx, s, v, form("id"), a)
	}
	if err != nil {
		return err
	}
	s.log.Info("confirmation answered", "id", q.ID, "agent", q.Agent, "command", q.Command, "session", q.Session, "allow", a.Allow, "remember", a.Remember, "operator", v.Agent)
	if l := s.runtime.Ledger; l != nil {
		e := ledger.Entry{Agent: v.Agent, Command: actions.Confirm.Name}
		actions.ConfirmResult{ID: q.ID, Allow: a.Allow, Remember: a.Remember, Question: q}.Audit(&e)
		l.Record(e)
	}
	return nil
}
