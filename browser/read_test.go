package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/performance"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

const article = `<nav><a href="/x">Menu</a></nav><main><h1>Gold</h1><p>Spot <b>prices</b> are <a href="/p q">here</a>,
 <em>delayed</em>.<br>See <code>x|y</code>.</p><div hidden>secret</div>
<ul><li>One</li><li>Two<ol><li>a</li><li>b</li></ol></li></ul>
<table><caption>Fees</caption><tr><th>Kind</th><th>Fee</th></tr><tr><td>A|B</td><td>1</td></tr></table>
<pre class="language-go">func f() {
	return
}</pre><blockquote><p>Said</p><p>twice</p></blockquote>
<dl><dt>Term</dt><dd>Meaning</dd></dl><img src="/i.png" alt="A bar"><hr>
<h2>Shadow</h2><x-s><span>slotted</span></x-s></main><footer>Imprint</footer>
<script>customElements.define('x-s',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'open'}).innerHTML='<p>before <slot></slot></p>'}})</script>`

// The page as a person reads it, in each kind.
func TestRead(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, article+`<iframe srcdoc="<h2>Framed</h2><p>inside</p>"></iframe><p>after</p>`)
	url := s.srv.URL
	for _, c := range []struct{ name, ref, kind, want string }{
		{"text", "", "text", "Menu\n\nGold\n\nSpot prices are here, delayed.\nSee x|y.\n\nOne\nTwo\n\na\nb\n\nFees\nKind\tFee\nA|B\t1\n\nfunc f() {\n\treturn\n}\n\nSaid\n\ntwice\n\nTerm\nMeaning\n\nShadow\n\nbefore slotted\n\nImprint\n\nFramed\n\ninside\n\nafter"},
		{"markdown", v.ref("main", ""), "markdown", "# Gold\n\nSpot **prices** are [here](" + url + "/p%20q), *delayed*.\nSee `x|y`.\n\n- One\n- Two\n  1. a\n  2. b\n\nFees\n\n| Kind | Fee |\n| --- | --- |\n| A\\|B | 1 |\n\n```go\nfunc f() {\n\treturn\n}\n```\n\n> Said\n>\n> twice\n\n**Term**\n: Meaning\n\n![A bar](" + url + "/i.png)\n\n---\n\n## Shadow\n\nbefore slotted"},
		{"article", "", "article", "# Gold\n\nSpot **prices** are [here](" + url + "/p%20q), *delayed*.\nSee `x|y`.\n\n- One\n- Two\n  1. a\n  2. b\n\nFees\n\n| Kind | Fee |\n| --- | --- |\n| A\\|B | 1 |\n\n```go\nfunc f() {\n\treturn\n}\n```\n\n> Said\n>\n> twice\n\n**Term**\n: Meaning\n\n![A bar](" + url + "/i.png)\n\n---\n\n## Shadow\n\nbefore slotted"},
		{"html", v.ref("heading", "Gold"), "html", "<h1>Gold</h1>"},
		{"attrs", v.ref("link", "here"), "attrs", `{"href":"/p q"}`},
		{"text of one", v.ref("link", "here"), "text", "here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := v.c.Read(limit(t, 5*time.Second), v.refs, c.ref, c.kind, "")
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "content", got, c.want)
		})
	}
}

// The time that a page takes grows with its length, and not with the square of it.
func TestReadOfALongPage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, kind := range []string{"text", "markdown"} {
		took := func(n int) time.Duration {
			v := s.open(t, strings.Repeat(`<p>Offer <a href="/x">of gold</a> today</p>`, n))
			least := time.Hour
			for range 3 {
				began := v.threadTime()
				if got, err := v.c.Read(limit(t, time.Minute), v.refs, "", kind, ""); err != nil || len(got) < n*len("Offer of gold today") {
					t.Fatal(len(got), err)
				}
				least = min(least, v.threadTime()-began)
			}
			return least
		}
		short, long := took(2_000), took(16_000)
		t.Logf("%s: 2,000 paragraphs in %v, 16,000 in %v", kind, short, long)
		if long > 24*short {
			t.Errorf("%s: 2,000 paragraphs in %v, 16,000 in %v", kind, short, long)
		}
	}
}

// threadTime is the processor time that the main thread of the page's renderer has used, whatever else
// the machine does (Performance.getMetrics).
func (v *visit) threadTime() time.Duration {
	v.t.Helper()
	ctx, session := limit(v.t, time.Minute), v.c.selected.cdp
	if err := session.Send(performance.Enable.Method, performance.EnableParams{}).Wait(ctx, nil); err != nil {
		v.t.Fatal(err)
	}
	var got performance.GetMetricsResult
	if err := session.Send(performance.GetMetrics.Method, struct{}{}).Wait(ctx, &got); err != nil {
		v.t.Fatal(err)
	}
	for _, m := range got.Metrics {
		if m.Name == "ThreadTime" {
			return time.Duration(m.Value * float64(time.Second))
		}
	}
	v.t.Fatal("Chromium does not say ThreadTime")
	return 0
}

// A cell that spans rows has its columns in those below, too: what stands there is
// under its own heading. web/readable has the same test.
func TestReadTableSpans(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct{ name, page, want string }{
		{"down", `<table><tr><th>Team<th>Day<th>Score<tr><td rowspan=2>Red<td>Mon<td>1<tr><td>Tue<td>2</table>`,
			"Team Day Score|Red Mon 1| Tue 2"},
		{"down at the end", `<table><tr><th>A<th>B<th>C<tr><td>1<td>2<td rowspan=3>x<tr><td>3<td>4<tr><td>5<td>6</table>`,
			"A B C|1 2 x|3 4 |5 6 "},
		{"down and across", `<table><tr><th>A<th>B<th>C<th>D<tr><td>1<td rowspan=2 colspan=2>x<td>2<tr><td>3<td>4</table>`,
			"A B C D|1 x  2|3   4"},
		{"to the end of its rows", `<table><thead><tr><th>A<th>B<tbody><tr><td rowspan=0>x<td>1<tr><td>2<tbody><tr><td>y<td>3</table>`,
			"A B|x 1| 2|y 3"},
		{"no further than its rows", `<table><thead><tr><th>A<th>B<tbody><tr><td rowspan=9>x<td>1<tbody><tr><td>y<td>3</table>`,
			"A B|x 1|y 3"},
		{"endlessly", `<table><tr><th>A<th>B<tr><td rowspan=999999999>x<td>1<tr><td>2</table>`, "A B|x 1| 2"},
		{"of headings", `<table><tr><th rowspan=2>Name<th colspan=2>Score<tr><th>One<th>Two<tr><td>Ann<td>1<td>2</table>`,
			"Name Score | One Two|Ann 1 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page)
			got, err := v.c.Read(limit(t, 5*time.Second), v.refs, "", "markdown", "")
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "cells", cells(got), c.want)
		})
	}
}

// cells are those of a table in Markdown: a bar between rows, a space between cells.
func cells(markdown string) string {
	var rows []string
	for i, row := range strings.Split(markdown, "\n") {
		if i == 1 {
			continue // the rule below the headings
		}
		all := strings.Split(strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|"), "|")
		for j := range all {
			all[j] = strings.TrimSpace(all[j])
		}
		rows = append(rows, strings.Join(all, " "))
	}
	return strings.Join(rows, "|")
}

// What is visible within what is not is read and found, and nothing else of it.
func TestReadWhatIsVisibleWithin(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<div style="visibility:hidden">x<h2>no</h2><p>no<span style="visibility:visible">Visible inner</span><input value=no><img alt=no><button style="visibility:visible">VB</button></p>
		<ul><li>no<li style="visibility:visible">yes</ul><select><option>no</select><iframe srcdoc=no></iframe></div>
		<table><tr><th>A<th>B<tr style="visibility:collapse"><td>no<td>no<tr><td style="visibility:hidden">no<td>1</table>`)
	for kind, want := range map[string]string{
		"text":     "Visible innerVB\nyes\n\nA\tB\n\t1",
		"markdown": "Visible innerVB\n\nyes\n\n| A | B |\n| --- | --- |\n|  | 1 |",
		"article":  "Visible inner\n\nyes\n\n| A | B |\n| --- | --- |\n|  | 1 |",
	} {
		got, err := v.c.Read(limit(t, 5*time.Second), v.refs, "", kind, "")
		if err != nil {
			t.Fatal(err)
		}
		equal(t, kind, got, want)
	}
	for _, c := range []struct {
		q    protocol.Query
		want []string
	}{
		{protocol.Query{Role: "button", Name: "VB"}, []string{"button VB"}},
		{protocol.Query{Text: "visible inner"}, []string{"generic "}},
		{protocol.Query{Text: "no"}, []string{}},
		{protocol.Query{Role: "heading"}, []string{}},
	} {
		nodes, err := v.c.Find(limit(t, 5*time.Second), v.refs, c.q)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, n := range nodes {
			got = append(got, n.Role+" "+n.Name)
		}
		equal(t, fmt.Sprintf("%+v", c.q), got, c.want)
	}
}

// Values are those of controls, and secrets stay secret in every kind.
func TestReadValues(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<form><input name=getAttribute aria-label=Text value=abc><input type=password aria-label=Pin value=hunter2><input autocomplete="cc-number" aria-label=Card value=4111>
<select aria-label=Pick><option>Oslo<option selected>Rome</select><input type=checkbox checked aria-label=Check><div contenteditable role=textbox aria-label=Rich>rich <b>text</b></div><div role=slider aria-label=Vol aria-valuenow=3 tabindex=0>x</div><button>Plain</button><h1>Title</h1><textarea autocomplete="cc-number" aria-label=Long>4222</textarea></form>`)
	for _, c := range []struct{ role, name, kind, attr, want string }{
		{"textbox", "Text", "value", "", "abc"},
		{"textbox", "Pin", "value", "", "•••"},
		{"textbox", "Pin", "attrs", "", `{"type":"password","aria-label":"Pin","value":"•••"}`},
		{"textbox", "Pin", "html", "", `<input type="password" aria-label="Pin" value="•••">`},
		{"textbox", "Pin", "text", "", "•••"},
		{"textbox", "Card", "value", "", "•••"},
		{"textbox", "Long", "value", "", "•••"},
		{"textbox", "Long", "html", "", `<textarea autocomplete="cc-number" aria-label="Long">•••</textarea>`},
		{"combobox", "Pick", "value", "", "Rome"},
		{"checkbox", "Check", "value", "", "true"},
		{"textbox", "Rich", "value", "", "rich text"},
		{"slider", "Vol", "value", "", "3"},
		{"textbox", "Text", "attrs", "aria-label", "Text"},
		{"textbox", "Text", "attrs", "nope", `invalid_params: attr "nope": @e2 has no such attribute {"parameter":"attr"}`},
		{"heading", "Title", "value", "", `invalid_params: ref @e12 heading "Title" has no value {"parameter":"ref"}`},
		{"heading", "Title", "smell", "", `invalid_params: kind "smell": accepts text, markdown, html, value, attrs, article, box {"parameter":"kind"}`},
	} {
		t.Run(c.name+" "+c.kind, func(t *testing.T) {
			got, err := v.c.Read(limit(t, 5*time.Second), v.refs, v.ref(c.role, c.name), c.kind, c.attr)
			if err != nil {
				got = answer(nil, err)
			}
			equal(t, "content", got, c.want)
		})
	}
	title := v.ref("heading", "Title")
	v.eval(`document.querySelector('h1').outerHTML = '<h1>Title</h1>'`)
	again, err := v.c.Read(limit(t, 5*time.Second), v.refs, title, "text", "")
	if again != "Title" || err != nil {
		t.Errorf("made anew: %q, %v", again, err)
	}
	v.eval(`document.querySelector('h1').outerHTML = '<h1>Titles</h1>'`)
	_, err = v.c.Read(limit(t, 5*time.Second), v.refs, title, "text", "")
	equal(t, "gone", answer(nil, err), `stale_ref: @e14 is gone: it was heading "Title" {"candidates":[{"name":"Titles","ref":"@e15","role":"heading","why":"the same role and a similar name"}]}`)
}

// A box is where the mouse finds the element, in frames and after scrolling too.
func TestReadBox(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<style>body{margin:0}iframe{border:0;margin:10px;width:200px;height:80px}</style><button style="position:absolute;left:20px;top:300px;width:60px;height:30px">Low</button><iframe srcdoc="<style>body{margin:0}</style><button style='width:50px;height:20px'>Framed</button>"></iframe><button style="position:absolute;top:900px;left:0;width:40.5px;height:30px">Far</button>`)
	for _, c := range []struct{ name, want string }{
		{"Low", `{"x":20,"y":300,"width":60,"height":30}`},
		{"Framed", `{"x":10,"y":10,"width":50,"height":20}`},
		{"Far", `{"x":0,"y":900,"width":40.5,"height":30}`},
	} {
		got, err := v.c.Read(limit(t, 5*time.Second), v.refs, v.ref("button", c.name), "box", "")
		if err != nil {
			t.Fatal(err)
		}
		equal(t, c.name, got, c.want)
	}
	v.eval(`document.querySelector('button').style.display='none'`)
	_, err := v.c.Read(limit(t, 5*time.Second), v.refs, v.ref("button", "Low"), "box", "")
	equal(t, "hidden", answer(nil, err), `not_actionable: @e1 is not visible {"reason":"hidden"}`)
	_, err = v.c.Read(limit(t, 5*time.Second), v.refs, "", "box", "")
	equal(t, "of nothing", answer(nil, err), `invalid_params: kind box: needs a ref {"parameter":"ref"}`)
}

// What is found comes in document order, through frames and shadow trees.
func TestFindNodes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<h1>Offers of gold</h1><ul><li>Gold bar <button>Buy</button></li><li>Silver <button disabled>Buy</button></li></ul><p style="display:none">gold hidden</p><iframe srcdoc="<p>Fine <b>GOLD</b></p><button>Buy it</button>"></iframe><x-s></x-s><script>customElements.define('x-s',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'open'}).innerHTML='<button>Buy last</button>'}})</script>`)
	for _, c := range []struct {
		name string
		q    protocol.Query
		want []string
	}{
		{"text", protocol.Query{Text: "gold"}, []string{"heading Offers of gold", "listitem ", "generic "}},
		{"role and name", protocol.Query{Role: "button", Name: "buy"}, []string{"button Buy", "button Buy", "button Buy it", "button Buy last"}},
		{"limited", protocol.Query{Role: "button", Name: "buy", Limit: 3}, []string{"button Buy", "button Buy", "button Buy it"}},
		{"role and text", protocol.Query{Role: "listitem", Text: "silver"}, []string{"listitem "}},
		{"nothing", protocol.Query{Text: "platinum"}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			nodes, err := v.c.Find(limit(t, 5*time.Second), v.refs, c.q)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, n := range nodes {
				got = append(got, n.Role+" "+n.Name)
			}
			equal(t, "found", got, c.want)
		})
	}
	nodes, err := v.c.Find(limit(t, 5*time.Second), v.refs, protocol.Query{Role: "button", Name: "buy last"})
	if err != nil || len(nodes) != 1 {
		t.Fatal(nodes, err)
	}
	equal(t, "what was found has the ref of the snapshot", snapshot.RefOf(v.refs.Number(nodes[0])), v.ref("button", "Buy last"))
}

// What a slot shows is found where it is shown: the control that the slot stands in, and
// not the slot, which is nowhere.
func TestFindWhatASlotShows(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<script>customElements.define('x-b',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'open'}).innerHTML='<button><slot name=icon></slot><slot></slot></button>'}})</script>
<x-b>Delete all</x-b><x-b><i slot=icon>o</i> Keep <b>these</b></x-b>`)
	for text, want := range map[string]string{"delete all": "button Delete all", "keep": "button o Keep these", "these": "button o Keep these"} {
		nodes, err := v.c.Find(limit(t, 5*time.Second), v.refs, protocol.Query{Text: text})
		if err != nil || len(nodes) != 1 {
			t.Fatal(text, nodes, err)
		}
		equal(t, text, nodes[0].Role+" "+nodes[0].Name, want)
	}
}

// What has no role and is nothing to click has no name but what its author calls it,
// so that what is found by name is what bears it.
func TestFindByName(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<h1>x</h1><p>Other</p><div><button>Save</button></div><section><span aria-label="Save all">all</span></section><b aria-labelledby=l>y</b><p id=l>Saved</p><div onclick="0">Save me</div><svg><g><title>Bar</title><rect width=9 height=9 /></g></svg>`)
	for _, c := range []struct {
		q    protocol.Query
		want []string
	}{
		{protocol.Query{Name: "other"}, []string{}},
		{protocol.Query{Name: "save", Limit: 1}, []string{"button Save button"}},
		{protocol.Query{Name: "save"}, []string{"button Save button", "generic Save all span", "generic Saved b", "generic Save me div"}},
		{protocol.Query{Name: "bar"}, []string{"generic Bar g"}},
		{protocol.Query{Text: "other"}, []string{"paragraph  p"}},
		{protocol.Query{Text: "all"}, []string{"generic Save all span"}},
	} {
		nodes, err := v.c.Find(limit(t, 5*time.Second), v.refs, c.q)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, n := range nodes {
			got = append(got, n.Role+" "+n.Name+" "+n.Tag)
		}
		equal(t, fmt.Sprintf("%+v", c.q), got, c.want)
	}
}
