package actions

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/text/language"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// EmulateParams are the parameters of emulate.
type EmulateParams struct {
	Device      string            `json:"device" enum:",desktop,iphone,ipad,pixel,galaxy" doc:"viewport, scale, touch and user agent of a device; what else is given stands over it"`
	Viewport    *session.Viewport `json:"viewport" doc:"{width, height} in CSS pixels"`
	Scale       *float64          `json:"scale" min:"0.1" max:"8" doc:"device pixels for one CSS pixel"`
	Mobile      *bool             `json:"mobile" doc:"behave as a browser on a phone"`
	Touch       *bool             `json:"touch" doc:"have a touch screen"`
	UserAgent   *string           `json:"user_agent" doc:"in place of Chromium's own; empty: Chromium's own again"`
	Locale      *string           `json:"locale" doc:"a language, such as de-DE"`
	Timezone    *string           `json:"timezone" doc:"an IANA time zone, such as Europe/Oslo"`
	Geolocation *Place            `json:"geolocation" doc:"{latitude, longitude, accuracy}; pages see it where the session was opened with the permission geolocation"`
	ColorScheme *string           `json:"color_scheme" enum:"light,dark,no-preference" doc:"what the person is said to prefer"`
	Offline     *bool             `json:"offline" doc:"without a network"`
	Headers     map[string]string `json:"headers" doc:"sent with every request, in place of those before; {}: none"`
}

// Place is a protocol.Geolocation of which it is known what was said.
type Place struct {
	Latitude  *float64 `json:"latitude"`
	Longitude *float64 `json:"longitude"`
	Accuracy  *float64 `json:"accuracy"`
}

// geolocation checks p, which may be nil.
func (p *Place) geolocation() (*protocol.Geolocation, error) {
	if p == nil {
		return nil, nil
	}
	var g protocol.Geolocation
	for _, f := range []struct {
		name   string
		given  *float64
		lo, hi float64
		takes  string
		into   *float64
	}{
		{"latitude", p.Latitude, -90, 90, "degrees from -90 to 90", &g.Latitude},
		{"longitude", p.Longitude, -180, 180, "degrees from -180 to 180", &g.Longitude},
		{"accuracy", p.Accuracy, 0, math.Inf(1), "metres, at least 0", &g.Accuracy},
	} {
		switch {
		case f.given == nil && f.name == "accuracy":
		case f.given == nil:
			return nil, protocol.Errorf(protocol.InvalidParams, "geolocation.%s: is missing: takes %s", f.name, f.takes).With("parameter", "geolocation")
		case *f.given < f.lo || *f.given > f.hi:
			return nil, protocol.Errorf(protocol.InvalidParams, "geolocation.%s: takes %s, not %g", f.name, f.takes, *f.given).With("parameter", "geolocation")
		default:
			*f.into = *f.given
		}
	}
	return &g, nil
}

// device is what a page sees of a device.
type device struct {
	width, height int
	scale         float64
	mobile        bool // and touch
	agent         string
}

var devices = map[string]device{
	"desktop": {1280, 720, 1, false, ""},
	"iphone":  {393, 852, 3, true, "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"},
	"ipad":    {820, 1180, 2, true, "Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"},
	"pixel":   {412, 915, 2.625, true, "Mozilla/5.0 (Linux; Android 15; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36"},
	"galaxy":  {360, 780, 3, true, "Mozilla/5.0 (Linux; Android 15; SM-S911B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36"},
}

// emulation checks p and puts the device below what else it says.
func (p *EmulateParams) emulation() (protocol.Emulation, error) {
	e := protocol.Emulation{
		Scale: p.Scale, Mobile: p.Mobile, Touch: p.Touch, UserAgent: p.UserAgent, Locale: p.Locale, Timezone: p.Timezone,
		ColorScheme: p.ColorScheme, Offline: p.Offline, Headers: p.Headers,
	}
	if err := checkLooks(p.Viewport, given(p.Locale), given(p.Timezone), given(p.UserAgent), p.Headers); err != nil {
		return e, err
	}
	if v := p.Viewport; v != nil {
		e.Width, e.Height = &v.Width, &v.Height
	}
	var err error
	if e.Geolocation, err = p.Geolocation.geolocation(); err != nil {
		return e, err
	}
	if d, ok := devices[p.Device]; ok {
		e = e.Over(protocol.Emulation{Width: &d.width, Height: &d.height, Scale: &d.scale, Mobile: &d.mobile, Touch: &d.mobile, UserAgent: &d.agent})
	}
	return e, nil
}

// given is what p says, or nothing.
func given(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// misfit is the error of a parameter that is of the right type and not of those
// that it takes.
func misfit(name, takes string, got any) error {
	return protocol.Errorf(protocol.InvalidParams, "%s: takes %s, not %v", name, takes, got).With("parameter", name)
}

// checkLooks checks what session_open and emulate have pages see of their browser;
// what is empty is not said.
func checkLooks(v *session.Viewport, locale, timezone, agent string, headers map[string]string) error {
	if v != nil && (v.Width < 1 || v.Width > 10000 || v.Height < 1 || v.Height > 10000) {
		return misfit("viewport", "a width and a height from 1 to 10000", fmt.Sprintf("%d by %d", v.Width, v.Height))
	}
	if _, err := language.Parse(locale); err != nil && locale != "" {
		return misfit("locale", "a language, such as de-DE", strconv.Quote(cut(locale, 60)))
	}
	if _, err := time.LoadLocation(timezone); err != nil {
		return misfit("timezone", "an IANA time zone, such as Europe/Oslo", strconv.Quote(cut(timezone, 60)))
	}
	if !httpguts.ValidHeaderFieldValue(agent) {
		return misfit("user_agent", "one line", strconv.Quote(cut(agent, 60)))
	}
	return checkHeaders(headers)
}

func checkHeaders(headers map[string]string) error {
	for name, value := range headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return misfit("headers", "names and values of one line", strconv.Quote(cut(name, 60)))
		}
	}
	return nil
}

func emulate(ctx context.Context, c *Call, p *EmulateParams) (Result, error) {
	e, err := p.emulation()
	if err != nil {
		return Result{}, err
	}
	page, device, err := live[session.Device](ctx, c)
	if err != nil {
		return Result{}, err
	}
	if err := device.Emulate(ctx, e); err != nil {
		return Result{}, c.Session.Lost(err)
	}
	c.Session.Emulated(e)
	return c.result(page), nil
}

// RouteParams are the parameters of route.
type RouteParams struct {
	Pattern string            `json:"pattern" required:"true" doc:"the address, whole, with * for any characters and ? for one; what answers it newest counts"`
	Kind    string            `json:"kind" doc:"only requests of this kind: document, stylesheet, image, media, font, script, fetch (XMLHttpRequest too), eventsource, manifest, ping, other"`
	Action  string            `json:"action" default:"block" enum:"block,answer,remove" doc:"remove: the routes of that pattern, or with * all"`
	Status  int               `json:"status" default:"200" min:"200" max:"599" doc:"of the answer"`
	Headers map[string]string `json:"headers" doc:"of the answer, such as Content-Type"`
	Body    string            `json:"body" doc:"of the answer"`
}

// RouteResult is the answer of route: the routes that are left, with the
// requests that each has taken.
type RouteResult struct {
	Result
	Routes []protocol.Route `json:"routes"`
}

// maxRoutes is how many routes a session may have.
const maxRoutes = 100

func route(ctx context.Context, c *Call, p *RouteParams) (RouteResult, error) {
	if p.Pattern == "" {
		return RouteResult{}, misfit("pattern", "an address, or * for all", `""`)
	}
	// Chromium takes no answer with other headers, and the request would wait for ever.
	if err := checkHeaders(p.Headers); err != nil {
		return RouteResult{}, err
	}
	page, device, err := live[session.Device](ctx, c)
	if err != nil {
		return RouteResult{}, err
	}
	routes := slices.DeleteFunc(device.Routes(), func(r protocol.Route) bool {
		// One of the same pattern and kind is put anew; without a kind, remove takes all kinds.
		same := r.Pattern == p.Pattern && (r.Kind == p.Kind || p.Action == "remove" && p.Kind == "")
		return same || p.Action == "remove" && p.Pattern == "*"
	})
	if p.Action != "remove" {
		if len(routes) >= maxRoutes {
			return RouteResult{}, protocol.Errorf(protocol.TooLarge, "the session has %d routes", len(routes)).With("limit", maxRoutes).With("size", len(routes)+1).
				Then("remove one")
		}
		r := protocol.Route{Pattern: p.Pattern, Kind: p.Kind, Action: p.Action}
		if p.Action == "answer" {
			r.Status, r.Headers, r.Body = p.Status, maps.Clone(p.Headers), p.Body
		}
		routes = append(routes, r)
	}
	if err := device.SetRoutes(ctx, routes); err != nil {
		return RouteResult{}, c.Session.Lost(err)
	}
	c.Session.Routed(routes)
	return RouteResult{c.result(page), device.Routes()}, nil
}
