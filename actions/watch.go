package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// ConsoleParams are the parameters of console.
type ConsoleParams struct {
	Since  int    `json:"since" default:"0" min:"0" doc:"only what is newer: next of the answer before"`
	Kind   string `json:"kind" doc:"only this kind: log, info, warning, error, debug, exception …"`
	Filter string `json:"filter" doc:"only entries that contain this text"`
	Limit  int    `json:"limit" default:"100" min:"1" max:"500" doc:"the newest so many"`
}

// ConsoleResult is the answer of console.
type ConsoleResult struct {
	Result
	Entries []protocol.Console `json:"entries"`
	Next    int                `json:"next"`
}

// watched is what the session's page says at any time; nil before the first.
func (c *Call) watched() (Result, session.Records) {
	r := Result{Session: c.Session.Name()}
	page := c.Session.Page()
	if page == nil {
		return r, nil
	}
	r.Page = c.Session.State(page)
	live, _ := page.(session.Records)
	return r, live
}

func console(_ context.Context, c *Call, p *ConsoleParams) (ConsoleResult, error) {
	r, live := c.watched()
	if live == nil {
		return ConsoleResult{Result: r, Entries: []protocol.Console{}}, nil
	}
	entries, next := live.Console(protocol.Watching{Since: p.Since, Kind: p.Kind, Filter: p.Filter, Limit: p.Limit})
	return ConsoleResult{r, entries, next}, nil
}

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
	Result
	Entries []protocol.Exchange `json:"entries,omitzero"` // nil with a HAR
	HAR     *HAR                `json:"har,omitempty"`
	Next    int                 `json:"next"`
}

func networkEntries(ctx context.Context, c *Call, p *NetworkParams) (NetworkResult, error) {
	if p.Body && p.ID == 0 && p.Format != "har" {
		return NetworkResult{}, protocol.Errorf(protocol.InvalidParams, "body: takes the id of one entry, or format har").
			With("parameter", "body").Then("give the id of an entry of network")
	}
	r, live := c.watched()
	if live == nil {
		if p.ID != 0 {
			return NetworkResult{}, protocol.Errorf(protocol.InvalidParams, "id %d: the session has no page yet", p.ID).With("parameter", "id")
		}
		n := NetworkResult{Result: r, Entries: []protocol.Exchange{}}
		if p.Format == "har" {
			n.Entries, n.HAR = nil, archive(c.House.Version, nil)
		}
		return n, nil
	}
	entries, next, err := live.Network(ctx, protocol.Watching{
		Since: p.Since, Kind: p.Kind, Filter: p.Filter, Limit: p.Limit, ID: p.ID, Bodies: p.Body, Max: p.MaxChars, Full: p.Format == "har",
	})
	if err != nil {
		return NetworkResult{}, err
	}
	if p.Format == "har" {
		return NetworkResult{Result: r, HAR: archive(c.House.Version, entries), Next: next}, nil
	}
	return NetworkResult{Result: r, Entries: entries, Next: next}, nil
}
