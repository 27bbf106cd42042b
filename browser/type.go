package browser

import (
	"context"
	"strings"
	"time"

	"github.com/chromedp/cdproto/input"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// byKeys is how many characters are typed key by key unless mode says
// otherwise: short texts are what pages listen to letter by letter. Measured:
// 20 characters 27 ms by keys, 3 ms inserted at once.
const byKeys = 100

// typeText writes into a control. Text fields, editable elements and rich editors
// are clicked into, as a person would, unless they have the focus already; the
// caret goes to the end, or with Clear all that is there is replaced. Key
// events fire for every character of a short text; a longer one is inserted at
// once (Input.insertText) up to its last character, and mode keys types all of
// it, line breaks by Enter. The ref of a frame means what takes text in it, where that is one thing. Dates, times, colours, ranges and numbers are set whole, with their
// events; a select selects. effect.Value is what the control holds where that
// is not what was asked for. Errors: those of a ref, not_actionable,
// invalid_params where the element takes no text, or none like this.
func (c *Context) typeText(ctx context.Context, refs *snapshot.Refs, o protocol.Type, h how) (protocol.Effect, error) {
	if o.Mode != "" && o.Mode != "insert" && o.Mode != "keys" {
		return protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "mode %q: takes insert or keys", o.Mode).With("parameter", "mode")
	}
	var value *string
	var typed *element
	effect, err := c.act(ctx, refs, h, func(ctx context.Context) (snapshot.Key, error) {
		el, v, err := c.typeInto(ctx, refs, o.Ref, o)
		value, typed = v, el
		if el == nil {
			return snapshot.Key{}, err
		}
		return el.key, err
	})
	effect.Value = value
	if err == nil && typed != nil && !o.Submit {
		typed.editedRow(ctx, refs)
	}
	return effect, err
}

// editedRow takes it that the client knows of its own change: what was typed
// into a row may be shown in the row at once, and it is the same row still.
func (el *element) editedRow(ctx context.Context, refs *snapshot.Refs) {
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
func (c *Context) typeInto(ctx context.Context, refs *snapshot.Refs, ref string, o protocol.Type) (*element, *string, error) {
	with := script.TypeArgs{Text: o.Text, Clear: o.Clear, Keys: o.Mode == "keys"}
	q := script.Lookup{
		Want: []string{wantVisible, wantStable, wantEnabled, wantEditable, wantTouch}, Control: "field", Ups: 1,
		ElementCall: script.Prepare.With(with), Until: time.Now().Add(waiting(ctx)),
	}
	var el *element
	var ready script.Prepared
	for ; ; q.Again = true {
		var err error
		if el, err = c.locate(ctx, refs, ref, q); err != nil {
			return nil, nil, err
		}
		if ready, err = script.Prepare.Result(el.Then); err != nil {
			return nil, nil, err
		}
		if ready.Framed {
			el.disarm()
			inner, err := c.fieldWithin(ctx, refs, el)
			if err != nil {
				return nil, nil, err
			}
			return c.typeInto(ctx, refs, inner, o)
		}
		if ready.Textless != "" || ready.Accepts != "" {
			el.disarm()
			return nil, nil, notText(refs, ref, o.Text, ready)
		}
		if el.Kind == "select" {
			el.disarm()
			_, err := c.selectIn(ctx, refs, ref, el, []string{o.Text})
			return el, nil, err
		}
		if ready.Assigned {
			if err := el.submit(ctx, o); err != nil {
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
		got, err := el.click(ctx, press{button: "left", count: 1}, script.Caret.With(with))
		if err != nil && !el.reached() {
			return nil, nil, err
		}
		if err != nil {
			return el, nil, err
		}
		if got.Hit {
			if len(got.Then) == 0 {
				return nil, nil, clickedAway(refs, ref, nil, el)
			}
			if ready, err = script.Caret.Result(got.Then); err != nil {
				return nil, nil, err
			}
			break
		}
		if q.Over() {
			return nil, nil, missed(refs, el, got)
		}
	}
	if ready.Elsewhere != nil || !ready.Focused && ready.Kind != "" {
		return nil, nil, clickedAway(refs, ref, ready.Elsewhere, el)
	}
	value, err := el.write(ctx, o, ready)
	return el, value, err
}

// fieldWithin returns the ref of what takes text in the frame that el is. Nothing is
// clicked: what a frame shows in its middle may be a button. Errors: invalid_params
// where it has several fields or none.
func (c *Context) fieldWithin(ctx context.Context, refs *snapshot.Refs, el *element) (string, error) {
	t, owner := el.frame.tab, snapshot.Key{Doc: el.key.Doc, Node: el.Target}
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
	e, err := refs.Lookup(el.ref)
	if err != nil {
		return "", err
	}
	who := e.Ref() + " " + spoken(e.Role, e.Name)
	if len(got.Several) == 0 {
		return "", protocol.Errorf(protocol.InvalidParams, "ref %s has nothing in it that takes text", who).With("parameter", "ref").
			Then("click in it what opens a field, or use press to send keys to it")
	}
	var candidates []any
	var said []string
	for _, r := range got.Several {
		ref := snapshot.RefOf(refs.Number(r.In(owner.Doc)))
		candidates = append(candidates, map[string]any{"ref": ref, "role": r.Role, "name": r.Name})
		said = append(said, ref+" "+spoken(r.Role, r.Name))
	}
	return "", protocol.Errorf(protocol.InvalidParams, "ref %s has several fields in it", who).With("parameter", "ref").
		With("candidates", candidates).Then("type into one of them: %s", strings.Join(said, ", "))
}

// write types into the control that has the focus, and reads back what it holds.
func (el *element) write(ctx context.Context, o protocol.Type, ready script.Prepared) (*string, error) {
	t := el.frame.tab
	var pending []*cdp.Pending
	if o.Clear && ready.Keys {
		pending = append(pending, t.strike(chord{key: keyNames()["a"], modifiers: controlKey})...)
	}
	if ready.End && !o.Clear {
		pending = append(pending, t.strike(chord{key: keyNames()["End"]})...)
	}
	text := strings.ReplaceAll(strings.ReplaceAll(o.Text, "\r\n", "\n"), "\r", "\n")
	lines := ready.Kind == "textarea" || ready.Kind == "editable" || ready.Kind == ""
	if !lines && o.Mode != "keys" {
		// What a browser does with the line breaks of pasted text.
		text = strings.ReplaceAll(text, "\n", " ")
	}
	if text == "" && o.Clear && (ready.Length > 0 || ready.Keys) {
		pending = append(pending, t.strike(chord{key: keyNames()["Delete"]})...)
	}
	if err := t.enter(ctx, pending, text, o.Mode == "keys", ready.Kind); err != nil {
		return nil, err
	}
	value, err := el.readBack(ctx, o, ready, text)
	if err != nil {
		return nil, err
	}
	return value, el.submit(ctx, o)
}

// readBack compares what the control holds with what was asked for.
func (el *element) readBack(ctx context.Context, o protocol.Type, ready script.Prepared, text string) (*string, error) {
	if ready.Kind == "" || ready.Keys && ready.Kind != "editable" || !o.Clear && ready.Before == nil {
		return nil, nil // it keeps its text elsewhere, or what it held is a secret
	}
	wanted := text
	if !o.Clear {
		wanted = *ready.Before + text
	}
	now, err := evaluate(ctx, el.in, script.Compare, script.CompareArgs{ID: el.Target, Wanted: wanted, Loose: ready.Kind == "editable"})
	if protocol.CodeOf(err) == protocol.StaleRef {
		return nil, nil // typing led to another document
	}
	if err != nil || !now.There || now.Asked {
		return nil, err
	}
	return &now.Value, nil
}

// submit presses Enter where that was asked for.
func (el *element) submit(ctx context.Context, o protocol.Type) error {
	if !o.Submit {
		return nil
	}
	t := el.frame.tab
	return t.waitKeys(ctx, t.strike(chord{key: keyNames()["Enter"]}))
}

// enter types text into a control of that kind: characters of the keyboard as
// keys, others as an input method gives them. Line breaks are no Enter, which sends
// many a form, unless keys are asked for: they are inserted, and in an editable
// element made by themselves. pending are keys that have been written before; all
// is written at once, since Chromium keeps its order.
func (t *tab) enter(ctx context.Context, pending []*cdp.Pending, text string, keys bool, kind string) error {
	runes := []rune(text)
	first := 0 // what comes before is inserted at once
	if !keys && kind != "" && len(runes) > byKeys {
		first = len(runes) - 1
	}
	breaks := !keys && kind == "editable"
	byKey := func(i int) bool {
		return i >= first && typable(runes[i]) && (runes[i] != '\n' || keys)
	}
	for i := 0; i < len(runes); i++ {
		switch {
		case breaks && runes[i] == '\n':
			pending = append(pending, t.breakLine()...)
		case byKey(i):
			pending = append(pending, t.tap(keyRunes()[runes[i]])...)
		default:
			end := i + 1
			for end < len(runes) && !byKey(end) && !(breaks && runes[end] == '\n') {
				end++
			}
			pending = append(pending, t.cdp.Send(input.InsertText.Method, input.InsertTextParams{Text: string(runes[i:end])}))
			i = end - 1
		}
	}
	return t.waitKeys(ctx, pending)
}

// breakLine begins a new line in an editable element, where one within inserted text
// would leave the caret in the line before: by an editing command, with the keys that
// make a new line also where Enter alone sends, for editors that look at the keys.
func (t *tab) breakLine() []*cdp.Pending {
	k := keyNames()["Enter"]
	e := input.DispatchKeyEventParams{
		Type: "rawKeyDown", Key: k.name, Code: k.code, WindowsVirtualKeyCode: k.vk, NativeVirtualKeyCode: k.vk,
		Modifiers: shiftKey, Commands: []string{"insertNewline"},
	}
	up := e
	up.Type, up.Commands = "keyUp", nil
	return []*cdp.Pending{t.cdp.Send(input.DispatchKeyEvent.Method, e), t.cdp.Send(input.DispatchKeyEvent.Method, up)}
}

func typable(r rune) bool {
	_, ok := keyRunes()[r]
	return ok
}

// notText is the error of an element that takes no text, or none like this.
func notText(refs *snapshot.Refs, ref, text string, p script.Prepared) error {
	e, err := refs.Lookup(ref)
	if err != nil {
		return err
	}
	who := e.Ref() + " " + spoken(e.Role, e.Name)
	if p.Accepts != "" {
		return protocol.Errorf(protocol.InvalidParams, "text %s: %s takes %s", quote(text), who, p.Accepts).
			With("parameter", "text").With("takes", p.Accepts).Then("write %s", p.Accepts)
	}
	err2 := protocol.Errorf(protocol.InvalidParams, "ref %s takes no text", who).With("parameter", "ref")
	if p.Textless != "none" {
		return err2.Then("use %s", p.Textless)
	}
	return err2.Then("use the ref of a textbox, or press to send keys")
}

// clickedAway is the error of a field that a click does not put the caret in.
func clickedAway(refs *snapshot.Refs, ref string, to *script.Element, el *element) error {
	e, err := refs.Lookup(ref)
	if err != nil {
		return err
	}
	who := e.Ref() + " " + spoken(e.Role, e.Name)
	if to == nil {
		return protocol.Errorf(protocol.NotActionable, "%s was clicked and did not take the focus; nothing was typed", who).
			With("reason", "covered").Then("take a snapshot: the click may have opened something else to type into")
	}
	by := snapshot.RefOf(refs.Number(to.In(el.key.Doc)))
	return protocol.Errorf(protocol.NotActionable, "%s was clicked, and the focus went to %s %s; nothing was typed", who, by, spoken(to.Role, to.Name)).
		With("reason", "covered").With("by", map[string]any{"ref": by, "role": to.Role, "name": to.Name, "tag": to.Tag}).
		Then("type into %s", by)
}
