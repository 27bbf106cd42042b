// Package emulation overrides what the pages of a browser context see of their device and
// network: viewport, touch, time zone, locale, User-Agent, position, colour scheme,
// motion, medium, offline, throttled; and the
// scripts that every document begins with.
//
// It decides nothing and reads no page: it writes CDP commands to the sessions that it is
// given.
package emulation

import (
	"context"
	"strings"
	"sync"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Of returns what a context is opened with, as an emulation of everything that was said and
// nothing else: empty texts are not.
func Of(width, height int, timezone, locale, userAgent string) protocol.Emulation {
	said := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return protocol.Emulation{Width: &width, Height: &height, Timezone: said(timezone), Locale: said(locale), UserAgent: said(userAgent)}
}

// Overrides are the emulation in force in one browser context, for its pages, frames and
// workers to come. Any goroutine may call its methods.
type Overrides struct {
	root *cdp.Session
	life context.Context // the browser context's

	mu      sync.Mutex // guards inForce; nothing is called while it is held
	inForce protocol.Emulation
}

// New returns the overrides of a context, with e in force. life ends with the context.
func New(life context.Context, root *cdp.Session, e protocol.Emulation) *Overrides {
	return &Overrides{life: life, root: root, inForce: e}
}

// InForce returns the emulation for a page to come.
func (o *Overrides) InForce() protocol.Emulation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.inForce
}

// Set puts e in force for pages to come, and returns what was in force before.
func (o *Overrides) Set(e protocol.Emulation) (before protocol.Emulation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, o.inForce = o.inForce, e
	return before
}

// Send writes the overrides that e names to the CDP session of a page, or of an
// out-of-process frame or a worker (inner), which obeys a part of them. all is the
// emulation in force: Chromium accepts some overrides only together with others.
func (o *Overrides) Send(s *cdp.Session, e, all protocol.Emulation, inner bool) []*cdp.Pending {
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
			agent = o.userAgent()
		}
		send(emulation.SetUserAgentOverride.Method, emulation.SetUserAgentOverrideParams{UserAgent: agent, AcceptLanguage: given(all.Locale, "")})
	}
	if e.Geolocation != nil && !inner {
		send("Emulation.setGeolocationOverride", e.Geolocation)
	}
	if e.ColorScheme != nil || e.ReducedMotion != nil || e.Media != nil {
		features := []map[string]string{}
		for name, value := range map[string]*string{"prefers-color-scheme": all.ColorScheme, "prefers-reduced-motion": all.ReducedMotion} {
			if value != nil {
				features = append(features, map[string]string{"name": name, "value": *value})
			}
		}
		send("Emulation.setEmulatedMedia", map[string]any{"media": given(all.Media, ""), "features": features})
	}
	for _, source := range e.InitScripts {
		send(page.AddScriptToEvaluateOnNewDocument.Method, page.AddScriptToEvaluateOnNewDocumentParams{Source: source})
	}
	if e.Offline != nil || e.Throttle != nil {
		slow := given(all.Throttle, protocol.Throttle{})
		send("Network.emulateNetworkConditions", map[string]any{
			"offline": given(all.Offline, false), "latency": slow.LatencyMS,
			"downloadThroughput": bytesASecond(slow.DownloadKbps), "uploadThroughput": bytesASecond(slow.UploadKbps),
		})
	}
	return wait
}

// bytesASecond returns a throughput as Chromium has it: -1 is as fast as it is.
func bytesASecond(kbps int) int {
	if kbps == 0 {
		return -1
	}
	return kbps * 1000 / 8
}

// given returns what p says, or otherwise.
func given[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// Wait waits for the answers to Send and returns the first error. A process has one
// locale and one time zone: that another page of the session has set them in it already
// is no error.
func (o *Overrides) Wait(ctx context.Context, pending []*cdp.Pending) error {
	var first error
	for _, p := range pending {
		if err := p.Wait(ctx, nil); err != nil && first == nil && !strings.Contains(cdp.Refusal(err), "already in effect") {
			first = err
		}
	}
	return first
}

// userAgent is Chromium's own User-Agent, for where only the language is changed.
func (o *Overrides) userAgent() string {
	var v struct {
		UserAgent string `json:"userAgent"`
	}
	o.root.Call(o.life, "Browser.getVersion", cdproto.Empty{}, &v)
	return v.UserAgent
}
