package browser

import (
	"context"
	"time"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// typeText writes into a control. Text fields, editable elements and rich editors are clicked into, as a person
// would, unless they have the focus already; the caret goes to the end, or with Clear all that is there is replaced.
// Key events fire for every character of a short text; a longer one is inserted at once (Input.insertText) up to its
// last character, and mode keys types all of it, line breaks by Enter. The ref of a frame means what takes text in
// it, where that is one thing. Dates, times, colours, ranges and numbers are set whole, with their events; a select
// selects. effect.Value is what the control holds where that is not what was asked for. Errors: those of a ref,
// not_actionable, invalid_params where the element accepts no text, or none like this.
func typeText(o protocol.Type) (actionFunc, error) {
	if o.Mode != "" && o.Mode != "insert" && o.Mode != "keys" {
		return nil, protocol.Errorf(protocol.InvalidParams, "mode %q: accepts insert or keys", o.Mode).With("parameter", "mode")
	}
	return func(ctx context.Context, a *action) error {
		el, value, err := a.typeInto(ctx, o.Ref, o)
		a.value = value
		if el != nil && !o.Submit {
			a.then = el.editedRow
		}
		return a.setHit(el, err)
	}, nil
}

// editedRow has the refs know the element by its row as it is now: what was typed into a
// row may be shown in the row at once, and the client knows of its own change.
func (el *element) editedRow(ctx context.Context) {
	refs := el.action.refs
	e, err := refs.Lookup(el.ref)
	if err != nil || e.Context == "" || e.Key != el.key {
		return
	}
	now, err := evaluate(ctx, el.in, script.ContextNow, el.key.Node)
	if err != nil || now == nil || *now == e.Context {
		return
	}
	refs.Number(snapshot.Node{Key: e.Key, Role: e.Role, Name: e.Name, Tag: e.Tag, Ident: e.Ident, Context: *now})
}

// typeInto types and returns the element, and what it holds where that is not
// what was asked for.
func (a *action) typeInto(ctx context.Context, ref string, o protocol.Type) (*element, *string, error) {
	with := script.TypeArgs{Text: o.Text, Clear: o.Clear, Keys: o.Mode == "keys", Secret: o.Secret}
	q := script.Lookup{
		Want: []string{wantVisible, wantStable, wantEnabled, wantEditable, wantTouch}, Control: "field", Presses: 1,
		ElementCall: script.Prepare.With(with), Until: time.Now().Add(locateTimeoutFor(ctx)),
	}
	var el *element
	var ready script.Prepared
	for ; ; q.Again = true {
		var err error
		if el, err = a.locate(ctx, ref, q); err != nil {
			return nil, nil, err
		}
		if ready, err = script.Prepare.Result(el.Then); err != nil {
			return nil, nil, err
		}
		if ready.Framed {
			el.endHitTest()
			if o.Secret {
				return nil, nil, failure.SecretInFrame(ref)
			}
			inner, err := el.fieldWithin(ctx)
			if err != nil {
				return nil, nil, err
			}
			return a.typeInto(ctx, inner, o)
		}
		if ready.Textless != "" || ready.Accepts != "" {
			return nil, nil, failure.NotText(a.refs, ref, o.Text, ready)
		}
		if el.Kind == "select" {
			el.endHitTest()
			return el, nil, el.choose(ctx, ref, []string{o.Text})
		}
		if ready.Assigned {
			if err := el.submit(ctx, o, false); err != nil {
				return el, nil, err
			}
			if ready.Asked {
				return el, nil, nil
			}
			return el, &ready.Value, nil
		}
		if ready.Ready {
			break
		}
		if el.X == nil {
			ready, err = evaluate(ctx, el.in, script.CaretIn, script.CaretArgs{Node: el.Target, Clear: o.Clear})
			if err != nil {
				return nil, nil, err
			}
			break
		}
		with.Clicked = true
		q.ElementCall = script.Prepare.With(with)
		got, err := el.click(ctx, input.LeftClick, script.Caret.With(with))
		if err != nil && !el.inputReceived() {
			return nil, nil, err
		}
		if err != nil {
			return el, nil, err
		}
		if got.Hit {
			if len(got.Then) == 0 {
				return nil, nil, failure.ClickedAway(a.refs, ref, el.key.Doc, nil)
			}
			if ready, err = script.Caret.Result(got.Then); err != nil {
				return nil, nil, err
			}
			break
		}
		if q.Over() {
			return nil, nil, el.missError()
		}
	}
	if ready.Elsewhere != nil || !ready.Focused && ready.Kind != "" {
		return nil, nil, failure.ClickedAway(a.refs, ref, el.key.Doc, ready.Elsewhere)
	}
	value, err := el.write(ctx, o, ready)
	return el, value, err
}

// fieldWithin returns the ref of what takes text in the frame that the element is. Nothing is
// clicked: what a frame shows in its middle may be a button. Errors: invalid_params
// where it has several fields or none.
func (el *element) fieldWithin(ctx context.Context) (string, error) {
	refs, t, owner := el.action.refs, el.frame.tab, snapshot.Key{Doc: el.key.Doc, Node: el.Target}
	var got script.Fields
	for owner.Node != 0 {
		t.frames.findOwners(ctx, t.frames.live())
		f := t.frameIn(owner)
		if f == nil {
			break
		}
		d, err := f.document()
		if err != nil {
			return "", err
		}
		if got, err = evaluate(ctx, d, script.FieldWithin, script.None{}); err != nil {
			return "", err
		}
		owner = snapshot.Key{Doc: d.doc, Node: got.Frame}
	}
	if got.Field != nil {
		return snapshot.RefOf(refs.Number(got.Field.In(owner.Doc))), nil
	}
	return "", failure.NoField(refs, el.ref, owner.Doc, got.Several)
}

// write types into the control that has the focus, and reads back what it holds.
func (el *element) write(ctx context.Context, o protocol.Type, ready script.Prepared) (*string, error) {
	t := el.frame.tab
	guard, err := el.guardKeys(ctx, el.in, el.Target, ready.Guarded, o.Secret)
	if err != nil {
		return nil, err
	}
	keyboard := input.NewKeyboard(t.cdp)
	var pending []*cdp.Pending // all is written at once, since Chromium keeps its order
	if o.Clear && ready.Keys {
		pending = append(pending, keyboard.Press(input.MustChord("Control+a"))...)
	}
	if ready.End && !o.Clear {
		pending = append(pending, keyboard.Press(input.MustChord("End"))...)
	}
	text := ready.TextFor(o.Text, o.Mode == "keys")
	if text == "" && o.Clear && (ready.Length > 0 || ready.Keys) {
		pending = append(pending, keyboard.Press(input.MustChord("Delete"))...)
	}
	how := input.Typing{Keys: o.Mode == "keys", InsertLong: ready.Kind != "", Insert: o.Secret && ready.Kind != "", BreakLines: ready.Kind == "editable", Whole: ready.Whole}
	keyed, inserted := ready.Parts(text, o.Secret && !how.Keys)
	pending = append(pending, keyboard.Type(keyed, how)...)
	guard.text = text
	err = el.action.waitInput(ctx, pending)
	if err == nil && inserted != "" {
		_, err = evaluate(ctx, el.in, script.InsertText, inserted)
	}
	q := script.KeysResultArgs{Compare: ready.Expect(text, o.Clear), Keep: o.Submit, Settle: !o.Submit, Shown: !el.action.how.unshown}
	got, lost := guard.end(ctx, q)
	if err != nil {
		return nil, err
	}
	value := got.Otherwise()
	if got.By != nil || got.Lost && (len(pending)+len(inserted) > 0 && got.Got == 0 || value != nil) {
		return value, lost()
	}
	return value, el.submit(ctx, o, got.Kept)
}

// submit presses Enter where that was asked for.
func (el *element) submit(ctx context.Context, o protocol.Type, guarded bool) error {
	if !o.Submit {
		return nil
	}
	return el.pressKeys(ctx, el.in, el.Target, input.MustChord("Enter"), guarded)
}

// pressKeys presses keys that only the element with that number in the document gets, or nothing does. guarded says
// that the document keeps them from all else already.
func (el *element) pressKeys(ctx context.Context, in *document, node int, c input.Chord, guarded bool) error {
	guard, err := el.guardKeys(ctx, in, node, guarded, false)
	if err != nil {
		return err
	}
	err = el.action.waitKeys(ctx, input.NewKeyboard(el.frame.tab.cdp).Press(c))
	got, lost := guard.end(ctx, script.KeysResultArgs{Settle: err == nil, Shown: !el.action.how.unshown})
	if err == nil && got.By != nil && got.Got == 0 {
		err = lost()
	}
	return err
}
