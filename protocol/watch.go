package protocol

import "time"

// Console is one entry of a page's console.
type Console struct {
	ID   int       `json:"id"` // counts up in the session
	Time time.Time `json:"time"`
	Tab  string    `json:"tab"`
	// Kind is log, info, warning, error, debug, exception, or another of
	// Runtime.consoleAPICalled.
	Kind string `json:"kind"`
	Text string `json:"text"`
	URL  string `json:"url,omitempty"`  // of the script
	Line int    `json:"line,omitempty"` // in it, from 1
}

// Exchange is one request of a page and what came of it. Secrets are masked.
type Exchange struct {
	ID     int       `json:"id"` // counts up in the session
	Time   time.Time `json:"time"`
	Tab    string    `json:"tab"`
	Method string    `json:"method"`
	URL    string    `json:"url"`
	// Kind is that of Network.ResourceType in small letters: document, script,
	// stylesheet, image, font, media, xhr, fetch, websocket …
	Kind   string  `json:"kind"`
	Status int     `json:"status,omitempty"` // 0: no answer yet, or none
	Type   string  `json:"type,omitempty"`   // of the answer's content
	Bytes  int64   `json:"bytes,omitempty"`  // that came over the network
	MS     float64 `json:"ms,omitempty"`     // from the request to its end
	Cached bool    `json:"cached,omitempty"`
	Error  string  `json:"error,omitempty"`
	Done   bool    `json:"done"`

	ExchangeDetails

	WaitMS float64 `json:"-"` // from the request to the answer's headers
}

// ExchangeDetails come with one entry that was asked for by its id.
type ExchangeDetails struct {
	StatusText      string      `json:"status_text,omitempty"`
	Protocol        string      `json:"protocol,omitempty"` // http/1.1, h2
	Address         string      `json:"address,omitempty"`  // of the server, or the proxy
	RequestHeaders  [][2]string `json:"request_headers,omitempty"`
	ResponseHeaders [][2]string `json:"response_headers,omitempty"`
	RequestBody     string      `json:"request_body,omitempty"`
	Body            *string     `json:"body,omitempty"`
	Encoding        string      `json:"encoding,omitempty"` // of the body: text or base64
	Truncated       bool        `json:"truncated,omitempty"`
	BodyError       string      `json:"body_error,omitempty"` // why there is no body
}

// Watching asks for entries of the console or of the network.
type Watching struct {
	Since  int    // only entries that are newer, or have changed, since that number
	Kind   string // only this kind; empty: all
	Filter string // contained in the text or the URL, letter case aside
	Limit  int    // the newest so many
	ID     int    // one entry, with its headers; 0: a list
	Bodies bool   // with its body
	Full   bool   // every entry with its headers
	Max    int    // characters of a body
}
