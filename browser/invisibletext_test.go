package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/snapshot"
)

// told is all that the page says as text, in a snapshot of either kind and read; and the
// lines that have a ref.
func (v *visit) told() (text string, lines []string) {
	v.t.Helper()
	var b strings.Builder
	for _, interactive := range []bool{true, false} {
		o := snapshot.DefaultOptions()
		o.InteractiveOnly = interactive
		got, err := v.c.Capture(limit(v.t, 20*time.Second), o, v.refs)
		if err != nil {
			v.t.Fatal(err)
		}
		for _, n := range got.Nodes {
			if n.Role == snapshot.RoleText {
				fmt.Fprintln(&b, n.Name)
			} else {
				lines = append(lines, strings.Join(append([]string{n.Role, n.Name}, n.States...), " "))
			}
		}
	}
	for _, kind := range []string{"text", "markdown", "article"} {
		got, err := v.c.Read(limit(v.t, 20*time.Second), v.refs, "", kind, "")
		if err != nil {
			v.t.Fatal(err)
		}
		fmt.Fprintln(&b, kind, got)
	}
	return b.String(), lines
}

// Text that nobody can see is not told; a heading or a control that nobody can see is
// marked.
func TestUnseenText(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, style := range []string{
		"clip-path:inset(100%)", "clip-path:inset(50%)", "clip-path:inset(0 100% 0 0)", "clip-path:inset(0 0 60% 0 round 3px);clip-path:inset(60% 0 45%)", "clip-path:inset(4000px)",
		"clip-path:circle(0)", "clip-path:circle(0px at 10px 10px)", "clip-path:circle(9px at -200px 0)", "clip-path:ellipse(0 50%)", "clip-path:polygon(0 0,0 0,0 0)",
		"clip-path:polygon(0 0,100% 100%,0 0)", "clip-path:polygon(-9px -9px,-5px -9px,-5px -5px)", "clip-path:path('M0 0')", "clip-path:url(#empty)",
		"position:absolute;clip:rect(0 0 0 0)", "position:absolute;clip:rect(1px,1px,1px,1px)",
		"position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap",
		"filter:opacity(0)", "filter:opacity(.01)", "filter:blur(0) opacity(1%)", "filter:opacity(.2) opacity(.2)",
		"opacity:0", "opacity:.01", "opacity:0.04",
		"color:rgba(0,0,0,.01)", "color:transparent", "color:rgb(0 0 0 / 1%)", "color:color(srgb 0 0 0 / 0.02)", "-webkit-text-fill-color:rgba(9,9,9,.03)", "color:oklch(50% .1 20 / 0)",
		"color:#fff", "color:white;background:#fff", "color:#101010;background:#101010", "color:#fdfdfd", "background:rgb(9,9,9);-webkit-text-fill-color:rgb(9,9,9)",
		"transform:scale(0)", "transform:scale(.001)", "transform:scaleX(0)", "transform:rotateY(90deg)", "scale:0",
		"text-indent:-9999px", "text-indent:9999px;overflow:hidden;white-space:nowrap", "text-indent:100%;overflow:hidden;white-space:nowrap;width:200px", "text-indent:-600px;overflow:hidden;white-space:nowrap",
		"margin-left:-9999px", "margin:-9999px 0 9999px", "position:absolute;left:-9999px", "position:fixed;top:-500px", "position:absolute;right:9999px", "position:relative;left:-9999px",
		"transform:translateX(-9999px)", "font-size:0", "font-size:1px", "font-size:.5px",
		"height:0;overflow:hidden", "max-height:0;overflow:hidden", "width:0;overflow:hidden", "height:0;overflow:clip", "width:1px;height:1px;overflow:hidden",
		"color:color-mix(in srgb, black 1%, transparent)", "color:light-dark(white, black)", "color:color-mix(in oklab, white, white)", "color:oklch(1 0 0)", "color:lab(100 0 0)", "color:color(display-p3 1 1 1)",
		"filter:invert(1)", "filter:brightness(0) invert(1)", "filter:contrast(0) brightness(9)", "filter:invert(.5) brightness(4)",
		"color:#fff;background:linear-gradient(#fff,#fff)", "color:#fff;background:repeating-linear-gradient(#fff,#fefefe 9px)", "color:#fff;backdrop-filter:blur(2px)", "color:#fff;mix-blend-mode:multiply",
		"clip-path:inset(0 0 calc(100% - 1px) 0)", "clip-path:inset(calc(50% + 1px))", "clip-path:path('M0 0L1 0L1 1Z')", "clip-path:path('M0 0L900 0L900 0Z')", "clip-path:circle(closest-side at 0 0)", "clip-path:ellipse(closest-side closest-side at 0 9px)",
		"position:absolute;left:9999px", "position:absolute;left:300vw;top:0", "transform:translate(9999px)", "letter-spacing:-1em", "zoom:.01",
		"visibility:hidden", "display:none", "content-visibility:hidden", "visibility:collapse", "-webkit-text-security:disc",
	} {
		t.Run(style, func(t *testing.T) {
			v := s.open(t, `<style>body{background:#fff;overflow-x:hidden}.x{`+style+`}.x a{color:inherit}</style><svg width=0 height=0 style="position:absolute"><clipPath id=empty></clipPath></svg><main><h1>Shop</h1><p>Before it.</p>
				<div class=x>Zurich one</div><div class=x><p>Zurich <b>two</b></p></div><div class=x><section><div>Zurich three <a href="/z">Zurich link</a></div></section></div>
				<div class=x><h2>Zurich heading</h2><button>Zurich button</button></div><p>After it.</p></main>`)
			text, lines := v.told()
			if ownInk(style) {
				text = strings.ReplaceAll(text, "Zurich button", "")
			}
			if strings.Contains(text, "Zurich") {
				t.Errorf("text that nobody sees is told:\n%s", text)
			}
			if !strings.Contains(text, "Before it.") || !strings.Contains(text, "After it.") {
				t.Errorf("text that everybody sees is missing:\n%s", text)
			}
			for _, line := range lines {
				// A button paints its own colours and letters; what is hidden by the text's own style leaves it.
				if strings.Contains(line, "Zurich") && !strings.HasSuffix(line, " invisible") && !(strings.HasPrefix(line, "button") && ownInk(style)) {
					t.Errorf("a line that nobody sees is told as visible: %q", line)
				}
			}
		})
	}
	for _, inside := range []string{
		`<p style="opacity:.2"><span style="opacity:.2">Zurich</span></p>`,
		`<div style="opacity:.3"><div style="filter:opacity(.1)"><p>Zurich</p></div></div>`,
		`<p>Some <span style="filter:opacity(0)">Zurich</span> words</p>`,
		`<p>Some <span style="color:#fff">Zurich</span> words</p>`,
		`<p>Some <span style="opacity:.01">Zurich</span> words</p>`,
		`<p>Some <span style="display:inline-block;clip-path:circle(0)">Zurich</span> words</p>`,
		`<ul><li>One<li style="color:white">Zurich</ul>`,
		`<table><tr><td>One<td style="color:#fff">Zurich<td>Two</table>`,
		`<div style="background:#222;color:#eee"><p>Some <span style="color:#222">Zurich</span></p></div>`,
		`<div style="background:#222"><div style="background:rgba(0,0,0,0)"><p style="color:#222">Zurich</p></div></div>`,
		`<pre>One <b style="opacity:0">Zurich</b></pre>`, `<p><code style="filter:opacity(0)">Zurich</code></p>`,
		`<table><caption style="color:#fff">Zurich</caption><tr><td>One<td>Two<tr><td>Three<td>Four</table>`,
		`<p>Some <span style="position:relative;left:-9999px">Zurich</span> words</p>`, `<p>Some <span style="margin-left:-9999px">Zurich</span></p>`,
		`<svg width=0 height=0><text y=20>Zurich</text></svg>`, `<svg width=90 height=40><defs><text y=20>Zurich</text></defs><symbol><text y=20>Zurich</text></symbol><clipPath><text y=20>Zurich</text></clipPath></svg>`,
		`<progress value=1 max=2>Zurich</progress>`, `<meter value=1>Zurich</meter>`, `<details><summary>Open</summary><p>Zurich</p></details>`, `<div hidden=until-found>Zurich</div>`,
		`<style>.w{position:relative;z-index:0}.w::before{content:'';position:absolute;inset:0;background:#fff;z-index:-1}</style><div class=w><p style="color:#fff">Zurich</p></div>`,
		`<div style="position:relative"><div style="position:absolute;inset:0;background:#fff"></div><p style="position:relative;color:#fff">Zurich</p></div>`,
		`<div style="transform:scale(.2)"><div style="transform:scale(.2)"><div style="transform:scale(.2)"><p>Zurich</p></div></div></div>`,
		`<div style="filter:invert(1)"><div><p>Zurich</p></div></div>`,
		`<p style="background:rgba(255,255,255,.5);color:#fff">Zurich</p>`, `<p style="color:#fff;text-shadow:0 0 1px #fff">Zurich</p>`,
	} {
		t.Run(inside, func(t *testing.T) {
			if text, _ := s.open(t, `<body style="background:#fff"><main><h1>Shop</h1>`+inside+`<p>Other words.</p></main>`).told(); strings.Contains(text, "Zurich") || !strings.Contains(text, "Other words.") {
				t.Errorf("told:\n%s", text)
			}
		})
	}
}

// A heading or a link of which nobody can see the text is marked, wherever the style stands
// that hides it.
func TestUnseenNames(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, html := range []string{
		`<h2><span style="opacity:0">Zurich</span></h2>`, `<h2 style="color:#fff">Zurich</h2>`, `<h2><b><i style="color:#fff">Zurich</i></b></h2>`,
		`<h2 style="text-indent:-9999px">Zurich</h2>`, `<a href="/z" style="color:#fff">Zurich</a>`, `<a href="/z" style="color:#fff"><b>Zurich</b></a>`,
		`<button style="color:rgb(9,9,9);background:rgb(9,9,9)">Zurich</button>`, `<div style="filter:opacity(0)"><a href="/z">Zurich</a></div>`,
	} {
		_, lines := s.open(t, `<body style="background:#fff"><main><p>Words.</p>`+html+`</main>`).told()
		if n := strings.Count(strings.Join(lines, "\n"), "Zurich invisible"); n != 2 {
			t.Errorf("%s: %q", html, lines)
		}
	}
	for _, html := range []string{
		`<h2>Zurich</h2>`, `<h2 style="color:#fff"><span style="color:#000">Zurich</span></h2>`, `<h2 style="font-size:0"><img alt=Zurich width=90 height=30 src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></h2>`,
		`<a href="/z" style="color:#fff;background:#009">Zurich</a>`, `<button style="color:#fff;background:#009">Zurich</button>`,
		`<a href="/z" aria-label=Zurich style="font-size:0;display:inline-block;width:20px;height:20px;background:#00f"></a>`,
		`<a href="/z" style="text-indent:-9999px;overflow:hidden;display:inline-block;width:90px;height:40px;background:url(/logo.png)">Zurich</a>`,
	} {
		_, lines := s.open(t, `<body style="background:#fff"><main><p>Words.</p>`+html+`</main>`).told()
		if all := strings.Join(lines, "\n"); !strings.Contains(all, "Zurich") || strings.Contains(all, "invisible") {
			t.Errorf("%s: %q", html, lines)
		}
	}
}

// ownInk tells whether a style hides what inherits it by its letters alone, which a button does
// not inherit, or by a filter, which changes a button's own ground as well.
func ownInk(style string) bool {
	return slices.ContainsFunc([]string{"color:", "text-indent", "font-size", "-webkit-text", "letter-spacing", "zoom", "invert(", "contrast("}, func(s string) bool { return strings.Contains(style, s) })
}

// Near misses: what a person can see is told.
func TestSeenText(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, page := range []string{
		`<p style="opacity:.1">Zurich</p>`, `<p style="filter:opacity(.5)">Zurich</p>`, `<p style="filter:grayscale(1) drop-shadow(0 0 1px red)">Zurich</p>`,
		`<p style="color:rgba(0,0,0,.2)">Zurich</p>`, `<p style="color:#ddd">Zurich</p>`, `<p style="font-size:5px">Zurich</p>`,
		`<p style="clip-path:inset(10%)">Zurich</p>`, `<p style="clip-path:circle(50%)">Zurich</p>`, `<p style="clip-path:polygon(0 0,100% 0,100% 100%)">Zurich</p>`,
		`<p style="clip-path:ellipse(60% 80%)">Zurich</p>`, `<p style="clip-path:inset(0 round 8px)">Zurich</p>`, `<p style="clip-path:url(#nothing)">Zurich</p>`,
		`<p style="transform:scale(.8)">Zurich</p>`, `<p style="text-indent:2em">Zurich</p>`, `<p style="text-indent:10%;overflow:hidden">Zurich</p>`, `<p style="margin-left:-3px">Zurich</p>`,
		`<div style="position:relative"><img alt="" src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'><rect width='9' height='9'/></svg>" style="position:absolute;width:600px;height:200px"><div style="position:relative"><p style="color:#fff">Zurich</p></div></div>`,
		`<div style="background:#fff url(/x.png)"><p style="color:#fff">Zurich</p></div>`, `<div style="background:linear-gradient(red,blue)"><p style="color:#fff">Zurich</p></div>`,
		`<style>.h{position:relative}.h::before{content:'';position:absolute;inset:0;background:#000;z-index:-1}</style><div class=h style="z-index:0"><p style="color:#fff">Zurich</p></div>`,
		`<div style="position:relative"><div style="position:absolute;inset:0;background:#333"></div><p style="position:relative;color:#fff">Zurich</p></div>`,
		`<p style="color:transparent;background:linear-gradient(red,blue);background-clip:text;-webkit-background-clip:text">Zurich</p>`,
		`<p style="color:#fff;text-shadow:0 0 3px #000">Zurich</p>`, `<p style="color:#fff;-webkit-text-stroke:1px black">Zurich</p>`,
		`<p style="color:#fff;background:#000">Zurich</p>`, `<p style="background:#eee">Zurich</p>`, `<p style="color:color(srgb .2 .2 .2)">Zurich</p>`,
		`<div style="height:0"><p>Zurich</p></div>`, `<div style="overflow:auto;height:40px"><div style="height:400px"></div><p>Zurich</p></div>`,
		`<div style="background:#000;mix-blend-mode:normal;color:white">Zurich</div>`,
		`<div style="mix-blend-mode:difference;color:white">Zurich</div>`,
		`<div style="color:white;backdrop-filter:invert(1)">Zurich</div>`, `<p style="filter:invert(.2)">Zurich</p>`, `<div style="filter:invert(1)"><p style="background:#fff;color:#000">Zurich</p></div>`, `<p style="color:#fff;filter:invert(1)">Zurich</p>`,
		`<div style="background:linear-gradient(#fff,#ddd)"><p style="color:#fff">Zurich</p></div>`, `<p style="color:oklch(50% .1 20)">Zurich</p>`, `<p style="color:lab(90 0 0)">Zurich</p>`,
		`<p style="clip-path:inset(0 calc(50% - 40px) 0 0)">Zurich</p>`, `<p style="clip-path:circle(farthest-side at 0 0)">Zurich</p>`, `<p style="clip-path:path('M0 0L900 0L900 900Z')">Zurich</p>`, `<p style="letter-spacing:-.05em">Zurich</p>`,
		`<div style="overflow-x:auto;width:200px"><p style="margin-left:900px;width:90px">Zurich</p></div>`,
		`<div style="position:fixed;inset:0;background:#000"><p style="color:#fff">Zurich</p></div>`,
	} {
		t.Run(page, func(t *testing.T) {
			text, _ := s.open(t, `<body style="background:#fff"><main>`+page+`</main>`).told()
			if n := strings.Count(text, "Zurich"); n != 5 {
				t.Errorf("told %d times of 5:\n%s", n, text)
			}
		})
	}
}

// Text for screen readers names controls, headings and fields, and is no text of the page.
func TestTextForScreenReaders(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, hide := range []string{
		"position:absolute;width:1px;height:1px;padding:0;margin:-1px;overflow:hidden;clip:rect(0,0,0,0);white-space:nowrap;border:0",
		"position:absolute;clip-path:inset(50%);height:1px;width:1px;overflow:hidden", "position:absolute;left:-9999px",
	} {
		text, lines := s.open(t, `<style>.sr-only{`+hide+`}</style><main><button><svg width=16 height=16></svg><span class=sr-only>Close</span></button>
			<label class=sr-only for=q>Search</label><input id=q><a href="/cart">Cart <span class=sr-only>has 3 goods</span></a><h2 class=sr-only>Menu</h2><h2>News</h2><p>Words.<span class=sr-only>Unsaid</span></p></main>`).told()
		for _, want := range []string{"button Close", "textbox Search", "link Cart has 3 goods", "heading Menu invisible", "heading News"} {
			if !slices.Contains(lines, want) {
				t.Errorf("%s: no line %q in %q", hide, want, lines)
			}
		}
		for _, unsaid := range []string{"Unsaid", "Close", "Search", "Menu", "has 3 goods"} {
			if strings.Contains(text, unsaid) {
				t.Errorf("%s: text for screen readers is told as text: %s", hide, text)
			}
		}
	}
}
