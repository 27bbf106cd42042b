package main

import (
	"context"

	"github.com/browserd/browserd/browser"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// pages makes the pages of sessions: each its own browser context.
type pages struct {
	browser *browser.Browser
	cfg     session.Config
	off     bool // browser.disabled
}

// NewPage opens a browser context with what the session was opened with.
func (p pages) NewPage(ctx context.Context, o session.Options, emit func(typ string, fields map[string]any)) (session.Page, error) {
	if p.off {
		return nil, protocol.Errorf(protocol.ChromiumUnavailable, "Chromium is switched off by browser.disabled").
			Then("set browser.disabled to false")
	}
	c := browser.ContextOptions{
		Locale: o.Locale, Timezone: o.Timezone, UserAgent: o.UserAgent, Headers: o.Headers,
		Dialogs: o.Dialogs, DialogTimeout: p.cfg.DialogTimeout, MaxTabs: p.cfg.MaxTabs, Restore: o.Restore,
		Permissions: o.Permissions, Downloads: o.Downloads,
		DownloadBytes: int64(p.cfg.DownloadBytes), DownloadFiles: p.cfg.DownloadFiles,
	}
	if o.Viewport != nil {
		c.Width, c.Height = o.Viewport.Width, o.Viewport.Height
	}
	page, err := p.browser.NewContext(ctx, c, emit)
	if err != nil {
		return nil, err
	}
	return page, nil
}
