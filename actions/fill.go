package actions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"

	"github.com/browserd/browserd/actions/command"
)

// Fill is the command fill.
var Fill = command.Define(command.Row{
	Name: "fill", Summary: "Fills several fields: it types, selects or checks, whichever each field needs.", Next: "Then click what sends it.", Main: "fields",
	Flags: command.Acts | command.Static | command.Unconfirmed | command.MCPDefault,
	Examples: []command.Example{
		{For: "Fills a form with one command", Params: `{"fields": [{"ref": "@e7", "value": "Ola"}, {"ref": "@e8", "value": "Bergen"}, {"ref": "@e11", "value": true}]}`},
	},
}, fill)

// FillParams are the parameters of fill.
type FillParams struct {
	Fields []FillField `json:"fields" required:"true" doc:"{ref, value} each: a text, a date, a number; true or false for a checkbox, radio button or switch; a label or value, or a list of them, for a select"`
	command.Shows
}

// FillField is one field and what it is to hold.
type FillField struct {
	Ref   protocol.Target `json:"ref"`
	Value json.RawMessage `json:"value" takes:"string,number,boolean,array" items:"string"`
}

// FillResult is the answer of fill.
type FillResult struct {
	command.Result
	Fields []Filled `json:"fields"`
}

// Filled is one field as it was filled.
type Filled struct {
	Ref string `json:"ref"`
	By  string `json:"by"` // type, select or check
	// Value is what the field holds where that is not what was asked for.
	Value    *string  `json:"value,omitempty"`
	Selected []string `json:"selected,omitempty"` // of a select, the labels
}

// maxFields is how many fields one command may fill.
const maxFields = 200

// fill fills the fields in their order, each in the way of the command that
// fits it. The first that cannot be filled ends it: the error says which, and
// which were filled before.
func fill(ctx context.Context, c *command.Call, p *FillParams) (FillResult, error) {
	if len(p.Fields) == 0 || len(p.Fields) > maxFields {
		return FillResult{}, protocol.Errorf(protocol.InvalidParams, "fields: accepts 1 to %d fields, not %d", maxFields, len(p.Fields)).With("parameter", "fields")
	}
	values := make([]fieldValue, len(p.Fields))
	for i, f := range p.Fields {
		var err error
		if values[i], err = valueOf(i, f); err != nil {
			return FillResult{}, err // before anything is filled
		}
	}
	page, err := c.Page(ctx)
	if err != nil {
		return FillResult{}, err
	}
	var all protocol.Effect
	done := []Filled{}
	for i, f := range p.Fields {
		filled, effect, err := fillOne(ctx, c, page, string(f.Ref), values[i], p.Shows)
		if err != nil {
			err = snapshot.ForParameter(fmt.Sprintf("fields[%d].ref", i), err)
			var e *protocol.Error
			if errors.As(err, &e) {
				e.With("field", i).With("filled", done)
			}
			return FillResult{}, c.Session.DescribeLoss(err)
		}
		done = append(done, filled)
		all = together(all, effect)
		if effect.Dialog != nil && effect.Dialog.Answer == "open" {
			break // it holds the page; fields says how far it came
		}
	}
	r, err := c.Acted(ctx, page, all, nil, p.Shows)
	return FillResult{r, done}, err
}

// fieldValue is a value in each form that a field may take it in.
type fieldValue struct {
	text string
	list []string
	on   *bool
}

func valueOf(i int, f FillField) (fieldValue, error) {
	bad := protocol.Errorf(protocol.InvalidParams, "fields[%d].value: accepts a string, a number, true, false or a list of strings, not %s", i, protocol.Cut(string(f.Value), 60)).
		With("parameter", "fields")
	var v fieldValue
	raw := bytes.TrimSpace(f.Value)
	var number json.Number
	var on bool
	switch {
	case f.Ref == "":
		return v, protocol.Errorf(protocol.InvalidParams, "fields[%d]: needs a ref", i).With("parameter", "fields")
	case len(raw) == 0:
		return v, protocol.Errorf(protocol.InvalidParams, "fields[%d]: needs a value", i).With("parameter", "fields")
	case bytes.Equal(raw, []byte("null")):
		return v, bad
	case json.Unmarshal(raw, &v.text) == nil:
		v.list = []string{v.text}
		switch strings.ToLower(v.text) {
		case "true", "on", "yes":
			on = true
			v.on = &on
		case "false", "off", "no":
			v.on = &on
		}
	case json.Unmarshal(raw, &on) == nil:
		v.on, v.text, v.list = &on, strconv.FormatBool(on), []string{strconv.FormatBool(on)}
	case json.Unmarshal(raw, &number) == nil:
		v.text, v.list = number.String(), []string{number.String()}
	case json.Unmarshal(raw, &v.list) == nil:
		v.text = strings.Join(v.list, ", ")
	default:
		return v, bad
	}
	return v, nil
}

// checkable are the roles of what is checked and not written into.
var checkable = map[string]bool{"checkbox": true, "radio": true, "switch": true, "menuitemcheckbox": true, "menuitemradio": true}

func fillOne(ctx context.Context, c *command.Call, page session.Page, ref string, v fieldValue, s command.Shows) (Filled, protocol.Effect, error) {
	refs := c.Session.Refs()
	e, err := refs.Lookup(ref)
	if err != nil {
		return Filled{}, protocol.Effect{}, err
	}
	filled := Filled{Ref: e.Ref()}
	var a protocol.Action
	secret := false
	switch {
	case checkable[e.Role]:
		filled.By = Check.Name
		if v.on == nil {
			return filled, protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "fields: %s is a %s, which accepts true or false, not %q", e.Ref(), e.Role, protocol.Cut(v.text, 60)).With("parameter", "fields")
		}
		a = protocol.Check{Ref: ref, Checked: *v.on}
	case e.Tag == "select":
		filled.By = Select.Name
		a = protocol.Select{Ref: ref, Values: v.list}
	default:
		filled.By = Type.Name
		var text string
		if text, secret, err = command.Reveal(ctx, c, page, ref, v.text); err != nil {
			return filled, protocol.Effect{}, err
		}
		a = protocol.Type{Ref: ref, Text: text, Clear: true, Secret: secret}
	}
	did, err := page.Act(ctx, refs, s.Acting(a))
	filled.Selected, filled.Value = did.Selected, did.Value
	return filled, did.Effect, command.WithoutSecret(err, secret)
}

// together returns what two actions, one after the other, have done.
func together(a, b protocol.Effect) protocol.Effect {
	e := b
	e.Hit, e.Value = "", nil // of one field each
	if e.Navigated == "" {
		e.Navigated = a.Navigated
	}
	if all := append(dialogsOf(a), dialogsOf(b)...); len(all) > 0 {
		e.Dialog, e.Dialogs = &all[len(all)-1], all[:len(all)-1]
	}
	if e.Focused == "" {
		e.Focused = a.Focused
	}
	e.Changed = a.Changed || b.Changed
	e.TabsOpened = append(a.TabsOpened, b.TabsOpened...)
	e.Reports = a.Reports
	e.Reports.Add(b.Reports)
	e.Pending = append(slices.Clone(a.Pending), b.Pending...)
	e.Pending = e.Pending[:min(len(e.Pending), protocol.MaxReports)]
	return e
}

// dialogsOf returns the dialogs that an effect tells of.
func dialogsOf(e protocol.Effect) []protocol.Dialog {
	all := slices.Clone(e.Dialogs)
	if e.Dialog != nil {
		all = append(all, *e.Dialog)
	}
	return all
}
