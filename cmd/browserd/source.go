package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/browserd/browserd/browser"
	"github.com/browserd/browserd/browser/files"
	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/recording"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/profile"
)

// pages makes the pages of sessions: each its own browser context, or, where
// there is no Chromium, its own chain of sources.
type pages struct {
	browser  *browser.Browser
	chromium *installation
	chain    *fallback.SourceChain
	rules    *policy.Policy
	egress   egressSetup
	cfg      session.Config
	uploads  *uploadQuotas
	profiles *profile.Set
	log      *slog.Logger
}

// uploadQuotas are the quotas of the agents' uploads. Any goroutine may call its methods.
type uploadQuotas struct {
	node    *fleetNode // nil: the daemon serves alone
	mu      sync.Mutex
	byAgent map[string]*files.Quota // agents are those of the configuration, so their number is limited
}

// of returns the quota of the agent, which allows so many bytes.
func (u *uploadQuotas) of(agent string, bytes int64) *files.Quota {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byAgent == nil {
		u.byAgent = map[string]*files.Quota{}
	}
	if u.byAgent[agent] == nil {
		u.byAgent[agent] = files.AgentQuota(bytes, u.node.uploads(agent))
	}
	return u.byAgent[agent]
}

// A page in Chromium can do all that a command may ask of a page.
var _ interface {
	session.Page
	session.Tabs
	session.Device
	session.Renderer
	session.Evaluator
	session.Dialogs
	session.Reporter
	session.Records
	session.Downloads
	session.PasskeyHolder
	recording.Logs
	recording.Filmed
} = (*browser.Context)(nil)

// NewPage opens a page with what the session was opened with, from the source
// that it asks for: chromium, or http and jina, or for auto Chromium where there
// is one and the others if there is none.
func (p pages) NewPage(ctx context.Context, o session.Options, emit func(typ string, fields map[string]any)) (session.Page, error) {
	gate, err := p.rules.Gate(policy.GateOptions{AllowedDomains: o.AllowedDomains, Additions: o.Additions, Upstream: o.Upstream})
	if err != nil {
		return nil, err
	}
	if err := o.Upstream.Check(ctx, gate); err != nil {
		return nil, err
	}
	if o.Source == fallback.HTTP || o.Source == fallback.Jina {
		return p.static(gate, o, nil), nil
	}
	begin := time.Now()
	page, tried, err := p.live(ctx, gate, o, emit)
	if err != nil && tried && ctx.Err() == nil && (protocol.CodeOf(err) == protocol.BrowserLost || p.chromium.supervisor.Running()) {
		// Chromium or the page's process died while the page was made, which is no
		// reason to go on without them.
		page, tried, err = p.live(ctx, gate, o, emit)
	}
	if err == nil {
		return page, nil
	}
	// What Chromium cannot do for the session, another source may; what is wrong
	// with the session's own options is wrong with every source.
	lacking := []protocol.Code{protocol.ChromiumUnavailable, protocol.BrowserLost, protocol.PageCrashed, protocol.Timeout, protocol.Internal, protocol.Unsupported}
	if o.Source == session.SourceChromium || p.chromium.cfg.Attach || ctx.Err() != nil || !slices.Contains(lacking, protocol.CodeOf(err)) {
		return nil, err
	}
	var attempts []protocol.Attempt
	if tried {
		p.log.WarnContext(ctx, "a session goes on without Chromium", "error", err)
		attempts = []protocol.Attempt{{Source: session.SourceChromium, Error: err.Error(), MS: int(time.Since(begin).Milliseconds())}}
	}
	return p.static(gate, o, attempts), nil
}

// live opens a browser context; tried is false if there was no Chromium to try.
func (p pages) live(ctx context.Context, gate *policy.Gate, o session.Options, emit func(typ string, fields map[string]any)) (page session.Page, tried bool, err error) {
	if err := p.chromium.missing(); err != nil {
		return nil, false, err
	}
	egress, err := p.egress()
	if err != nil {
		return nil, false, err
	}
	if egress.proxy == nil && (len(o.AllowedDomains) > 0 || o.Upstream.URL != "") {
		// Its pages would reach whatever they like.
		return nil, false, protocol.Errorf(protocol.Unsupported, "allowed_domains, proxy: the Chromium of browser.endpoint reaches its network without browserd's checks, and nothing could hold it to them").
			With("source", session.SourceChromium).Then("use source http, or ask the operator to set policy.proxy_advertise")
	}
	c := browser.ContextOptions{
		Locale: o.Locale, Timezone: o.Timezone, UserAgent: o.UserAgent, Headers: o.Headers,
		Dialogs: o.Dialogs, DialogTimeout: p.cfg.DialogTimeout, MaxTabs: p.cfg.MaxTabs, Restore: o.Restore,
		Bind:        egress.bind(gate, o.Name, p.log),
		Permissions: o.Permissions, Downloads: o.Downloads,
		DownloadBytes: int64(p.cfg.DownloadBytes), DownloadFiles: p.cfg.DownloadFiles, ReadPDF: p.chain.ReadPDF,
		UploadQuotas: []*files.Quota{files.SessionQuota(int64(p.cfg.UploadBytes)), p.uploads.of(o.Agent, int64(p.cfg.UploadBytesPerAgent))},
	}
	if o.Viewport != nil {
		c.Width, c.Height = o.Viewport.Width, o.Viewport.Height
	}
	if o.Optional {
		var cancel context.CancelFunc
		ctx, cancel = p.chromium.patient(ctx)
		defer cancel()
	}
	if o.Profile != "" {
		page, err := p.inProfile(ctx, o, c, emit)
		return page, true, err
	}
	opened, err := p.browser.NewContext(ctx, c, emit)
	if slow := (*protocol.Error)(nil); err != nil && errors.As(context.Cause(ctx), &slow) && slow == errStarting {
		err = slow
	} else {
		p.chromium.told(err)
	}
	if err != nil {
		return nil, true, err
	}
	return opened, true, nil
}

// inProfile opens a page in a Chromium of its own.
func (p pages) inProfile(ctx context.Context, o session.Options, c browser.ContextOptions, emit func(typ string, fields map[string]any)) (session.Page, error) {
	own, err := p.profiles.Use(o)
	if err != nil {
		return nil, err
	}
	page, err := own.Page(ctx, c, emit)
	if err != nil && o.Restore == nil { // the session's first: it has no page whose end would close it
		own.Close(context.WithoutCancel(ctx))
	}
	return page, err
}

func (p pages) static(gate *policy.Gate, o session.Options, tried []protocol.Attempt) session.Page {
	return fallback.New(fallback.Options{
		Gate: gate, Sources: p.chain, Locale: o.Locale, UserAgent: o.UserAgent, Headers: o.Headers, Restore: o.Restore, Tried: tried,
	})
}
