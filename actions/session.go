package actions

import (
	"context"
	"errors"
	"strings"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// SessionOpenParams are the parameters of session_open.
type SessionOpenParams struct {
	Name           string            `json:"name" doc:"how the session is to be called; left out: a name is made"`
	Source         string            `json:"source" default:"auto" enum:"auto,chromium,http,jina" doc:"who serves its pages; auto: Chromium where there is one"`
	Viewport       *session.Viewport `json:"viewport" doc:"{width, height} in CSS pixels; left out: 1280 by 720"`
	Locale         string            `json:"locale" doc:"a language, such as de-DE"`
	Timezone       string            `json:"timezone" doc:"an IANA time zone, such as Europe/Oslo"`
	UserAgent      string            `json:"user_agent" doc:"in place of Chromium's own"`
	Headers        map[string]string `json:"headers" doc:"sent with every request of its pages"`
	Dialogs        string            `json:"dialogs" default:"wait" enum:"wait,accept,dismiss" doc:"what becomes of confirm and prompt"`
	AllowedDomains []string          `json:"allowed_domains" doc:"hosts, *.domains, addresses and CIDRs: nothing else is reached; only ever narrows what the policy allows"`
	Permissions    []string          `json:"permissions" doc:"what its pages may use without asking, such as geolocation or notifications; all else is denied"`
	State          string            `json:"state" doc:"the name of a state that state_save saved: the session begins with its cookies and storage"`
	Downloads      bool              `json:"downloads" default:"false" doc:"its pages may download files, which the command downloads reads; otherwise they are denied"`
}

// SessionResult names a session.
type SessionResult struct {
	Session string `json:"session"`
}

// prepareSessionOpen makes the session while the command is read, so that the
// commands behind it on the connection are for it.
func prepareSessionOpen(c *Call) error {
	p := c.Params.(*SessionOpenParams)
	name := p.Name
	if name == "" {
		name = c.Common.Session
	}
	if err := checkLooks(p.Viewport, p.Locale, p.Timezone, p.UserAgent, p.Headers); err != nil {
		return err
	}
	if p.State != "" {
		if err := c.House.States.Check(p.State); err != nil {
			return ofState(err)
		}
	}
	s, err := c.House.Sessions.Open(c.Caller.Agent, session.Options{
		Name: name, Source: p.Source, Viewport: p.Viewport, Locale: p.Locale, Timezone: p.Timezone,
		UserAgent: p.UserAgent, Headers: p.Headers, Dialogs: p.Dialogs,
		AllowedDomains: p.AllowedDomains,
		Permissions:    p.Permissions, Downloads: p.Downloads,
	})
	if err != nil {
		return err
	}
	c.Session, c.before = s, c.Caller.Session()
	c.Caller.use(s.Name())
	return nil
}

// sessionOpen makes the session's page, so that what is wrong with its
// options, or with Chromium, is said now.
func sessionOpen(ctx context.Context, c *Call, p *SessionOpenParams) (SessionResult, error) {
	page, err := c.Session.Ensure(ctx, true)
	if err == nil && p.State != "" {
		_, err = c.loadState(ctx, page, p.State)
		err = ofState(err)
	}
	if err != nil {
		c.unopen(ctx)
		return SessionResult{}, err
	}
	return SessionResult{c.Session.Name()}, nil
}

// ofState names the parameter of session_open where err names that of state_load.
func ofState(err error) error {
	var e *protocol.Error
	if errors.As(err, &e) && e.Details["parameter"] == "name" {
		e.Message = "state" + strings.TrimPrefix(e.Message, "name")
		e.With("parameter", "state")
	}
	return err
}

// unopen takes back the session that prepareSessionOpen made.
func (c *Call) unopen(ctx context.Context) {
	c.House.Sessions.Close(context.WithoutCancel(ctx), c.Caller.Agent, c.Session.Name())
	c.Caller.back(c.Session.Name(), c.before)
}

// SessionCloseParams are none of its own: session names the session.
type SessionCloseParams struct{}

// SessionClosed is the answer of session_close.
type SessionClosed struct {
	Session string `json:"session"`
	Closed  bool   `json:"closed"`
}

func sessionClose(ctx context.Context, c *Call, _ *SessionCloseParams) (SessionClosed, error) {
	name := c.Session.Name()
	if err := c.House.Sessions.Close(ctx, c.Caller.Agent, name); err != nil {
		return SessionClosed{}, err
	}
	return SessionClosed{name, true}, nil
}

// SessionListParams are none.
type SessionListParams struct{}

// SessionListResult is the answer of session_list.
type SessionListResult struct {
	Sessions []session.Info `json:"sessions"`
}

func sessionList(ctx context.Context, c *Call, _ *SessionListParams) (SessionListResult, error) {
	return SessionListResult{c.House.Sessions.List(c.Caller.Agent)}, nil
}
