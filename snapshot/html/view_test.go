package html

import (
	"testing"

	"github.com/browserd/browserd/snapshot"
)

// snapshotOf is Snapshot with options as a session has them.
func snapshotOf(text string, o snapshot.Options) (snapshot.Snapshot, *Page, error) {
	p, err := open(text, nil)
	if err != nil {
		return snapshot.Snapshot{}, nil, err
	}
	s, err := p.snapshot(o)
	return s, p, err
}

// read is what the element of a ref holds, as each of the three ways to read it.
func (p *Page) read(ref string) (text, attributes, markup string, err error) {
	n, err := p.doc.Resolve(ref, p.refs)
	if err != nil {
		return "", "", "", err
	}
	return p.doc.Text(n, nil), p.doc.Attributes(n), p.doc.HTML(n), nil
}

// Each option does what the parameter of that name does.
func TestOptions(t *testing.T) {
	page := shopPage(60 << 10)
	for name, c := range map[string]struct {
		o    Options
		want func(*snapshot.Options)
	}{
		"none":        {Options{}, func(*snapshot.Options) {}},
		"Scope":       {Options{Scope: "header"}, func(o *snapshot.Options) { o.Scope = "header" }},
		"AllElements": {Options{AllElements: true}, func(o *snapshot.Options) { o.InteractiveOnly = false }},
		"MaxChars":    {Options{MaxChars: 900}, func(o *snapshot.Options) { o.MaxChars = 900 }},
		"MaxNodes":    {Options{MaxNodes: 9}, func(o *snapshot.Options) { o.MaxNodes = 9 }},
		"MaxDepth":    {Options{MaxDepth: 1}, func(o *snapshot.Options) { o.MaxDepth = 1 }},
		"MaxText":     {Options{MaxText: 5}, func(o *snapshot.Options) { o.MaxText = 5 }},
		"Attrs":       {Options{Attrs: []string{"title"}}, func(o *snapshot.Options) { o.Attrs = []string{"title"} }},
		"no Attrs":    {Options{Attrs: []string{}}, func(o *snapshot.Options) { o.Attrs = nil }},
		"negative":    {Options{MaxChars: -1, MaxNodes: -1, MaxDepth: -1, MaxText: -1}, func(*snapshot.Options) {}},
		"RepeatText":  {Options{AllElements: true, RepeatText: true}, func(o *snapshot.Options) { o.InteractiveOnly, o.DedupeText = false, false }},
	} {
		o := snapshot.DefaultOptions()
		c.want(&o)
		want, _, err := snapshotOf(page, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Snapshot(page, c.o)
		if err != nil || got.Text != want.Text {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, got.Text, want.Text)
		}
		if plain, _ := Snapshot(page, Options{}); (plain.Text == got.Text) != (name == "none" || name == "negative") {
			t.Errorf("%s: this page does not show what the option does", name)
		}
	}
	p, err := Snapshot(page, Options{JSON: true, MaxNodes: 3})
	if err != nil || len(p.Nodes) < 3 {
		t.Fatalf("%d nodes, %v", len(p.Nodes), err)
	}
	next, err := p.More(Options{After: p.Stats.After, MaxNodes: 3})
	if err != nil || next.Stats.NodesEmitted != 3 || next.Text == p.Text {
		t.Errorf("after %s: %v\n%s", p.Stats.After, err, next.Text)
	}
}

// What Snapshot and Query cannot do, they refuse.
func TestRefused(t *testing.T) {
	p, err := Snapshot("<a href=x>A link</a>", Options{})
	if err != nil {
		t.Fatal(err)
	}
	query := func(ref, kind string, limit int) error { _, err := p.Query(ref, kind, limit); return err }
	snap := func(o Options) error { _, err := Snapshot("<a href=x>A link</a>", o); return err }
	for _, c := range []struct {
		err  error
		want string
	}{
		{snap(Options{URL: "/items"}), `invalid_params: url "/items": accepts an absolute URL`},
		{snap(Options{URL: "http://[::1"}), `invalid_params: url "http://[::1": accepts an absolute URL`},
		{snap(Options{Scope: "a["}), `invalid_params: scope "a[": accepts a ref or a CSS selector`},
		{snap(Options{After: "@e1"}), `unknown_ref: @e1 was never given out in this session`},
		{query("@e9", "text", 0), `unknown_ref: @e9 was never given out in this session`},
		{query("@e1", "value", 0), `invalid_params: kind "value": accepts text, attr, html`},
		{query("", "attr", 0), `invalid_params: kind attr: needs a ref`},
		{query("@e1", "text", 0), ""},
	} {
		got := ""
		if c.err != nil {
			got = c.err.Error()
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
