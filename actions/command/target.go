package command

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

// A command waits for the element of a locator for targetPatience at most, and ends the wait targetMargin
// before its own timeout.
const (
	targetPatience = 5 * time.Second
	targetMargin   = 500 * time.Millisecond
)

// resolveTargets replaces the locators among the parameters by the refs of their elements, and
// waits for those that are not there yet. The caller holds the turn of the call's session. A
// parameter with the tag lazy is left to the command. Errors: ambiguous_target;
// not_actionable with reason missing; those of Page.Find.
func resolveTargets(ctx context.Context, c *Call) error {
	if c.Session == nil {
		return nil
	}
	r := resolver{c, time.Now().Add(targetPatience)}
	return r.resolveIn(ctx, "", reflect.ValueOf(c.Params).Elem())
}

// resolver finds the elements of one call's locators.
type resolver struct {
	*Call
	until time.Time // when it waits no longer
}

// resolveIn resolves the locators in params, which stand at path: empty, or such as "fields[1].".
func (r *resolver) resolveIn(ctx context.Context, path string, params reflect.Value) error {
	for _, f := range fieldsOf(params) {
		switch t := f.v.Interface().(type) {
		case protocol.Target:
			l, ok, err := t.Locator()
			if err == nil && ok && f.tag.Get("lazy") == "" {
				var ref string
				if ref, err = r.resolve(ctx, l); err == nil {
					f.v.SetString(ref)
				}
			}
			if err != nil {
				return snapshot.ForParameter(path+f.name, err)
			}
		default:
			if f.v.Kind() != reflect.Slice || f.v.Type().Elem().Kind() != reflect.Struct {
				continue
			}
			for i := range f.v.Len() {
				if err := r.resolveIn(ctx, fmt.Sprintf("%s%s[%d].", path, f.name, i), f.v.Index(i)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// resolve returns the ref of the one element that fits the locator.
func (r *resolver) resolve(ctx context.Context, l protocol.Locator) (string, error) {
	page, err := r.Page(ctx)
	if err != nil {
		return "", err
	}
	refs := r.Session.Refs()
	q := protocol.Query{Locator: &l, Limit: snapshot.MaxCandidates + 1, Unrendered: !r.Command.Is(Acts) || r.Command.LocalFiles != ""}
	for {
		nodes, err := page.Find(ctx, refs, q)
		switch {
		case err != nil:
			return "", r.Session.DescribeLoss(err)
		case len(nodes) == 1:
			return snapshot.RefOf(refs.Number(nodes[0])), nil
		case len(nodes) > 1:
			return "", snapshot.Ambiguous(l.String(), nodes, refs)
		case r.await(ctx, page, l):
		case q.Unrendered:
			return "", r.notFoundError(ctx, page, l)
		default:
			q.Unrendered = true // the action says that it is hidden
		}
	}
}

// await waits until an element fits the locator, and reports whether one does.
func (r *resolver) await(ctx context.Context, page session.Page, l protocol.Locator) bool {
	until := r.until
	if end, ok := ctx.Deadline(); ok && end.Add(-targetMargin).Before(until) {
		until = end.Add(-targetMargin)
	}
	if !time.Now().Before(until) {
		return false
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	_, err := page.Wait(ctx, r.Session.Refs(), protocol.Wait{Ref: l.String()}, nil, nil)
	return err == nil
}

// notFoundError returns the error of a locator that no element fits, with those that come near it.
func (r *resolver) notFoundError(ctx context.Context, page session.Page, l protocol.Locator) error {
	e := protocol.Errorf(protocol.NotActionable, "nothing on the page is %s", snapshot.Quote(snapshot.Cut(l.String(), 120))).With("reason", "missing")
	refs := r.Session.Refs()
	var near []protocol.Query
	switch {
	case l.Name != "":
		near = []protocol.Query{{Role: l.Role, Name: l.Name}, {Name: l.Name}, {Text: l.Name}, {Role: l.Role}}
	case l.Text != "":
		near = []protocol.Query{{Text: l.Text}, {Name: l.Text}}
	case l.Label != "":
		near = []protocol.Query{{Name: l.Label}, {Role: "textbox"}}
	}
	for _, q := range near {
		q.Limit = 5
		nodes, err := page.Find(ctx, refs, q)
		var said *protocol.Error
		if err != nil && !errors.As(err, &said) {
			return err
		}
		if len(nodes) > 0 {
			return e.With("nearest", snapshot.LinesOf(nodes, refs)).
				Then("use a ref of details.nearest if one of them is meant, or take a snapshot")
		}
	}
	return e.Then("take a snapshot to see what is there")
}
