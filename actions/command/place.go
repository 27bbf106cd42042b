package command

import (
	"cmp"
	"context"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

// opaque is the serialization of an opaque origin, which is equal to no other (HTML 7.1.1).
const opaque = "null"

// originTimeout is how long a document may take to report its origin. For one that hangs the URL's origin is
// used, and the operator's answer is not remembered.
const originTimeout = time.Second

// locate sets the question's origin and place: those of the documents of the refs in the parameters, or else of
// the tab's document. It does nothing for calls with an address or a pattern, or for all hosts, whose place is
// set already. The caller holds the turn of the call's session.
func (c *Call) locate(ctx context.Context, as *Command, q *policy.Question) {
	at := c.spots(as)
	dialog := at[0].Dialog
	if c.Session == nil || c.turn == nil && !dialog || c.Command.Is(SessionWide) || as.Is(SessionWide) || storedTarget(c) != "" ||
		c.hasParam("pattern") || c.hasParam("url") && !c.Command.Is(URLPattern) {
		return
	}
	page := c.Session.Page()
	if page == nil {
		return
	}
	tab := originOf(page.State().URL)
	q.Origin = tab
	if framed, ok := page.(session.OriginReporter); ok {
		ctx, cancel := context.WithTimeout(ctx, originTimeout)
		defer cancel()
		var refs *snapshot.Refs
		if !dialog { // a dialog blocks the page, which cannot report its origin
			refs = c.Session.Refs()
			said, err := framed.Origin(ctx, refs, protocol.Spot{})
			if err == nil {
				tab = said
			}
			q.Once = err != nil
		}
		origins := []string{}
		for _, spot := range at {
			origin, err := framed.Origin(ctx, refs, spot)
			if err != nil { // the command will report the bad ref
				origin, q.Once = tab, true
			}
			origins = append(origins, origin)
		}
		slices.Sort(origins)
		origins = slices.Compact(origins)
		q.Once = q.Once || slices.Contains(origins, opaque)
		q.Origin = strings.Join(origins, " ")
		hosts := []string{}
		for _, origin := range origins {
			hosts = append(hosts, cmp.Or(hostOf(origin), origin))
		}
		q.Host = strings.Join(hosts, " ")
	}
	if tab != q.Origin {
		q.TabOrigin = tab
	}
	q.Place = q.Origin
}

// spots returns the parts of the page that the call is for: the refs in its parameters, or what its row says
// (At). For a command that is implied by a parameter, such as the expression of wait, it is the tab's document.
func (c *Call) spots(as *Command) []protocol.Spot {
	var list []protocol.Spot
	if as == c.Command && len(c.effectiveCommands()) == 1 {
		for _, ref := range refsIn(reflect.ValueOf(c.Params).Elem()) {
			list = append(list, protocol.Spot{Ref: ref})
		}
		if len(list) == 0 && as.At != nil {
			list = append(list, as.At(c.Params))
		}
	}
	if len(list) == 0 {
		list = append(list, protocol.Spot{})
	}
	return list
}

var isRef = regexp.MustCompile(`^(ref=)?@?e[0-9]+$`)

func refsIn(params reflect.Value) []string {
	var refs []string
	for _, f := range fieldsOf(params) {
		switch {
		case f.v.Kind() == reflect.String && isRef.MatchString(f.v.String()) && slices.Contains([]string{"ref", "to", "scope"}, f.name):
			refs = append(refs, f.v.String())
		case f.v.Kind() == reflect.Slice && f.v.Type().Elem().Kind() == reflect.Struct:
			for i := range f.v.Len() {
				refs = append(refs, refsIn(f.v.Index(i))...)
			}
		}
	}
	return refs
}

// originOf returns a URL's origin; empty for what has none.
func originOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}
