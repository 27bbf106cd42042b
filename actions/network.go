package actions

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/handoff"
	"github.com/browserd/browserd/snapshot"

	"github.com/browserd/browserd/actions/command"
)

// Network is the command network.
var Network = command.Define(command.Row{
	Name: "network", Summary: "Lists the requests of the session's pages, or shows one with its headers and body.", Main: "filter",
	Flags: command.Unqueued | command.Inspects,
	Brief: []string{"id", "method", "status", "kind", "url", "error"},
	Examples: []command.Example{
		{For: "Lists the requests to an API", Params: `{"filter": "/api/"}`},
		{For: "Shows one request with its headers and its body", Params: `{"id": 1, "body": true}`},
	},
}, networkEntries)

// NetworkParams are the parameters of network.
type NetworkParams struct {
	Since    int    `json:"since" default:"0" min:"0" doc:"only what is newer or has changed: next of the answer before"`
	Kind     string `json:"kind" doc:"only this kind: document, script, stylesheet, image, font, media, xhr, fetch, websocket …"`
	Filter   string `json:"filter" doc:"only requests whose address contains this text"`
	Limit    int    `json:"limit" default:"100" min:"1" max:"1000" doc:"the newest so many"`
	ID       int    `json:"id" default:"0" min:"0" doc:"one entry by its id, with its headers"`
	Body     bool   `json:"body" default:"false" doc:"with the bodies of the entry of that id, or of a HAR"`
	MaxChars int    `json:"max_chars" default:"20000" min:"1" max:"2000000" doc:"characters of a body at most"`
	Format   string `json:"format" default:"entries" enum:"entries,har" doc:"har: the same as HTTP Archive 1.2"`
}

// NetworkResult is the answer of network.
type NetworkResult struct {
	command.Result
	Entries []protocol.Exchange `json:"entries,omitzero"` // nil with a HAR
	HAR     *HAR                `json:"har,omitempty"`
	Next    int                 `json:"next"`
}

func networkEntries(ctx context.Context, c *command.Call, p *NetworkParams) (NetworkResult, error) {
	if p.Body && p.ID == 0 && p.Format != "har" {
		return NetworkResult{}, protocol.Errorf(protocol.InvalidParams, "body: accepts the id of one entry, or format har").
			With("parameter", "body").Then("give the id of an entry of network")
	}
	r, live := watched(c)
	if live == nil {
		if p.ID != 0 {
			return NetworkResult{}, protocol.Errorf(protocol.InvalidParams, "id %d: the session has no page yet", p.ID).With("parameter", "id")
		}
		n := NetworkResult{Result: r, Entries: []protocol.Exchange{}}
		if p.Format == "har" {
			n.Entries, n.HAR = nil, archive(c.Runtime.Version, nil)
		}
		return n, nil
	}
	most := p.MaxChars
	if c.Runtime.Secrets.HasGiven(c.Caller.Agent) {
		most = maxNetworkBody // what is cut before a value is removed may hold a part of it
	}
	entries, next, err := live.Network(ctx, protocol.Watching{
		Since: p.Since, Kind: p.Kind, Filter: p.Filter, Limit: p.Limit, ID: p.ID, Bodies: p.Body, Max: most, Full: p.Format == "har",
	})
	if err != nil {
		return NetworkResult{}, err
	}
	entries = withoutPersons(session.Control(c.Session), entries, p.Filter)
	if most > p.MaxChars {
		for i := range entries {
			e := &entries[i]
			e.RequestBody = snapshot.Cut(c.Runtime.Secrets.RedactText(c.Caller.Agent, e.RequestBody), p.MaxChars)
			if e.Body != nil {
				body := snapshot.Cut(c.Runtime.Secrets.RedactText(c.Caller.Agent, *e.Body), p.MaxChars)
				e.Body = &body
			}
		}
	}
	if p.Format == "har" {
		return NetworkResult{Result: r, HAR: archive(c.Runtime.Version, entries), Next: next}, nil
	}
	return NetworkResult{Result: r, Entries: entries, Next: next}, nil
}

// withoutPersons takes out of requests what a person may have typed who drove while they were under
// way: bodies, headers and the address's query. What a filter finds in these is left out.
func withoutPersons(control *handoff.Control, entries []protocol.Exchange, filter string) []protocol.Exchange {
	kept := entries[:0]
	for _, e := range entries {
		if control.DroveAt(e.Time) || control.DroveAt(e.Time.Add(time.Duration(e.MS*float64(time.Millisecond)))) {
			e.RequestBody, e.Body, e.RequestHeaders, e.ResponseHeaders = "", nil, nil, nil
			if address, query, _ := strings.Cut(e.URL, "?"); query != "" {
				e.URL = address + "?•••"
			}
			if !strings.Contains(e.URL, filter) {
				continue
			}
		}
		kept = append(kept, e)
	}
	return kept
}

// maxNetworkBody is the most characters of a body that can be asked for.
const maxNetworkBody = 2_000_000

// HAR is an HTTP Archive 1.2 (http://www.softwareishard.com/blog/har-12-spec/).
// -1 is its way to say that a size is not known.
type HAR struct {
	Log HARLog `json:"log"`
}

// HARLog is the whole of a HAR.
type HARLog struct {
	Version string     `json:"version"`
	Creator HARCreator `json:"creator"`
	Entries []HAREntry `json:"entries"`
}

// HARCreator says what wrote a HAR.
type HARCreator struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// HAREntry is one request and its answer.
type HAREntry struct {
	Started  string      `json:"startedDateTime"`
	Time     float64     `json:"time"` // milliseconds
	Request  HARRequest  `json:"request"`
	Response HARResponse `json:"response"`
	Cache    struct{}    `json:"cache"`
	Timings  HARTimings  `json:"timings"`
	Server   string      `json:"serverIPAddress,omitempty"`
	Kind     string      `json:"_resourceType"`
}

// HARPair is a header, a query parameter.
type HARPair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// HARRequest is what was asked.
type HARRequest struct {
	Method      string    `json:"method"`
	URL         string    `json:"url"`
	Version     string    `json:"httpVersion"`
	Cookies     []HARPair `json:"cookies"` // never: they are secrets
	Headers     []HARPair `json:"headers"`
	Query       []HARPair `json:"queryString"`
	Post        *HARPost  `json:"postData,omitempty"`
	HeadersSize int       `json:"headersSize"`
	BodySize    int       `json:"bodySize"`
}

// HARPost is the body of a request.
type HARPost struct {
	Type string `json:"mimeType"`
	Text string `json:"text"`
}

// HARResponse is what was answered; status 0: nothing was.
type HARResponse struct {
	Status      int        `json:"status"`
	StatusText  string     `json:"statusText"`
	Version     string     `json:"httpVersion"`
	Cookies     []HARPair  `json:"cookies"`
	Headers     []HARPair  `json:"headers"`
	Content     HARContent `json:"content"`
	Redirect    string     `json:"redirectURL"`
	HeadersSize int        `json:"headersSize"`
	BodySize    int64      `json:"bodySize"`
	Error       string     `json:"_error,omitempty"`
}

// HARContent is the body of an answer.
type HARContent struct {
	Size     int64   `json:"size"`
	Type     string  `json:"mimeType"`
	Text     *string `json:"text,omitempty"`
	Encoding string  `json:"encoding,omitempty"`
}

// HARTimings are in milliseconds.
type HARTimings struct {
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

// archive writes entries as a HAR.
func archive(version string, entries []protocol.Exchange) *HAR {
	h := &HAR{HARLog{Version: "1.2", Creator: HARCreator{"browserd", version}, Entries: []HAREntry{}}}
	for _, x := range entries {
		e := HAREntry{
			Started: x.Time.Format(time.RFC3339Nano), Time: x.MS, Kind: x.Kind, Server: strings.Trim(x.Address, "[]"),
			Timings: HARTimings{Wait: x.WaitMS, Receive: max(x.MS-x.WaitMS, 0)},
			Request: HARRequest{
				Method: x.Method, URL: x.URL, Version: httpVersion(x.Protocol), Cookies: []HARPair{}, Headers: harPairs(x.RequestHeaders),
				Query: queryOf(x.URL), HeadersSize: -1, BodySize: -1,
			},
			Response: HARResponse{
				Status: x.Status, StatusText: x.StatusText, Version: httpVersion(x.Protocol), Cookies: []HARPair{}, Headers: harPairs(x.ResponseHeaders),
				Content: HARContent{Size: max(x.Bytes, 0), Type: x.Type}, HeadersSize: -1, BodySize: -1, Error: x.Error,
			},
		}
		for _, p := range x.ResponseHeaders {
			if strings.EqualFold(p[0], "location") {
				e.Response.Redirect = p[1]
			}
		}
		if x.RequestBody != "" {
			e.Request.Post = &HARPost{Text: x.RequestBody}
			for _, p := range x.RequestHeaders {
				if strings.EqualFold(p[0], "content-type") {
					e.Request.Post.Type = p[1]
				}
			}
		}
		if x.Body != nil {
			e.Response.Content.Text = x.Body
			if x.Encoding == "base64" {
				e.Response.Content.Encoding = "base64"
			}
		}
		h.Log.Entries = append(h.Log.Entries, e)
	}
	return h
}

func harPairs(headers [][2]string) []HARPair {
	list := []HARPair{}
	for _, h := range headers {
		list = append(list, HARPair{h[0], h[1]})
	}
	return list
}

func httpVersion(p string) string {
	switch p {
	case "", "http/1.1":
		return "HTTP/1.1"
	case "h2":
		return "HTTP/2.0"
	}
	return p
}

// queryOf returns the parameters of an address, masked as it is, in their order.
func queryOf(address string) []HARPair {
	list := []HARPair{}
	_, query, _ := strings.Cut(address, "?")
	query, _, _ = strings.Cut(query, "#")
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if pair == "" {
			continue
		}
		p := HARPair{name, value}
		if n, err := url.QueryUnescape(name); err == nil {
			p.Name = n
		}
		if v, err := url.QueryUnescape(value); err == nil {
			p.Value = v
		}
		list = append(list, p)
	}
	return list
}
