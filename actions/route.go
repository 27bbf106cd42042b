package actions

import (
	"context"
	"maps"
	"slices"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// Route is the command route.
var Route = command.Define(command.Row{
	Name: "route", Summary: "Blocks or answers requests of the session's pages by address and kind.", Main: "pattern",
	Flags: command.Unconfirmed,
	Implied: []command.Implied{
		// A page runs what it is answered with, and a redirect, a header or an empty
		// answer chooses what that is as well as a body does.
		{Parameter: "action", As: Eval, When: func(params any) bool { return params.(*RouteParams).Action == "answer" }},
		{Parameter: "headers", As: CookiesSet, When: answersWith("Set-Cookie")},
		{Parameter: "headers", As: CookiesClear, When: answersWith("Clear-Site-Data")},
	},
	Examples: []command.Example{
		{For: "Blocks all images", Params: `{"pattern": "*", "kind": "image"}`},
		{For: "Answers an API call", Params: `{"pattern": "*/api/prices", "action": "answer", "headers": {"Content-Type": "application/json"}, "body": "{\"bread\": 42}"}`},
	},
}, route)

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
	command.Result
	Routes []protocol.Route `json:"routes"`
}

// maxRoutes is how many routes a session may have.
const maxRoutes = 100

func route(ctx context.Context, c *command.Call, p *RouteParams) (RouteResult, error) {
	if p.Pattern == "" {
		return RouteResult{}, command.BadValue("pattern", "an address, or * for all", `""`)
	}
	// Chromium takes no answer with other headers, and the request would wait for ever.
	if err := checkHeaders(p.Headers); err != nil {
		return RouteResult{}, err
	}
	if p.Action == "answer" {
		if err := checkTargets(ctx, c, p.Headers); err != nil {
			return RouteResult{}, err
		}
	}
	page, device, err := command.Live[session.Device](ctx, c)
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
	return RouteResult{c.Result(page), device.Routes()}, nil
}
