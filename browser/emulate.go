package browser

import (
	"context"
	"errors"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// emulationOf is what a context is opened with, as an emulation of everything
// that was said and nothing else.
func emulationOf(o ContextOptions) protocol.Emulation {
	e := protocol.Emulation{Width: &o.Width, Height: &o.Height, Headers: o.Headers}
	for _, s := range []struct {
		said string
		at   **string
	}{{o.Timezone, &e.Timezone}, {o.Locale, &e.Locale}, {o.UserAgent, &e.UserAgent}} {
		if s.said != "" {
			*s.at = &s.said
		}
	}
	return e
}

// overrides writes what of e is said to a page's session, or to that of an
// out-of-process frame in it (inner), where part of it holds as well. all is
// the emulation in force, for what Chromium takes only together.
func (c *Context) overrides(s *cdp.Session, e, all protocol.Emulation, inner bool) []*cdp.Pending {
	var wait []*cdp.Pending
	send := func(method string, params any) { wait = append(wait, s.Send(method, params)) }
	if !inner && (e.Width != nil || e.Height != nil || e.Scale != nil || e.Mobile != nil) {
		send(emulation.SetDeviceMetricsOverride.Method, emulation.SetDeviceMetricsOverrideParams{
			Width: int64(given(all.Width, 1280)), Height: int64(given(all.Height, 720)), DeviceScaleFactor: given(all.Scale, 1), Mobile: given(all.Mobile, false),
		})
	}
	if !inner && e.Touch != nil {
		send(emulation.SetTouchEmulationEnabled.Method, emulation.SetTouchEmulationEnabledParams{Enabled: *e.Touch})
	}
	if e.Timezone != nil {
		send(emulation.SetTimezoneOverride.Method, emulation.SetTimezoneOverrideParams{TimezoneID: *e.Timezone})
	}
	if e.Locale != nil {
		send(emulation.SetLocaleOverride.Method, emulation.SetLocaleOverrideParams{Locale: *e.Locale})
	}
	if e.UserAgent != nil || e.Locale != nil {
		agent := given(all.UserAgent, "")
		if agent == "" {
			agent = c.host.userAgent(c.life)
		}
		send(emulation.SetUserAgentOverride.Method, emulation.SetUserAgentOverrideParams{UserAgent: agent, AcceptLanguage: given(all.Locale, "")})
	}
	if e.Geolocation != nil && !inner {
		send("Emulation.setGeolocationOverride", e.Geolocation)
	}
	if e.ColorScheme != nil {
		send("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": *e.ColorScheme}}})
	}
	if e.Offline != nil {
		send("Network.emulateNetworkConditions", map[string]any{"offline": *e.Offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
	}
	if e.Headers != nil {
		send(network.SetExtraHTTPHeaders.Method, map[string]any{"headers": e.Headers})
	}
	return wait
}

// given is what p says, or otherwise.
func given[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// waitOverrides waits for what overrides wrote. A process has one locale and
// one time zone: that another page of the session has set them in it already
// is no error.
func waitOverrides(ctx context.Context, pending []*cdp.Pending) error {
	var first error
	for _, p := range pending {
		if err := p.Wait(ctx, nil); err != nil && first == nil && !strings.Contains(refusal(err), "already in effect") {
			first = err
		}
	}
	return first
}

// Emulate changes what the session's pages are shown: those that are open, with
// their frames, and those to come. What Chromium refuses is invalid_params, and
// holds for no page to come. Some of it a page sees only when it loads again.
//
// The selected tab is the one that is waited for: another may be held by a
// dialog or a script, or be about to close, and takes it before any later command.
// Errors: dialog_open, page_crashed.
func (c *Context) Emulate(ctx context.Context, e protocol.Emulation) error {
	selected, err := c.ready(ctx)
	if err != nil {
		return err
	}
	selected.stirs.Add(1)
	c.mu.Lock()
	was := c.emulated
	all := e.Over(was)
	c.emulated = all
	var others, frames []*cdp.Session
	for _, t := range c.tabs {
		if t != selected {
			others = append(others, t.cdp)
		}
		for _, child := range t.children {
			frames = append(frames, child)
		}
	}
	for _, w := range c.workers {
		frames = append(frames, w)
	}
	c.mu.Unlock()
	selected.pointer.Forget() // the viewport may be another
	if err := selected.waitOverrides(ctx, c.overrides(selected.cdp, e, all, false)); err != nil {
		c.mu.Lock()
		c.emulated = was
		c.mu.Unlock()
		return err
	}
	for _, s := range others {
		c.overrides(s, e, all, false)
	}
	for _, s := range frames {
		c.overrides(s, e, all, true)
	}
	return nil
}

// waitOverrides waits for what overrides wrote to the tab. A dialog that opens
// meanwhile holds it up, and is answered before the page goes on.
func (t *tab) waitOverrides(ctx context.Context, pending []*cdp.Pending) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.life, func() { cancel(context.Cause(t.life)) })()
	defer t.onDialog(func() { cancel(errHeld) })()
	err := waitOverrides(limited, pending)
	switch {
	case err == nil, context.Cause(limited) == errHeld:
		return nil // written: the page takes it when the dialog is answered
	case t.life.Err() != nil:
		return context.Cause(t.life)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, cdp.ErrGone):
		return lost(err)
	}
	if why := refusal(err); why != "" {
		return protocol.Errorf(protocol.InvalidParams, "Chromium refuses that: %s", why).With("parameter", "emulate")
	}
	return gone(err)
}

// errHeld ends the wait for a page that a dialog holds.
var errHeld = errors.New("a dialog holds the page")
