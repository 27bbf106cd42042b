package actions

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
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
	Body    string            `json:"body" code:"true" doc:"of the answer"`
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
	// Chromium takes no answer with other headers, and the request would wait forever.
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
		return RouteResult{}, c.Session.DescribeLoss(err)
	}
	c.Session.RecordRoutes(routes)
	return RouteResult{c.Result(page), device.Routes()}, nil
}

// checkHeaders checks the headers of an answer.
func checkHeaders(headers map[string]string) error {
	for name, value := range headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return command.BadValue("headers", "names and values of one line", strconv.Quote(protocol.Cut(name, 60)))
		}
	}
	return nil
}

// answersWith reports whether a call of route answers requests with that header, which
// then acts on the session in the name of the site that was asked.
func answersWith(header string) func(params any) bool {
	return func(params any) bool {
		p := params.(*RouteParams)
		for name := range p.Headers {
			if p.Action == "answer" && strings.EqualFold(name, header) {
				return true
			}
		}
		return false
	}
}

// checkTargets refuses an answer whose headers lead pages where open would be refused:
// a redirect, a refresh, what is loaded ahead, and where reports go. A relative address
// stays at the host of the request, which the policy has let through. The egress proxy
// checks each request all the same: this says so before a page waits for it.
func checkTargets(ctx context.Context, c *command.Call, headers map[string]string) error {
	for name, value := range headers {
		for _, target := range targetsIn(name, value) {
			for _, url := range absolute(target) {
				if _, err := c.CheckURL(ctx, url); err != nil {
					var e *protocol.Error
					if errors.As(err, &e) {
						e.Message = "headers: " + protocol.Cut(name, 60) + ": " + e.Message
						e.With("parameter", "headers")
					}
					return err
				}
			}
		}
	}
	return nil
}

var (
	inAngles = regexp.MustCompile(`<([^>]*)>`)
	inQuotes = regexp.MustCompile(`"([^"]*)"`)
	refresh  = regexp.MustCompile(`(?is)^\s*[0-9.]*\s*[;,]?\s*(?:url\s*=)?\s*(.*)$`)
)

// targetsIn returns the addresses that a response's header has its page go to or ask.
func targetsIn(name, value string) []string {
	var targets []string
	switch strings.ToLower(name) {
	case "location":
		return []string{value}
	case "refresh": // HTML, 7.3.4.4 (shared declarative refresh steps)
		return []string{strings.Trim(refresh.FindStringSubmatch(value)[1], `"' `)}
	case "link": // RFC 8288, 3
		for _, found := range inAngles.FindAllStringSubmatch(value, -1) {
			targets = append(targets, found[1])
		}
	case "report-to", "reporting-endpoints", "speculation-rules":
		for _, found := range inQuotes.FindAllStringSubmatch(value, -1) {
			if strings.ContainsAny(found[1], `/\`) { // the rest are keys and names
				targets = append(targets, found[1])
			}
		}
	case "content-security-policy", "content-security-policy-report-only":
		for directive := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ';' || r == ',' }) {
			if words := strings.Fields(directive); len(words) > 1 && strings.EqualFold(words[0], "report-uri") {
				targets = append(targets, words[1:]...)
			}
		}
	}
	return targets
}

// absolute returns a target as the URLs that it may stand for at a host that is not known
// yet; none if it stays there.
func absolute(target string) []string {
	target = strings.ReplaceAll(strings.TrimFunc(target, func(r rune) bool { return r <= ' ' }), "\t", "")
	scheme, _, found := strings.Cut(target, ":")
	switch {
	case len(target) > 1 && strings.ContainsRune(`/\`, rune(target[0])) && strings.ContainsRune(`/\`, rune(target[1])):
		return []string{"https:" + target, "http:" + target}
	case found && scheme != "" && !strings.ContainsAny(scheme, `/\?#`):
		return []string{target}
	}
	return nil
}
