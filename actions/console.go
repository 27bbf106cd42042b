package actions

import (
	"context"
	"slices"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// Console is the command console.
var Console = command.Define(command.Row{
	Name: "console", Summary: "Lists what the session's pages wrote to the console.", Main: "filter",
	Flags: command.Unqueued | command.Inspects,
	Brief: []string{"id", "kind", "text", "url", "line"},
	Examples: []command.Example{
		{For: "Lists the errors only", Params: `{"kind": "error"}`},
	},
}, console)

// ConsoleParams are the parameters of console.
type ConsoleParams struct {
	Since  int    `json:"since" default:"0" min:"0" doc:"only what is newer: next of the answer before"`
	Kind   string `json:"kind" doc:"only this kind: log, info, warning, error, debug, exception …"`
	Filter string `json:"filter" doc:"only entries that contain this text"`
	Limit  int    `json:"limit" default:"100" min:"1" max:"500" doc:"the newest so many"`
}

// ConsoleResult is the answer of console.
type ConsoleResult struct {
	command.Result
	Entries []protocol.Console `json:"entries"`
	Next    int                `json:"next"`
}

// watched returns what the session's page says at any time; nil before the first.
func watched(c *command.Call) (command.Result, session.Records) {
	r := command.Result{Session: c.Session.Name()}
	page := c.Session.Page()
	if page == nil {
		return r, nil
	}
	r.Page = command.ReportState(c, page)
	live, _ := page.(session.Records)
	return r, live
}

func console(_ context.Context, c *command.Call, p *ConsoleParams) (ConsoleResult, error) {
	r, live := watched(c)
	if live == nil {
		return ConsoleResult{Result: r, Entries: []protocol.Console{}}, nil
	}
	entries, next := live.Console(protocol.Watching{Since: p.Since, Kind: p.Kind, Filter: p.Filter, Limit: p.Limit})
	control := session.Control(c.Session)
	// What a page said while a person drove may be what they typed; a filter must not tell it either.
	entries = slices.DeleteFunc(entries, func(e protocol.Console) bool { return control.DroveAt(e.Time) })
	return ConsoleResult{r, entries, next}, nil
}
