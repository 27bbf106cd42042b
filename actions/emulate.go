package actions

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/text/language"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// Emulate is the command emulate.
var Emulate = command.Define(command.Row{
	Name: "emulate", Summary: "Changes the device, place and network that the session's pages see.", Main: "device",
	Flags: command.SessionWide | command.Unconfirmed,
	Examples: []command.Example{
		{For: "Shows the page as a phone in Oslo does", Params: `{"device": "iphone", "locale": "nb-NO", "timezone": "Europe/Oslo"}`},
		{For: "Shows the page as it is printed, without motion, over a slow network", Params: `{"media": "print", "reduced_motion": "reduce", "throttle": {"latency_ms": 300, "download_kbps": 1600, "upload_kbps": 750}}`},
	},
}, emulate)

// EmulateParams are the parameters of emulate.
type EmulateParams struct {
	Device        string             `json:"device" enum:",desktop,iphone,ipad,pixel,galaxy" doc:"viewport, scale, touch and user agent of a device; what else is given stands over it"`
	Viewport      *session.Viewport  `json:"viewport" doc:"{width, height} in CSS pixels"`
	Scale         *float64           `json:"scale" min:"0.1" max:"8" doc:"device pixels for one CSS pixel"`
	Mobile        *bool              `json:"mobile" doc:"behave as a browser on a phone"`
	Touch         *bool              `json:"touch" doc:"have a touch screen"`
	UserAgent     *string            `json:"user_agent" doc:"in place of Chromium's own; empty: Chromium's own again"`
	Locale        *string            `json:"locale" doc:"a language, such as de-DE"`
	Timezone      *string            `json:"timezone" doc:"an IANA time zone, such as Europe/Oslo"`
	Geolocation   *Place             `json:"geolocation" doc:"{latitude, longitude, accuracy}; pages see it where the session was opened with the permission geolocation"`
	ColorScheme   *string            `json:"color_scheme" enum:"light,dark,no-preference" doc:"what the person is said to prefer"`
	ReducedMotion *string            `json:"reduced_motion" enum:"reduce,no-preference" doc:"whether the person is said to want less motion"`
	Media         *string            `json:"media" enum:"screen,print" doc:"the medium that style sheets are for"`
	Offline       *bool              `json:"offline" doc:"without a network"`
	Throttle      *protocol.Throttle `json:"throttle" doc:"{latency_ms, download_kbps, upload_kbps}: a slow network; 0 and what is left out is as fast as it is"`
	Headers       map[string]string  `json:"headers" doc:"sent with the requests that go to header_origins, in place of those before; {}: none"`
	HeaderOrigins []string           `json:"header_origins" commas:"true" doc:"origins, such as https://shop.example, that get headers; left out: the one of the page that is open, or else the first that the session opens"`
}

// Place is a protocol.Geolocation of which it is known what was said.
type Place struct {
	Latitude  *float64 `json:"latitude,omitempty"`
	Longitude *float64 `json:"longitude,omitempty"`
	Accuracy  *float64 `json:"accuracy,omitempty"`
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
			return nil, protocol.Errorf(protocol.InvalidParams, "geolocation.%s: is missing: accepts %s", f.name, f.takes).With("parameter", "geolocation")
		case *f.given < f.lo || *f.given > f.hi:
			return nil, protocol.Errorf(protocol.InvalidParams, "geolocation.%s: accepts %s, not %g", f.name, f.takes, *f.given).With("parameter", "geolocation")
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
		ColorScheme: p.ColorScheme, ReducedMotion: p.ReducedMotion, Media: p.Media, Offline: p.Offline, Throttle: p.Throttle,
	}
	if err := checkAppearance(p.Viewport, given(p.Locale), given(p.Timezone), given(p.UserAgent)); err != nil {
		return e, err
	}
	if t := p.Throttle; t != nil && (t.LatencyMS < 0 || t.LatencyMS > 60000 || t.DownloadKbps < 0 || t.UploadKbps < 0 || max(t.DownloadKbps, t.UploadKbps) > 10_000_000) {
		return e, command.BadValue("throttle", "latency_ms up to 60000, and kbps up to 10000000, none below 0", fmt.Sprintf("%+v", *t))
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

// given returns what p says, or nothing.
func given(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// checkAppearance checks what session_open and emulate have pages see of their browser;
// what is empty is not said.
func checkAppearance(v *session.Viewport, locale, timezone, agent string) error {
	if v != nil && (v.Width < 1 || v.Width > 10000 || v.Height < 1 || v.Height > 10000) {
		return command.BadValue("viewport", "a width and a height from 1 to 10000", fmt.Sprintf("%d by %d", v.Width, v.Height))
	}
	if _, err := language.Parse(locale); err != nil && locale != "" {
		return command.BadValue("locale", "a language, such as de-DE", strconv.Quote(protocol.Cut(locale, 60)))
	}
	if _, err := time.LoadLocation(timezone); err != nil {
		return command.BadValue("timezone", "an IANA time zone, such as Europe/Oslo", strconv.Quote(protocol.Cut(timezone, 60)))
	}
	if !httpguts.ValidHeaderFieldValue(agent) {
		return command.BadValue("user_agent", "one line", strconv.Quote(protocol.Cut(agent, 60)))
	}
	return nil
}

func emulate(ctx context.Context, c *command.Call, p *EmulateParams) (command.Result, error) {
	e, err := p.emulation()
	if err != nil {
		return command.Result{}, err
	}
	page, device, err := command.Live[session.Device](ctx, c)
	if err != nil {
		return command.Result{}, err
	}
	headers, err := command.PageHeaders(p.Headers, p.HeaderOrigins)
	if err != nil {
		return command.Result{}, err
	}
	if headers.Waits() {
		at, err := c.Session.OriginOfPage(page)
		if err != nil {
			return command.Result{}, err
		}
		if at != "" {
			headers.Origins = []string{at}
		}
	}
	if err := device.Emulate(ctx, e); err != nil {
		return command.Result{}, c.Session.DescribeLoss(err)
	}
	c.Session.RecordEmulation(e)
	if p.Headers != nil {
		if err := c.Session.SetHeaders(ctx, headers); err != nil {
			return command.Result{}, c.Session.DescribeLoss(err)
		}
	}
	return c.Result(page), nil
}
