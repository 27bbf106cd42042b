package browser

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/browser/targets"
	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/internal/testpages"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/snapshot"
)

// shortcuts are what the walk works out for itself where it is plain what accname, or
// Chromium, would say, each with the function as it is without.
var shortcuts = []struct{ function, without string }{
	{"function plainName(el, role, f) {", "return '';"},
	{"function neverNamed(el, role, f) {", "return false;"},
	{"renders(child) {", "return false;"},
}

// whole returns the script of the pages as it is before it is minified.
func whole(t *testing.T) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "whole.js")
	if said, err := exec.Command("go", "-C", "../tools", "run", "./bundle", "-whole", "../browser/script/js/main.js", to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestShortcutsChangeNothing walks pages with the shortcuts and without:
// those of testdata, the name cases, and pages on which a shortcut that is taken
// too often would be wrong.
func TestShortcutsChangeNothing(t *testing.T) {
	inject := targets.Inject
	t.Cleanup(func() { targets.Inject = inject })
	long := whole(t)
	for _, s := range shortcuts {
		if strings.Count(long, s.function) != 1 {
			t.Fatalf("%s is not in the script", s.function)
		}
		long = strings.Replace(long, s.function, s.function+"\n"+s.without, 1)
	}
	with := launchTestPage(t)
	targets.Inject = func() jsonv2.Value { return targets.Injection(long + "globalThis.withoutShortcuts = true;") }
	without := launchTestPage(t)

	dump := func(r walk.Result) string {
		all := dumpWalk(r)
		for _, n := range r.Nodes {
			all += "context " + n.Context + "\n"
		}
		return all
	}
	same := func(t *testing.T, html string) {
		t.Helper()
		if got := without.ask("'' + globalThis.withoutShortcuts"); got != "true" { // where a script fails, its page gets the bundle
			t.Fatal("the script without the shortcuts does not run")
		}
		for _, c := range []struct{ interactive, dedupe bool }{{true, true}, {true, false}, {false, true}} {
			o := walk.NewOptions(snapshot.DefaultOptions())
			o.Interactive, o.DedupeText = c.interactive, c.dedupe
			got, want := dump(with.walk(o)), dump(without.walk(o))
			if d := cmp.Diff(got, want); d != "" {
				t.Errorf("%+v, - with the shortcuts, + without:\n%s\nof %s", c, d, html)
			}
		}
	}
	load := func(t *testing.T, html string) {
		t.Helper()
		with.load(html)
		without.load(html)
		same(t, html)
	}
	files, err := filepath.Glob("testdata/walk/*.html")
	if err != nil || len(files) == 0 {
		t.Fatal("no pages", err)
	}
	for _, file := range files {
		html, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) { load(t, string(html)) })
	}
	t.Run("shop", func(t *testing.T) { load(t, testpages.Page(300)) })
	t.Run("near misses", func(t *testing.T) {
		for _, html := range nearMisses {
			load(t, "<!doctype html><meta charset=utf-8><body>"+html)
		}
	})
	t.Run("accname", func(t *testing.T) {
		raw, err := os.ReadFile("../../shared/cases/accname.json")
		if err != nil {
			untested.Skip(t, "the shared cases are not beside this checkout: %v", err)
		}
		var cases []nameCase
		if err := json.Unmarshal(raw, &cases); err != nil {
			t.Fatal(err)
		}
		load(t, "<!doctype html><meta charset=utf-8><body>")
		for _, c := range cases {
			if strings.Contains(c.HTML, `type="image"`) {
				continue // it has a box only once its picture has failed
			}
			text, _ := json.Marshal(c.HTML)
			for _, p := range []*testPage{with, without} {
				p.run("document.body.innerHTML = " + string(text))
			}
			same(t, c.HTML)
		}
	})
}

// TestKeptStylesFollowThePage walks a page again after its style has changed in
// ways that no observer of the document sees, and after elements have moved.
func TestKeptStylesFollowThePage(t *testing.T) {
	t.Parallel()
	p := openTestPage(t, `<!doctype html><meta charset=utf-8><style id=s></style><body><button id=b>Go</button><div id=d><a href=/1>Link</a> text</div><p id=e>more</p>
<div id=host></div><script>const B = b, D = d, root = host.attachShadow({mode: 'open'}); root.innerHTML = '<style>button::before{content:"in "} a{display:none}</style>'</script>`)
	for _, step := range []struct{ name, script, want string }{
		{"as it is", `0`, "1 [button] \"Go\"\n2 [link href=\"/1\"] \"Link\"\ntext \"text\"\ntext \"more\"\n"},
		{"a rule", `s.sheet.insertRule('button::after{content:"!"}'), 0`, "1 [button] \"Go!\"\n2 [link href=\"/1\"] \"Link\"\ntext \"text\"\ntext \"more\"\n"},
		{"its declaration", `s.sheet.cssRules[0].style.content = '"?"', s.sheet.insertRule('#e{visibility:hidden}'), 0`, "1 [button] \"Go?\"\n2 [link href=\"/1\"] \"Link\"\ntext \"text\"\n"},
		{"an adopted sheet", `document.adoptedStyleSheets = [new CSSStyleSheet()], document.adoptedStyleSheets[0].replaceSync('#d{opacity:0}'), 0`, "1 [button] \"Go?\"\n2 [link href=\"/1\" invisible] \"Link\"\n"},
		{"none", `document.adoptedStyleSheets = [], s.disabled = true, 0`, "1 [button] \"Go\"\n2 [link href=\"/1\"] \"Link\"\ntext \"text\"\ntext \"more\"\n"},
		{"into a shadow tree", `root.append(B, D), 0`, "text \"more\"\n1 [button] \"in Go\"\ntext \"text\"\n"},
		{"and out", `document.body.append(B, D), 0`, "text \"more\"\n1 [button] \"Go\"\n2 [link href=\"/1\"] \"Link\"\ntext \"text\"\n"},
	} {
		p.run(step.script)
		if d := cmp.Diff(dumpWalk(p.walk(walk.NewOptions(snapshot.DefaultOptions()))), step.want); d != "" {
			t.Errorf("%s: got - want +\n%s", step.name, d)
		}
	}
}

// nearMisses look plain and are not.
var nearMisses = []string{
	// content that a style sheet makes
	`<style>.n::before{content:"New: "} .s::after{content:" (sold)"/"sold out"} .c{counter-increment:x} .c::before{content:counter(x)". "} .e::before{content:""} .u::after{content:url(data:,x)}</style>
	<a href=/1 class=n>Boots</a> <a href=/2 class=s>Shoes</a> <button class=c>First</button> <button class=c>Second</button> <h2 class=e>Empty</h2> <h3 class=u>Picture</h3>`,
	`<style>td::before{content:attr(data-label)": "} li:nth-child(2) a::after{content:" *"} tr:last-child th::after{content:"!"}</style>
	<table><caption>T</caption><tr><th>Head<th>Two<tr><td data-label=Price>12<td>13<tr><th>End<td>14</table><ul><li><a href=/1>One</a><li><a href=/2>Two</a><li><a href=/3>Three</a></ul>`,
	`<style>button:hover::after, button:not(:hover)::before{content:"cold "} @media screen{a::before{content:"screen "}} @layer a{h1::before{content:"layer "}}</style><button>Tea</button> <a href=/>Go</a><h1>Top</h1>`,
	`<style>a{content:url(data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7)}</style><a href=/>Replaced</a> <button>Kept</button>`,
	`<style>a::before{content:"shown";display:none} button::before{content:"hidden";visibility:hidden} h1::marker{content:"marked "} h1{display:list-item}</style><a href=/>A</a> <button>B</button><h1>H</h1>`,
	`<style>button{all:unset} a::first-letter{font-size:2em} q::before{content:"<<"} .x::before{content:"open";position:absolute}</style><button>Unset</button> <a href=/>Letter</a> <a href=/><q>Quoted</q></a> <a class=x href=/>Box</a>`,
	// the text is not what is there
	`<style>.u{text-transform:uppercase} .c{text-transform:capitalize} .p{-webkit-text-security:disc} .f::first-line{text-transform:uppercase}</style><a href=/ class=u>small</a> <button class=c>two words</button> <h2 class=p>secret</h2><h3 class=f>first line</h3><div class=u><a href=/>inherited</a><table><tr><td>cell<td>b<tr><td>c<td>d</table></div>`,
	"<a href=/>so\u00adft</a> <button>zero\u200bwidth</button> <h2>\u202eback</h2> <a href=/>no\u00a0break</a> <button>  two   spaces\n and a line </button><h3>\t</h3>",
	`<button><!-- no text --></button> <button>one<!-- -->two</button> <a href=/><b>bold</b></a> <a href=/>a<wbr>b</a> <h2>with <i>more</i></h2> <button><br>x</button>`,
	// names from elsewhere
	`<span id=l>Label</span><button aria-labelledby=l>own</button> <a href=/ aria-labelledby="no such">link</a> <button aria-label="  ">blank</button> <h2 aria-label=Said>text</h2> <a href=/ aria-label="Said too">text</a> <button title=Tip>text</button> <button title=Tip></button> <a href=/ title=T> </a>`,
	`<label>Around <button>inside</button></label> <label for=b>For it</label><button id=b>Own</button> <label for=o>Output</label><output id=o>5</output>`,
	`<div id=owned>Owned</div><button aria-owns=owned>Owner</button> <button aria-description=more>Described</button> <a href=/ aria-roledescription=thing>R</a> <button aria-placeholder=p></button>`,
	// the label, the caption or the heading that names another is not all of it
	`<label>Plain <input></label> <label for=a>For</label><input id=a> <label for=b>One</label><label for=b>Two</label><input id=b> <label>Wide <input type=number> kg</label> <label>
		<input type=checkbox> Behind </label> <label><b>Bold</b> <input></label> <label>With <i>more</i><select><option>o</select></label> <label><!-- c -->Comment <textarea></textarea></label>`,
	`<style>.u{text-transform:uppercase} .b::before{content:"* "} .a::after{content:":"} .h{visibility:hidden} .d{display:none}</style><label class=u>upper <input></label> <label class=b>before <input></label>
	<label class=a for=x>after</label><input id=x> <label class=h for=y>hidden</label><input id=y> <label class=d for=z>none</label><input id=z> <div style="display:none"><label for=w>in none</label></div><input id=w>`,
	`<label aria-label=Said for=p>text</label><input id=p> <label title=Tip for=q>text</label><input id=q> <label aria-hidden=true for=r>hushed</label><input id=r> <div aria-hidden=true><label for=s>around</label></div><input id=s>
	<label role=none for=t>none</label><input id=t> <label inert for=v>inert</label><input id=v> <label for=f>File</label><input type=file id=f> <label for=g>Colour</label><input type=color id=g> <label for=j>Range</label><input type=range id=j>`,
	`<label for=d1>Day</label><input type=date id=d1> <label for=s1>Send</label><input type=submit id=s1 value=Go> <label for=i1> </label><input id=i1 placeholder=P> <label for=i2></label><input id=i2 title=T> <input id=i3 title=T placeholder=P>
	<label>Titled <input title=T></label> <label>Held <input placeholder=P></label> <label>List <select multiple size=3><option>a<option>b</select></label> <label>Switch <input type=checkbox role=switch></label> <label>Button <input type=checkbox role=button></label>`,
	`<label>Combo <input role=combobox aria-expanded=false></label> <label>Read <input readonly value=v></label> <label>Outer <button>in</button></label> <label for=m1>Meter</label><meter id=m1 value=.5></meter> <label>so­ft <input></label> <label>no break <input></label>`,
	`<label>Outer <label>Inner <input></label></label> <label for=dd>First</label><input id=dd><input id=dd> <label for="">Empty</label><input id=""> <label for=nl>No field</label><div id=nl>x</div> <label for=hh>Hidden</label><input type=hidden id=hh><input>
	<label for=bb>Elsewhere <input></label><button id=bb>Own</button> <label>Two <input><input></label> <label><button>First</button> then <input></label> <label for=gg>Behind</label><label>Around <input id=gg></label> <label for=oo2>Of output</label><output id=oo2>5</output> <b id=ss></b>
	<script>ss.attachShadow({mode:'open'}).innerHTML='<label for=q2>Inside</label><input id=q2><label>Wrapped <input></label><label for=dd>Other tree</label>'</script>`,
	`<section aria-labelledby=h1><h2 id=h1>Plain</h2>t</section> <section aria-labelledby="h1 h2"><h2 id=h2>Second</h2></section> <section aria-labelledby=h3><h2 id=h3>With <i>more</i></h2></section> <section aria-labelledby=h4><h2 id=h4 aria-label=Said>text</h2></section>
	<section aria-labelledby=no><a href=/>x</a></section> <section aria-labelledby=h5><h2 id=h5 style="display:none">none</h2><a href=/>x</a></section> <section aria-labelledby=h6><h2 id=h6 style="visibility:hidden">hidden</h2></section> <section aria-labelledby=h7><h2 id=h7 title=t></h2></section>`,
	`<style>#g1{text-transform:uppercase} #g2::before{content:"§ "} #g3 {content:"x"}</style><nav aria-labelledby=g1><span id=g1>upper</span></nav> <nav aria-labelledby=g2><span id=g2>before</span></nav> <main aria-labelledby=g3><span id=g3>m</span></main> <input aria-labelledby=g4><span id=g4>Own</span>
	<button aria-labelledby=g5 id=g5>Self</button> <div role=group aria-labelledby=g6><div id=g6 hidden>Hidden</div><a href=/>x</a></div> <div role=toolbar aria-labelledby=g7><input id=g7 value=v></div> <div aria-hidden=true><span id=g8>Hushed</span></div><form aria-labelledby=g8><input></form>`,
	`<div inert><label for=k1>Inert</label></div><input id=k1> <label for=k2>Far</label><div><div><div><div><div><input id=k2></div></div></div></div></div> <section aria-labelledby=k3><div inert><h2 id=k3>Inert</h2></div><a href=/>x</a></section>
	<h2 id=k4>Outside</h2><label for=k5>Out</label><dialog id=k6><section aria-labelledby=k4><a href=/>in</a></section><input id=k5></dialog><script>k6.showModal()</script>`,
	`<div id=dup>First</div><div id=dup>Again</div><nav aria-labelledby=dup>n</nav> <div inert><b id=in>Inert</b></div><aside aria-labelledby=in>a</aside> <p id=ro role=img aria-label=Pic>t</p><nav aria-labelledby=ro>x</nav> <div id=li role=list>list</div><section aria-labelledby=li><a href=/>s</a></section>
	<div aria-labelledby=" dup ">generic</div> <p aria-labelledby=dup>para</p> <a href=/ aria-labelledby=dup aria-label=L>a</a> <nav aria-label=" two   spaces ">n</nav> <nav aria-label="">empty</nav> <div role=group aria-label=G><a href=/>x</a></div> <ul role=menu aria-label=M><li role=menuitem>i</ul> <div role=search aria-label=S>s</div>`,
	`<table><caption>Plain</caption><tr><th>a<th>b<tr><td>1<td>2</table> <table title=T><caption>Titled</caption><tr><th>a<th>b<tr><td>1<td>2</table> <table summary=S><caption>With <b>more</b></caption><tr><th>a<th>b<tr><td>1<td>2</table>
	<table aria-label=L><caption>Both</caption><tr><th>a<th>b<tr><td>1<td>2</table> <table role=grid><caption>Grid</caption><tr><td>1<td>2</table> <table><tr><th>a<th>b<tr><td>1<td>2<caption>Late</caption></table> <table><caption style="display:none">Gone</caption><tr><th>a<th>b<tr><td>1<td>2</table>`,
	`<fieldset><legend>Plain</legend><input></fieldset> <fieldset><input><legend>Late</legend></fieldset> <fieldset><legend>With <i>more</i></legend></fieldset> <fieldset title=T><legend></legend></fieldset> <fieldset aria-label=L><legend>Both</legend></fieldset> <fieldset role=radiogroup><legend>Radios</legend><input type=radio></fieldset>
	<fieldset><div><legend>Deep</legend></div><input></fieldset> <details><summary>D</summary></details> <fieldset><legend style="text-transform:uppercase">upper</legend></fieldset>`,
	`<p role=status>0</p> <div role=status>said <b>more</b></div> <div role=status title=T>t</div> <output>o</output> <label for=oo>Out</label><output id=oo>5</output> <form role=search>s</form> <search>e</search> <div role=search title=T>t</div> <div role=status aria-live=off>a</div> <div role=log>l</div> <p role=alert>al</p> <div role=navigation>n</div> <div role=main>m</div>`,
	`<div id=sh></div><nav aria-labelledby=slotted><slot></slot></nav><b id=slotted>Slotted</b><script>sh.attachShadow({mode:'open'}).innerHTML='<section aria-labelledby=q><h2 id=q>In shadow</h2><label>Lab <input></label><b id=slotted>inner</b><nav aria-labelledby=slotted>n</nav></section>';
	{const l=document.createElement('div');l.id='host2';l.attachShadow({mode:'closed'}).innerHTML='<i>closed</i>';l.append('light');document.body.append(l);const n=document.createElement('nav');n.setAttribute('aria-labelledby','host2');n.append('x');document.body.append(n)}
	{const s=document.createElement('section');s.ariaLabelledByElements=[sh.nextElementSibling];s.innerHTML='<a href=/>y</a>';document.body.append(s)}</script>`,
	`<ul aria-label="  L  "><li>x</ul> <ol aria-labelledby=lh><li>y</ol><h3 id=lh>Heads</h3> <article aria-label=A>a</article> <figure aria-label=F>f<figcaption>C</figcaption></figure> <dialog open aria-label=D>d</dialog> <div role=alertdialog aria-labelledby=dh><h2 id=dh>Dead</h2></div>
	<img alt=Alt aria-label=Said width=20 height=20> <img aria-labelledby=lh width=20 height=20> <svg aria-label=Svg role=img width=20 height=20></svg> <h2 aria-label=Hd>t</h2> <h2 aria-labelledby=lh>t</h2> <li aria-label=Lone>l</li> <dl aria-label=Dl><dt>t<dd>d</dl> <menu aria-label=Mn><li>m</menu>`,
	`<table><tr><th>a<th>b<tr title=T><td>1<td>2<tr aria-label=L><td>3<td>4<tr role=row><td>5<td>6</table> <div role=table><div role=row><span role=cell>x</span></div></div> <table role=grid><tr><td>1<td>2<tr tabindex=0><td>3<td>4</table> <table role=presentation><tr><td>p<td>q</table>`,
	// nothing but an attribute names these, and here one does
	`<ul aria-label=Named><li>a<li title=Tip>b<li aria-label=Said>c</ul> <ol aria-labelledby=h><li>x</ol><p id=h title=P>para</p> <nav title=N><a href=/>x</a></nav><main aria-label=M>m</main> <article title=A>a</article> <blockquote aria-label=B>b</blockquote>`,
	`<ul role=listbox tabindex=0 aria-activedescendant=o2><li id=o1>one<li id=o2>two</ul> <table role=grid aria-activedescendant=r2 tabindex=0><tr id=r1><td>a<tr id=r2><td>b</table> <ul tabindex=0 aria-activedescendant=i2><li>one<li id=i2>two<li>three</ul>`,
	`<ul><li tabindex=0>focus me<li contenteditable>edit me</ul> <table><tr tabindex=0><td>row<td>b<tr><td>c<td>d</table> <table role=treegrid><tr><td>x<td>y<tr><td>z<td>w</table>`,
	`<p>para <em>emph</em> <code>c</code></p> <header>h</header><footer>f</footer><aside>a</aside> <em title=t>e</em> <strong aria-label=s>s</strong>`,
	// rendered, or not
	`<div style="display:contents"><a href=/1>contents</a><span>text</span></div> <div style="visibility:hidden"><a href=/2>hidden</a><a href=/3 style="visibility:visible">shown again</a>x</div> <div style="opacity:0"><a href=/4>clear</a>text<b style="opacity:1">still clear</b></div>`,
	`<div style="content-visibility:hidden"><a href=/1>skipped</a>text</div> <details><summary>Sum</summary><a href=/3>closed</a></details> <details open><summary>Sum</summary><a href=/4>open</a></details> <details open><a href=/5>no summary</a></details>`,
	`<table><col><colgroup><tr style="visibility:collapse"><td>gone<td>b<tr><td>kept<td>b</table> <div style="display:table-column"><a href=/>never</a></div> <object data="data:text/html,x"><a href=/f>fallback</a></object> <svg width=50 height=20><a href=/s><text y=15>svg</text></a><text y=15 visibility=hidden>no</text></svg>`,
	`<div style="display:contents;opacity:0"><a href=/1>not clear</a></div> <div style="display:contents;visibility:hidden"><a href=/2>hidden</a></div> <style>@keyframes k{from,to{opacity:0}}</style><div style="animation:k 100s infinite"><button>animated</button></div> <div style="opacity:0;pointer-events:none"><button>ghost</button></div>`,
	`<select><option>a<option style="display:none">b</select> <button style="visibility:hidden"><span style="visibility:visible">in</span></button> <ruby>漢<rp>(</rp><rt>kan</rt></ruby> <div hidden><a href=/>h</a></div> <div hidden=until-found><a href=/>found</a></div>`,
	// shadow trees
	`<div id=h1>slotted <a href=/1>light</a></div><div id=h2><a href=/2>unslotted</a></div><button id=h3>text</button><script>
	h1.attachShadow({mode:'open'}).innerHTML='<style>::slotted(a)::after{content:" slotted"} :host{opacity:1}</style><p>in <slot></slot></p><button>b</button>';
	h2.attachShadow({mode:'open'}).innerHTML='<h2>only this</h2>'</script>`,
	`<div id=h></div><script>const r=h.attachShadow({mode:'open'});const s=new CSSStyleSheet;s.replaceSync('a::before{content:"adopted "} b{display:none}');r.adoptedStyleSheets=[s];r.innerHTML='<a href=/>link</a><b>none</b>'</script>`,
}
