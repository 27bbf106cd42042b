package html

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// entered is what a person has entered, by id.
type entered struct {
	values  map[string]string
	on      map[string]bool
	focused *html.Node
}

func (e entered) Value(n *html.Node) (string, bool) {
	v, ok := e.values[attr(n, "id")]
	return v, ok
}

func (e entered) Checked(n *html.Node) (bool, bool) {
	on, ok := e.on[attr(n, "id")]
	return on, ok
}

func (e entered) Selected(n *html.Node) (bool, bool) { return e.Checked(n) }
func (e entered) Focused() *html.Node                { return e.focused }

// What has been entered is shown in the place of what the markup says, masked
// like it, also within names.
func TestValues(t *testing.T) {
	d, err := Parse(t.Context(), `<input id=a aria-label=A value=old autofocus><input id=p type=password aria-label=P>
<input id=c type=checkbox aria-label=C checked><select aria-label=S><option id=x selected>X<option id=y>Y</select>
<input type=checkbox id=k><label for=k>Wait <input id=n type=number value=5> seconds</label>`, nil, 7)
	if err != nil {
		t.Fatal(err)
	}
	o := snapshot.DefaultOptions()
	lines := func(v Values) []string {
		c, err := d.Capture(t.Context(), o, snapshot.NewRefs(), v)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(dump(c)), "\n")
	}
	want := []string{
		`[textbox focused value="old"] "A"`, `[textbox type="password"] "P"`, `[checkbox checked] "C"`,
		`[combobox options=2 collapsed value="X"] "S"`, `  [option selected] "X"`, `  [option] "Y"`,
		`[checkbox] "Wait 5 seconds"`, `[spinbutton value="5"]`,
	}
	if d := cmp.Diff(lines(nil), want); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	v := entered{
		values: map[string]string{"a": "new", "p": "hunter2", "n": "9"}, on: map[string]bool{"c": false, "x": false, "y": true},
		focused: d.ByID("p"),
	}
	want = []string{
		`[textbox value="new"] "A"`, `[textbox type="password" focused value="•••"] "P"`, `[checkbox] "C"`,
		`[combobox options=2 collapsed value="Y"] "S"`, `  [option] "X"`, `  [option selected] "Y"`,
		`[checkbox] "Wait 9 seconds"`, `[spinbutton value="9"]`,
	}
	if d := cmp.Diff(lines(v), want); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
}

// The same HTML has the same keys; what comes from another document is stale.
func TestKeys(t *testing.T) {
	page := shopPage(100 << 10)
	a, _ := Parse(t.Context(), page, nil, 3)
	b, _ := Parse(t.Context(), page, nil, 3)
	refs := snapshot.NewRefs()
	ca, err := a.Capture(t.Context(), snapshot.DefaultOptions(), refs, nil)
	if err != nil {
		t.Fatal(err)
	}
	cb, err := b.Capture(t.Context(), snapshot.DefaultOptions(), refs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(ca, cb); d != "" {
		t.Fatalf("the same document twice\n%s", d)
	}
	snapshot.Render(ca, snapshot.DefaultOptions(), refs)
	n, err := a.Resolve("@e5", refs)
	if err != nil || a.Element(a.Key(n).Node) != n {
		t.Fatal(n, err)
	}
	other, _ := Parse(t.Context(), page, nil, 4)
	if _, err := other.Resolve("@e5", refs); protocol.CodeOf(err) != protocol.StaleRef {
		t.Errorf("a ref of another document: %v", err)
	}
	if _, err := a.Resolve("@e5000", refs); protocol.CodeOf(err) != protocol.UnknownRef {
		t.Errorf("a ref that nobody was given: %v", err)
	}
}

// What is not shown at once is shown by going on, each node once.
func TestGoesOn(t *testing.T) {
	for _, digest := range []bool{true, false} {
		view, err := open(shopPage(60<<10), nil)
		if err != nil {
			t.Fatal(err)
		}
		o := snapshot.DefaultOptions()
		o.InteractiveOnly, o.JSON, o.MaxChars, o.MaxNodes = digest, true, 1<<20, 1<<20
		whole, err := view.snapshot(o)
		if err != nil || whole.Stats.Truncated {
			t.Fatal(whole.Stats, err)
		}
		var want, got []string
		for _, n := range whole.Nodes {
			if n.Ref != "" {
				want = append(want, n.Ref+" "+n.Role+" "+n.Name)
			}
		}
		o.MaxChars, o.MaxNodes = 3000, 30
		for {
			s, err := view.snapshot(o)
			if err != nil {
				t.Fatal(err)
			}
			check(t, s, o)
			for _, n := range s.Nodes {
				if n.Ref != "" {
					got = append(got, n.Ref+" "+n.Role+" "+n.Name)
				}
			}
			if o.After = s.Stats.After; o.After == "" || len(got) > len(want) {
				break
			}
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("digest %t: got - want +\n%s", digest, d)
		}
	}
}

// A scope is a ref or a CSS selector, and says what is wrong with it otherwise.
func TestScope(t *testing.T) {
	_, view, err := snapshotOf(`<main><h1>A</h1><form id=f><button>B</button></form></main><select aria-label=S>`+strings.Repeat("<option>o", 20)+`</select>`, snapshot.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for scope, want := range map[string]string{
		"form#f":                 `[button] "B"`,
		"@e1":                    `[heading level=1] "A"`,
		"@e4":                    `[option] "o"`,
		"main > h1, form":        `[heading level=1] "A"`,
		".none":                  `invalid_params: scope ".none": nothing on the page matches`,
		"a[":                     `invalid_params: scope "a[": accepts a ref or a CSS selector`,
		"@e99":                   `unknown_ref: @e99 was never given out in this session`,
		strings.Repeat("a", 400): `accepts a ref or a CSS selector`,
	} {
		o := snapshot.DefaultOptions()
		o.Scope = scope
		s, err := view.snapshot(o)
		got := s.Text
		if err != nil {
			got = string(protocol.CodeOf(err)) + ": " + err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("scope %.20q: got\n%s\nwant %s", scope, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	_, view, err := snapshotOf(`<main><h2>Title</h2><p>One <b>two</b>.</p><p hidden>no</p><ul><li>a<li>b</ul><input name=n type=password value=secret></main>`, snapshot.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	const shown = "Title\n\nOne two.\n\na\nb"
	for ref, want := range map[string][3]string{
		"@e1": {shown, "{}", `<main><h2>Title</h2><p>One <b>two</b>.</p><p hidden="">no</p><ul><li>a</li><li>b</li></ul><input name="n" type="password" value="•••"/></main>`},
		"@e3": {"•••", `{"name":"n","type":"password","value":"•••"}`, `<input name="n" type="password" value="•••"/>`},
	} {
		text, attributes, markup, err := view.read(ref)
		if d := cmp.Diff([3]string{text, attributes, markup}, want); d != "" || err != nil {
			t.Errorf("%s: %v, got - want +\n%s", ref, err, d)
		}
	}
	if got := view.doc.Text(view.doc.Root(), nil); got != shown {
		t.Errorf("the document says %q", got)
	}
}

func TestFind(t *testing.T) {
	d, err := Parse(t.Context(), `<h1>Red lamp</h1><ul><li>Red <button>Buy</button><li>Blue <button>Buy</button></ul><p>A <b>red</b> one</p><p hidden>Red</p><span aria-label=Lonely>x</span><svg><g><title>Bar</title></g></svg>`, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		q    protocol.Query
		want []string
	}{
		{protocol.Query{Role: "button"}, []string{`button "Buy"`, `button "Buy"`}},
		{protocol.Query{Text: "red"}, []string{`heading "Red lamp"`, `listitem ""`, `generic ""`}},
		{protocol.Query{Text: "red", Role: "listitem"}, []string{`listitem ""`}},
		{protocol.Query{Name: "LAMP"}, []string{`heading "Red lamp"`}},
		{protocol.Query{Role: "button", Limit: 1}, []string{`button "Buy"`}},
		{protocol.Query{Text: "nowhere"}, nil},
		{protocol.Query{Name: "a red"}, nil}, // a paragraph has no name, and no more has what is around it
		{protocol.Query{Name: "lone"}, []string{`generic "Lonely"`}},
		{protocol.Query{Name: "bar"}, []string{`generic "Bar"`}},
	} {
		nodes, err := d.Find(t.Context(), c.q, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range nodes {
			got = append(got, n.Role+" \""+n.Name+"\"")
		}
		if d := cmp.Diff(got, c.want); d != "" {
			t.Errorf("%+v: got - want +\n%s", c.q, d)
		}
	}
	if _, err := d.Find(t.Context(), protocol.Query{}, nil); protocol.CodeOf(err) != protocol.InvalidParams {
		t.Error(err)
	}
}

func TestBase(t *testing.T) {
	at, _ := url.Parse("https://shop.test/a/b?c")
	for page, want := range map[string]string{
		"<p>x":            "https://shop.test/a/b?c",
		"<base href=/d/>": "https://shop.test/d/",
		"<base target=_top><base href=e><base href=f>": "https://shop.test/a/e",
		"<base href='data:,x'>":                        "https://shop.test/a/b?c",
	} {
		d, err := Parse(t.Context(), page, at, 1)
		if err != nil || d.Base().String() != want {
			t.Errorf("%s: %v, %v", page, d.Base(), err)
		}
	}
}

// Items that stand in nothing that they could be items of, and some that do: the
// roles are Chromium's (TestItemsWithoutAList in browser has the same page).
func TestItemsWithoutAList(t *testing.T) {
	d, err := Parse(t.Context(), `<main><p role=listitem>1</p></main><div role=none><div role=treeitem>2</div></div><div role=option tabindex=0>3</div>
<div role=listbox><div role=option>4</div><div><span><b role=option>5</b></span></div><div role=group><div role=option>6</div></div>
<ul role=none><li role=option>7</ul><ul><li role=option>8</ul><section><div role=option>9</div></section></div>
<div role=menu><div role=option>10</div></div><div role=treegrid><div role=treeitem>11</div></div>
<div role=tree><ul role=group><li role=treeitem>12<div role=treeitem>13</div></ul><ul><li role=treeitem>14</ul></div>
<div role=group><div role=listitem>15</div></div><fieldset><div role=listitem>16</div></fieldset>
<ol><div role=listitem>17</div></ol><div role=list><x-y><div role=listitem>18<div role=listitem>19</div></div></x-y></div>
<div role=directory><div role=listitem>20</div></div><div role=feed><div role=listitem>21</div></div>
<div role=listbox aria-owns=ow></div><div id=ow role=option>22</div><li role=treeitem>23</li><li role=listitem>24</li>
<button role=option>25</button><a href=x role=treeitem>26</a><h2 role=listitem>27</h2><div role="option button">28</div>
<div role=treeitem>29<div role=treeitem>30</div></div><div role=list aria-hidden=true><div role=listitem>31</div></div>
<dl><dd role=listitem>32</dl><div role=combobox><div role=option>33</div></div><form role=tree><i role=treeitem>34</i></form>
<ul role=none><div role=listitem>35</div></ul><div role=option inert>36</div><div role=listbox inert><div role=option>37</div></div>`, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields("paragraph generic generic option option option option listitem generic generic generic treeitem treeitem listitem " +
		"listitem generic listitem listitem generic listitem generic option listitem listitem button link heading button generic generic " +
		"listitem definition generic treeitem listitem generic option")
	i := 0
	for n := range d.root.Descendants() {
		role := attr(n, "role")
		if !strings.Contains(role, "item") && !strings.Contains(role, "option") {
			continue
		}
		if got := d.Role(n); i >= len(want) || got != want[i] {
			t.Errorf("%d: %s", i+1, got)
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d items", i)
	}
}

// What is visible within what is not is read and found, and nothing else of it.
func TestWhatIsVisibleWithin(t *testing.T) {
	d, err := Parse(t.Context(), `<div style="visibility:hidden">x<h2>no</h2><p>no<span style="visibility:visible">Visible inner</span><button style="visibility:visible">VB</button></p><select><option>no</select></div>`, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Text(d.Root(), nil); got != "Visible innerVB" {
		t.Errorf("the document says %q", got)
	}
	for text, want := range map[string]int{"visible inner": 1, "vb": 1, "no": 0, "x": 0} {
		if got, err := d.Find(t.Context(), protocol.Query{Text: text, Limit: 9}, nil); len(got) != want || err != nil {
			t.Errorf("%q is found %d times, %v", text, len(got), err)
		}
	}
}
