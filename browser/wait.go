package browser

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/condition"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

const (
	// idleFor is how long no request must be under way for state networkidle.
	idleFor = 500 * time.Millisecond
	// pollInterval is when conditions are looked at again although nothing that can
	// be watched has changed: styles that a timer moves, variables of the page.
	pollInterval = 250 * time.Millisecond
)

// Wait returns when all that q names holds at once, with what was seen. It looks again whenever the document or the
// tab's state changes. When ctx ends first the error is timeout, whose details say what was waited for and what was
// seen instead. Errors: unknown_ref, invalid_params, those of check.
//
// Each time before the expression runs, check (it may be nil) is asked about the document's origin. Wait pauses
// within rest, while which other commands may read the page.
func (c *Context) Wait(ctx context.Context, refs *snapshot.Refs, q protocol.Wait, check func(origin string) error, rest func(ctx context.Context, pause func()) error) (map[string]any, error) {
	if err := condition.Check(q); err != nil {
		return nil, err
	}
	if err := condition.CheckRef(refs, q.Ref); err != nil {
		return nil, err
	}
	if rest == nil {
		rest = func(_ context.Context, pause func()) error { pause(); return nil }
	}
	w := waiter{c: c, refs: refs, q: q, check: check, yieldTurn: rest, seen: map[string]any{}}
	for {
		var ok bool
		err := inspect(ctx, c, func(ctx context.Context, t *tab) (err error) {
			ok, err = w.look(ctx, t)
			return err
		})
		switch {
		case err == nil && ok:
			return w.seen, nil
		case ctx.Err() != nil:
			return nil, w.timeoutError(ctx)
		case protocol.CodeOf(err) == protocol.StaleRef:
			// The document was left while it was asked: the next one counts.
			if err := w.pause(ctx, nil); err != nil {
				return nil, w.timeoutError(ctx)
			}
		case err != nil:
			return nil, err
		}
	}
}

// waiter is one wait: what it waits for, and what it has seen last.
type waiter struct {
	c         *Context
	refs      *snapshot.Refs
	q         protocol.Wait
	check     func(origin string) error
	yieldTurn func(ctx context.Context, pause func()) error
	seen      map[string]any
	tab       *tab      // the one that was looked at last
	world     string    // in which the expression was last evaluated
	origin    string    // of world; empty: unknown
	idle      time.Time // since when no request has been under way; zero: one is
}

// look looks once at every condition in the selected tab, and pauses where not all of them hold. If the tab looked at
// last has died since, t is its replacement, and the error is the one it died with.
func (w *waiter) look(ctx context.Context, t *tab) (ok bool, err error) {
	if before := w.tab; before != nil && before != t {
		if died := context.Cause(before.life); protocol.CodeOf(died) == protocol.PageCrashed {
			return false, died
		}
	}
	w.tab = t
	if ok, err = w.holds(ctx, t); err == nil && !ok {
		err = w.pause(ctx, t)
	}
	return ok, err
}

// holds looks at every condition. All of them are looked at, for what was seen.
func (w *waiter) holds(ctx context.Context, t *tab) (bool, error) {
	all := true
	note := func(name string, value any, ok bool) {
		w.seen[name] = value
		all = all && ok
	}
	w.c.mu.Lock()
	url, ready, busy := t.nav.url, t.nav.ready, t.requests.InFlight()
	if t.nav.onErrorPage {
		url = errorPage // it is not there
	}
	w.c.mu.Unlock()
	if busy > 0 {
		w.idle = time.Time{}
	} else if w.idle.IsZero() {
		w.idle = time.Now()
	}
	if w.q.URL != "" {
		note("url", url, condition.MatchURL(w.q.URL, url))
	}
	switch w.q.State {
	case protocol.WaitLoad:
		note("state", ready, ready == "complete")
	case protocol.WaitNetworkIdle:
		ok := ready == "complete" && busy == 0 && time.Since(w.idle) >= idleFor
		state := ready
		if ok {
			state = protocol.WaitNetworkIdle
		}
		note("state", state, ok)
		if !ok && busy > 0 {
			w.seen["requests"] = busy
		} else {
			delete(w.seen, "requests")
		}
	}
	if w.q.For != "" {
		quiet, err := w.quiet(ctx, t)
		if err != nil {
			return false, err
		}
		word := protocol.WaitQuiet
		if !quiet {
			word = "busy"
		}
		note("for", word, quiet)
	}
	if w.q.Ref != "" {
		state, err := w.ref(ctx, t)
		if err != nil {
			return false, err
		}
		note("ref", state, (state == "visible") != w.q.Gone)
	}
	if w.q.Text != "" {
		shown, err := w.shows(ctx, t, w.q.Text)
		if err != nil {
			return false, err
		}
		word := "shown"
		if !shown {
			word = "not shown"
		}
		note("text", word, shown != w.q.Gone)
	}
	if w.q.Expression != "" {
		value, truth, err := w.evaluate(ctx, t)
		if err != nil {
			return false, err
		}
		note("expression", value, truth)
	}
	return all, nil
}

// quiet reports whether no request runs that the page may be waiting for, and the page has
// not changed for a moment.
func (w *waiter) quiet(ctx context.Context, t *tab) (bool, error) {
	idle := func() bool {
		w.c.mu.Lock()
		defer w.c.mu.Unlock()
		return t.requests.InFlight() == 0 && !t.nav.refreshing && t.nav.hasContent()
	}
	delete(w.seen, "pending")
	if idle() {
		_, before := t.requests.LastEnded()
		seen, err := evaluate(ctx, t.frames.main, script.Settle, script.SettleArgs{Shown: true})
		if err != nil {
			return false, err
		}
		w.c.mu.Lock()
		w.c.reports().Announce(seen.Announced...)
		w.c.mu.Unlock()
		if _, after := t.requests.LastEnded(); idle() && after.Equal(before) {
			return true, nil
		}
	}
	if list := pendingSince(t, time.Time{}); len(list) > 0 {
		w.seen["pending"] = list
	}
	return false, nil
}

// ref reports whether the element of the ref or locator is visible, hidden or gone.
func (w *waiter) ref(ctx context.Context, t *tab) (string, error) {
	if l, ok, _ := protocol.ParseLocator(w.q.Ref); ok {
		nodes, err := t.find(ctx, protocol.Query{Locator: &l, Limit: snapshot.MaxCandidates + 1})
		return condition.Located(w.q, nodes, w.refs, err)
	}
	e, d, err := w.c.resolve(w.refs, w.q.Ref)
	if protocol.CodeOf(err) == protocol.StaleRef {
		return "gone", nil
	}
	if err != nil {
		return "", err
	}
	got, err := evaluate(ctx, d, script.RefState, script.Lookup{ID: e.Key.Node, Role: e.Role, Name: e.Name, Tag: e.Tag, Ident: e.Ident, Context: e.Context})
	switch {
	case protocol.CodeOf(err) == protocol.StaleRef:
		return "gone", nil
	case err != nil:
		return "", err
	case got.Visible:
		return "visible", nil
	case got.Attached:
		return "hidden", nil
	}
	return "gone", nil
}

// shows reports whether any frame shows the text.
func (w *waiter) shows(ctx context.Context, t *tab, text string) (bool, error) {
	for i, f := range t.frames.live() {
		shown, err := evaluate(ctx, f, script.HasText, text)
		if shown {
			return true, nil
		}
		if err != nil && (i == 0 || ctx.Err() != nil) {
			return false, err
		}
	}
	return false, nil
}

// evaluate evaluates the expression in the page's own world, if check accepts its origin. One that throws is not true
// yet; one that does not parse is invalid_params.
func (w *waiter) evaluate(ctx context.Context, t *tab) (value any, truth bool, err error) {
	d, err := t.frames.main.awaitDocument(ctx)
	if err == nil && (w.origin == "" || d.mainWorld != w.world) {
		w.origin, err = d.origin(ctx)
		w.world = d.mainWorld
	}
	if err == nil && w.check != nil {
		err = w.check(w.origin)
	}
	if err != nil {
		return nil, false, err
	}
	t.activity.Add(1)
	var got evaluated
	p := t.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{
		Expression:    "(async()=>{const v=await(" + w.q.Expression + "\n);return v?(typeof v==='object'||typeof v==='function'?true:v):false})()",
		ReturnByValue: ptr(true), AwaitPromise: ptr(true), UniqueContextID: d.mainWorld,
	})
	if err := t.wait(ctx, p, &got); err != nil {
		return nil, false, failure.Gone(err)
	}
	if e := got.ExceptionDetails; e != nil {
		got.release(t.cdp)
		value, err = condition.Thrown(e.Description())
		return value, false, err
	}
	value = false
	if v := string(got.Result.Value); v != "" && v != "false" {
		value, truth = got.Result.Value, true
	}
	return value, truth, nil
}

// pause waits until something may have changed.
func (w *waiter) pause(ctx context.Context, t *tab) error {
	ms := pollInterval
	if !w.idle.IsZero() && w.q.State == protocol.WaitNetworkIdle {
		ms = min(ms, max(idleFor-time.Since(w.idle), time.Millisecond))
	}
	pausing, cancel := context.WithTimeout(ctx, ms)
	defer cancel()
	if t == nil {
		return cmp.Or(w.yieldTurn(ctx, func() { <-pausing.Done() }), context.Cause(ctx))
	}
	w.c.mu.Lock()
	changed := t.changed
	w.c.mu.Unlock()
	any := make(chan struct{}, 1) // 1: whoever is first is heard, later ones are not waited for
	if w.q.Ref != "" || w.q.Text != "" || w.q.Expression != "" {
		for _, f := range t.frames.live() {
			p, err := f.start(script.Change.Call(ms.Milliseconds()))
			if err != nil {
				continue
			}
			go func() {
				if _, err := await(pausing, p, script.Change); err == nil {
					select {
					case any <- struct{}{}:
					default:
					}
				}
			}()
		}
	}
	err := w.yieldTurn(ctx, func() {
		select {
		case <-any:
		case <-changed:
		case <-t.life.Done():
		case <-pausing.Done():
		}
	})
	switch {
	case err != nil:
		return err
	case t.life.Err() != nil:
		return context.Cause(t.life)
	case errors.Is(context.Cause(ctx), errDialog):
		return errDialog
	}
	return nil
}

// timeoutError returns the error of a wait whose time is up, or that was cancelled.
func (w *waiter) timeoutError(ctx context.Context) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	st := w.c.State()
	for k, v := range map[string]any{"url": st.URL, "ready": st.Ready} {
		if _, ok := w.seen[k]; !ok {
			w.seen[k] = v
		}
	}
	return condition.Late(w.q, w.seen)
}
