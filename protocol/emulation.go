package protocol

import "slices"

// Emulation is what pages are shown of the device and the place that they run
// in. What is nil is left as it is.
type Emulation struct {
	Width, Height *int     // CSS pixels
	Scale         *float64 // device pixels for one CSS pixel
	Mobile        *bool    // the viewport meta element holds, scroll bars lie over the page
	Touch         *bool
	UserAgent     *string // "": Chromium's own
	Locale        *string // BCP 47; "": en-US
	Timezone      *string // IANA; "": the machine's
	Geolocation   *Geolocation
	ColorScheme   *string // light, dark, no-preference
	ReducedMotion *string // reduce, no-preference
	Media         *string // screen, print; "": Chromium's own
	Offline       *bool
	Throttle      *Throttle
	// InitScripts run in every document to come before its own scripts, in their order.
	// They are added to those before.
	InitScripts []string
}

// Throttle is how slow the network is made. The zero value is as fast as it is.
type Throttle struct {
	LatencyMS    int `json:"latency_ms"`    // added to each request
	DownloadKbps int `json:"download_kbps"` // 0: as fast as it is
	UploadKbps   int `json:"upload_kbps"`   // 0: as fast as it is
}

// Geolocation is a place on the earth, in degrees and metres.
type Geolocation struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Accuracy  float64 `json:"accuracy"`
}

// Over is e, and below it what e leaves as it is.
func (e Emulation) Over(below Emulation) Emulation {
	return Emulation{
		Width: over(e.Width, below.Width), Height: over(e.Height, below.Height), Scale: over(e.Scale, below.Scale),
		Mobile: over(e.Mobile, below.Mobile), Touch: over(e.Touch, below.Touch), UserAgent: over(e.UserAgent, below.UserAgent),
		Locale: over(e.Locale, below.Locale), Timezone: over(e.Timezone, below.Timezone), Geolocation: over(e.Geolocation, below.Geolocation),
		ColorScheme: over(e.ColorScheme, below.ColorScheme), ReducedMotion: over(e.ReducedMotion, below.ReducedMotion),
		Media: over(e.Media, below.Media), Offline: over(e.Offline, below.Offline), Throttle: over(e.Throttle, below.Throttle),
		InitScripts: slices.Concat(below.InitScripts, e.InitScripts),
	}
}

func over[T any](above, below *T) *T {
	if above != nil {
		return above
	}
	return below
}

// Route is what becomes of the requests of pages whose address fits a pattern.
// It is a help for trying things out and never a boundary: what a page does not
// ask through the network layer of its tab passes by it.
type Route struct {
	// Pattern is the address with * for any characters and ? for one.
	Pattern string `json:"pattern"`
	Kind    string `json:"kind,omitempty"` // document, script, image, xhr, fetch …; empty: all
	Action  string `json:"action"`         // block or answer
	// Of an answer:
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Hits    int               `json:"hits"` // requests that it has taken
}
