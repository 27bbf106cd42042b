package main

import (
	"context"
	"net/http"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/fallback/reader"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
	"github.com/browserd/browserd/web/extract"
	"github.com/browserd/browserd/web/pdf"
	"github.com/browserd/browserd/web/search"
)

// daemonEgress is the daemon's own egress, which no session narrows: for the web
// tools, and for the services that the daemon calls for agents.
type daemonEgress struct {
	rules     *policy.Policy
	gate      *policy.Gate
	transport *http.Transport
	reader    *reader.Reader // nil: there is none
	rendering slots
}

// maxRenders is how many pages web_fetch renders at once: each is a browser
// context, which no session's limit counts.
const maxRenders = 4

func newDaemonEgress(cfg config.Config, rules *policy.Policy) (*daemonEgress, error) {
	gate, err := rules.Gate(policy.GateOptions{})
	if err != nil {
		return nil, err
	}
	w := &daemonEgress{rules: rules, gate: gate, transport: gate.Transport(), rendering: make(slots, maxRenders)}
	w.reader = reader.New(cfg.Fallback.Jina, reader.Options{Transport: w.transport, Check: gate.CheckURL, Public: gate.Public})
	return w, nil
}

func (w *daemonEgress) close() { w.transport.CloseIdleConnections() }

// chainReader returns the reader, or no interface if there is none.
func (w *daemonEgress) chainReader() fallback.Reader {
	if w.reader == nil {
		return nil
	}
	return w.reader
}

// web returns what the web tools work with; nothing renders yet what needs script.
func (w *daemonEgress) web(cfg config.Config, chain *fallback.SourceChain, pdfs *pdf.Reader) *command.Web {
	return &command.Web{
		Config: cfg.HTTP, Transport: w.transport, TransportWithin: w.transportWithin,
		Order: cfg.Fallback.Order, Reader: w.reader, Rest: chain.Breaker(), PDF: pdfs,
		Search:  search.New(cfg.Search, cfg.Fallback.Jina, search.Options{Transport: w.transport, Check: w.gate.CheckURL}),
		Extract: extract.New(cfg.Extract, extract.Options{Transport: w.transport, Check: w.gate.CheckURL}),
	}
}

// transportWithin returns a transport for one call, which keeps no connection open.
func (w *daemonEgress) transportWithin(within policy.GateOptions) (http.RoundTripper, error) {
	gate, err := w.rules.Gate(within)
	if err != nil {
		return nil, err
	}
	t := gate.Transport()
	t.DisableKeepAlives = true
	return t, nil
}

// webWith is web with Chromium, in which p opens what needs script.
func (w *daemonEgress) webWith(cfg config.Config, p pages, pdfs *pdf.Reader) *command.Web {
	web := w.web(cfg, p.chain, pdfs)
	web.Render = w.render(p)
	web.HasChromium = func() bool { return p.chromium.missing() == nil }
	return web
}

// render opens a URL in a browser context of its own, which ends with it, and
// returns what its script made of it.
func (w *daemonEgress) render(p pages) func(ctx context.Context, within policy.GateOptions, url string) (command.Rendered, error) {
	return func(ctx context.Context, within policy.GateOptions, url string) (command.Rendered, error) {
		free, err := w.rendering.take(ctx)
		if err != nil {
			return command.Rendered{}, err
		}
		defer free()
		gate, err := p.rules.Gate(within)
		if err != nil {
			return command.Rendered{}, err
		}
		page, _, err := p.live(ctx, gate, session.Options{Dialogs: "dismiss", AllowedDomains: within.AllowedDomains}, func(string, map[string]any) {})
		if err != nil {
			return command.Rendered{}, err
		}
		defer page.Close(context.WithoutCancel(ctx))
		if _, err := page.Open(ctx, url, protocol.WaitAuto); err != nil {
			return command.Rendered{}, err
		}
		html, err := page.Read(ctx, snapshot.NewRefs(), "", "html", "")
		if err != nil {
			return command.Rendered{}, err
		}
		state := page.State()
		rendered := command.Rendered{HTML: html, URL: state.URL, Status: state.Status}
		if state.Type == protocol.TypePDF {
			rendered.PDF, err = page.Read(ctx, snapshot.NewRefs(), "", "text", "")
		}
		return rendered, err
	}
}

// slots are what may be done at once: its capacity says how often.
type slots chan struct{}

// take waits for a slot until ctx ends; free gives it back.
func (s slots) take(ctx context.Context) (free func(), err error) {
	select {
	case s <- struct{}{}:
		return func() { <-s }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
