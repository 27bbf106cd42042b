package protocol

import "encoding/json"

// The parameters of the reading commands, as every source accepts them.
// Zero values are the defaults unless a field says otherwise.

// Query is what find looks for; all that is given must hold. Text and Name
// match when they are contained, letter case and white space aside.
type Query struct {
	Text  string
	Role  string
	Name  string
	Limit int
	// Locator, if not nil, stands in place of Text, Role and Name, and fits whole.
	Locator *Locator
	// Unrendered: if nothing that is rendered fits the locator's CSS or TestID, what is
	// not rendered does.
	Unrendered bool
	// Chain is a JSON array of steps in place of the others. What is read of each element
	// goes to Got.
	Chain json.RawMessage
	Read  []string
	Got   *Chained
}

// Chained is what a chain found: how many elements, and what was read of those returned.
type Chained struct {
	Count int
	Read  []json.RawMessage
}

// Wait is what wait waits for; all that is given must hold at once.
type Wait struct {
	Ref        string // attached and visible, or with Gone: not
	Text       string // shown on the page, or with Gone: not
	Gone       bool
	URL        string // the URL contains it, or matches it as a glob with *
	State      string // load or networkidle
	Expression string // becomes true
	For        string // WaitQuiet: no request runs and the page does not change
}

// Screenshot is what to picture.
type Screenshot struct {
	Ref      string // an element; empty: the viewport
	FullPage bool
	Annotate []string // the refs to draw on it; nil: none
	Format   string   // png (default), jpeg, webp
	Quality  int      // of jpeg and webp, 1 to 100; 0: 80
	Scale    float64
}

// Picture is an encoded image and its size in pixels.
type Picture struct {
	Image  []byte
	Width  int
	Height int
	Refs   []Marked // those drawn
}

// Marked is a ref that was drawn on a picture.
type Marked struct {
	Ref string `json:"ref"`
	Box [4]int `json:"box"` // x, y, width, height in the picture's pixels
}

// PDF is how to print a page (Page.printToPDF); lengths in inches, 0: Chromium's default.
type PDF struct {
	Landscape       bool    `json:"landscape,omitempty" doc:"paper on its side"`
	PrintBackground bool    `json:"print_background,omitempty" doc:"backgrounds too"`
	Scale           float64 `json:"scale,omitempty" doc:"0.1 to 2"`
	PaperWidth      float64 `json:"paper_width,omitempty" doc:"inches"`
	PaperHeight     float64 `json:"paper_height,omitempty" doc:"inches"`
	PageRanges      string  `json:"page_ranges,omitempty" doc:"such as 1-5, 8"`
}

// Open modes of the parameter wait_until.
const (
	WaitAuto             = "auto"
	WaitNone             = "none"
	WaitDOMContentLoaded = "domcontentloaded"
	WaitLoad             = "load"
	WaitNetworkIdle      = "networkidle"
)

// WaitQuiet is what wait's parameter for accepts.
const WaitQuiet = "quiet"

// Restore is what is kept of a page that was lost, for the next to go on from.
type Restore struct {
	URL         string
	Cookies     []byte // in the source's own form
	CookieCount int
	Documents   int // loaded so far: the next goes on counting
}

// Attempt is one source that was tried for a document: why it did not serve it
// (empty: it did), and how long that took in milliseconds.
type Attempt struct {
	Source string `json:"source"`
	Error  string `json:"error,omitempty"`
	MS     int    `json:"ms"`
}

// Download is one file that a page offered for download.
type Download struct {
	// Name is cleaned and unique in the session; it was never a path.
	Name string `json:"name"`
	URL  string `json:"url"`
	Tab  string `json:"tab"`
	// State is running, done, denied (the session was opened without
	// downloads), cancelled (a limit) or failed.
	State string `json:"state"`
	Bytes int64  `json:"bytes"`           // received so far
	Total int64  `json:"total,omitempty"` // as announced; 0: unknown
	Why   string `json:"why,omitempty"`   // of what was cancelled or failed
}

// States of a Download.
const (
	DownloadRunning   = "running"
	DownloadDone      = "done"
	DownloadDenied    = "denied"
	DownloadCancelled = "cancelled"
	DownloadFailed    = "failed"
)
