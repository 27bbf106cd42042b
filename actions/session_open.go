package actions

import (
	"context"
	"errors"
	"strings"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/recording"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// SessionOpen is the command session_open.
var SessionOpen = command.Define(command.Row{
	Name: "session_open", Summary: "Opens a session.", Main: "name",
	Flags:   command.OpensSession | command.ReadOnly | command.Unconfirmed | command.Unaudited,
	Implied: []command.Implied{{Parameter: "proxy", As: Eval}, {Parameter: "state", As: StateLoad}, {Parameter: "profile", As: StateLoad}, {Parameter: "profile", As: StateSave}, {Parameter: "keep", As: StateSave, When: func(p any) bool { return p.(*SessionOpenParams).Keep }}},
	Prepare: prepareSessionOpen,
	Examples: []command.Example{
		{For: `Opens a session that goes on where the last one with the state "shop" ended, and keeps it`, Params: `{"name": "work", "state": "shop", "keep": true}`},
		{For: "Opens a session that reaches one site only", Params: `{"name": "work", "allowed_domains": ["shop.example"]}`},
		{For: "Opens a session whose pages go through a SOCKS proxy, except for one host", Params: `{"proxy": "socks5://proxy.example.com:8080", "proxy_bypass": ["intranet.example"]}`},
		{For: "Opens a session that logs in at one origin with a name and a password (HTTP basic authentication)", Params: `{"headers": {"Authorization": "Basic YW5uOnNlY3JldA=="}, "header_origins": ["https://shop.example"]}`},
	},
}, sessionOpen)

// SessionOpenParams are the parameters of session_open.
type SessionOpenParams struct {
	Name           string            `json:"name" doc:"how the session is to be called; left out: a name is made"`
	Source         string            `json:"source" default:"auto" enum:"auto,chromium,http,jina" doc:"who serves its pages; auto: Chromium where there is one"`
	Viewport       *session.Viewport `json:"viewport" doc:"{width, height} in CSS pixels; left out: 1280 by 720"`
	Locale         string            `json:"locale" doc:"a language, such as de-DE"`
	Timezone       string            `json:"timezone" doc:"an IANA time zone, such as Europe/Oslo"`
	UserAgent      string            `json:"user_agent" doc:"in place of Chromium's own"`
	Headers        map[string]string `json:"headers" doc:"sent with its pages' requests to header_origins; Cookie, Host, Proxy-*, Sec-* and their like are refused"`
	HeaderOrigins  []string          `json:"header_origins" commas:"true" doc:"origins, such as https://shop.example, that get headers; left out: the first that the session opens"`
	Dialogs        string            `json:"dialogs" default:"wait" enum:"wait,accept,dismiss" doc:"what becomes of confirm and prompt"`
	AllowedDomains []string          `json:"allowed_domains" doc:"hosts, *.domains, addresses, CIDRs: nothing else is reached, and still only what policy allows"`
	Permissions    []string          `json:"permissions" commas:"true" doc:"what its pages may use unasked, such as geolocation; all else is denied"`
	Proxy          string            `json:"proxy" doc:"http://[USER:PASSWORD@]HOST:PORT or socks5://…, through which its pages' connections go; the policy holds all the same"`
	ProxyBypass    []string          `json:"proxy_bypass" commas:"true" doc:"hosts, *.domains, addresses, CIDRs reached without the proxy"`
	State          string            `json:"state" doc:"a state that state_save saved: the session begins with its cookies and storage"`
	Keep           bool              `json:"keep" default:"false" doc:"saves the state while the session runs and when it ends; state may then name one that is not there yet"`
	Profile        string            `json:"profile" doc:"a profile, new or not: a Chromium of its own, its data kept sealed"`
	Passkeys       bool              `json:"passkeys" default:"false" doc:"its pages find passkeys from the start, as some sites want; see the command passkey"`
	Downloads      bool              `json:"downloads" default:"false" doc:"its pages may download files, for the command downloads"`
	Trace          bool              `json:"trace" default:"false" doc:"records a trace until it ends; see the command trace"`
	Video          bool              `json:"video" default:"false" doc:"records a video until it ends; see the command video"`
}

// SessionResult names a session.
type SessionResult struct {
	Session string `json:"session"`
	// SessionEnded is as in command.Result.
	SessionEnded *session.Ended `json:"session_ended,omitempty"`
}

// prepareSessionOpen makes the session while the command is read, so that the
// commands behind it on the connection are for it.
func prepareSessionOpen(c *command.Call) error {
	p := c.Params.(*SessionOpenParams)
	name := p.Name
	if name == "" {
		name = c.Common.Session
	}
	if err := checkAppearance(p.Viewport, p.Locale, p.Timezone, p.UserAgent); err != nil {
		return err
	}
	headers, err := command.PageHeaders(p.Headers, p.HeaderOrigins)
	if err != nil {
		return err
	}
	if p.Keep && p.State == "" {
		return protocol.Errorf(protocol.InvalidParams, "keep saves what state names, and state is left out").With("parameter", "state").Then("name it, such as state: \"shop\"")
	}
	if p.State != "" {
		if err := c.Runtime.States.Check(p.State); err != nil {
			return ofState(err)
		}
	}
	source := p.Source
	if p.Profile != "" {
		if err := checkProfile(c, p); err != nil {
			return err
		}
		source = session.SourceChromium
	}
	return c.OpenSession(session.Options{
		Name: name, Source: source, Profile: p.Profile, Viewport: p.Viewport, Locale: p.Locale, Timezone: p.Timezone,
		UserAgent: p.UserAgent, Headers: headers, Dialogs: p.Dialogs,
		AllowedDomains: p.AllowedDomains,
		Permissions:    p.Permissions, Downloads: p.Downloads,
		Upstream: policy.Upstream{URL: p.Proxy, Bypass: p.ProxyBypass},
	})
}

// sessionOpen makes the session's page, so that what is wrong with its
// options, or with Chromium, is said now.
func sessionOpen(ctx context.Context, c *command.Call, p *SessionOpenParams) (SessionResult, error) {
	keeps := func() {}
	var err error
	if p.Keep { // before it is loaded: nobody writes it in between
		if keeps, err = c.Runtime.States.Hold(c.Caller.Agent, p.State); err != nil {
			c.CloseOpened(ctx)
			return SessionResult{}, ofState(err)
		}
	}
	page, err := c.Session.Ensure(ctx, true)
	for kind, wanted := range map[recording.Kind]bool{recording.Trace: p.Trace, recording.Video: p.Video} {
		if err == nil && wanted {
			_, err = recordingDoes(ctx, c, kind, "start")
		}
	}
	if err == nil && p.State != "" && (!p.Keep || c.Runtime.States.Has(c.Caller.Agent, p.State)) {
		_, err = load(ctx, c, page, c.Runtime.States, p.State)
		err = ofState(err)
	}
	if err == nil && p.Profile != "" {
		err = keepProfile(ctx, c, page, p.Profile)
	}
	if err == nil && p.Passkeys {
		err = holdPasskeys(ctx, c)
	}
	if err != nil {
		keeps()
		c.CloseOpened(ctx)
		return SessionResult{}, err
	}
	if p.Keep { // only now: a state that could not be loaded is not to be replaced
		c.Runtime.Sessions.AutosaveState(c.Session, c.Runtime.States, p.State, keeps)
	}
	return SessionResult{c.Session.Name(), c.SessionEnded()}, nil
}

// checkProfile returns an error unless the session can have the profile.
func checkProfile(c *command.Call, p *SessionOpenParams) error {
	if p.State != "" {
		return protocol.Errorf(protocol.InvalidParams, "profile and state: a profile keeps what a state does, and more").With("parameter", "state").Then("leave out one of them; state_load loads a state into the session")
	}
	if p.Source != "auto" && p.Source != session.SourceChromium {
		return protocol.Errorf(protocol.InvalidParams, "profile needs source chromium, not %s", p.Source).With("parameter", "source")
	}
	if err := c.Runtime.Profiles.Check(p.Profile); err != nil {
		return named("profile", err)
	}
	return c.Runtime.Profiles.Usable()
}

// keepProfile gives the page of a profile what Chromium forgot when it ended, and has it kept.
func keepProfile(ctx context.Context, c *command.Call, page session.Page, name string) error {
	store := c.Runtime.Profiles.States
	if store.Has(c.Caller.Agent, name) {
		if _, err := load(ctx, c, page, store, name); err != nil {
			return named("profile", err)
		}
	}
	c.Runtime.Sessions.AutosaveState(c.Session, store, name, func() {}) // the page has the name
	return nil
}

// holdPasskeys has the session's pages see an authenticator from now on.
func holdPasskeys(ctx context.Context, c *command.Call) error {
	if _, err := c.Runtime.Passkeys.List(c.Caller.Agent); err != nil {
		return err
	}
	_, holder, err := command.Live[session.PasskeyHolder](ctx, c)
	if err == nil {
		err = holder.HoldPasskeys(ctx)
	}
	if err == nil {
		c.Session.RecordPasskeys()
	}
	return err
}

// ofState names the parameter state of session_open where err names that of state_load.
func ofState(err error) error { return named("state", err) }

// named names a parameter where err names the parameter name.
func named(parameter string, err error) error {
	var e *protocol.Error
	if errors.As(err, &e) && e.Details["parameter"] == "name" {
		e.Message = parameter + strings.TrimPrefix(e.Message, "name")
		e.With("parameter", parameter)
	}
	return err
}
