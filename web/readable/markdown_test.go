package readable

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/internal/untested"
)

const document = `<!DOCTYPE html><title>
 A  page</title><nav><a href=/>Home</a></nav><main><h1>Head</h1>
<p>One <b>bold</b>, <del>gone</del> and <a href="/x?a=1">a link</a>.<br>Next line.
<ul><li><input type=checkbox checked> done<li><input type=checkbox> open<ul><li>inner</ul></ul>
<table><tr><th>Name<th>Parts<tr><td>Saw<td><ul><li>blade<li>grip</ul><tr><td>Pipe<td><code>a|b</code></table>
<pre class="brush: js">let a = "|";
  b()</pre><pre><code class="hljs language-go">x := 1</code></pre>
<img alt="a chart" src="data:image/png;base64,AAAA"><img alt=logo src=logo.png>
<p hidden>not seen<p style="display: none">nor this<script>no()</script></main><footer>Imprint</footer>`

func TestTextAndMarkdown(t *testing.T) {
	base, _ := url.Parse("https://example.com/dir/page")
	p := Parse(t.Context(), document, base)
	if p.Title != "A page" {
		t.Errorf("title %q", p.Title)
	}
	text := `Head

One bold, gone and a link.
Next line.

- [x] done
- [ ] open
  - inner

Name | Parts
Saw | blade; grip
Pipe | a|b

let a = "|";
  b()

x := 1`
	if d := cmp.Diff(text, p.Text()); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	md := "## Head\n\nOne **bold**, ~~gone~~ and [a link](https://example.com/x?a=1).  \nNext line.\n\n" +
		"- [x] done\n- [ ] open\n  \n  - inner\n\n" +
		"| Name | Parts |\n|---|---|\n| Saw | blade; grip |\n| Pipe | `a\\|b` |\n\n" +
		"```js\nlet a = \"|\";\n  b()\n```\n\n```go\nx := 1\n```\n\na chart![logo](https://example.com/dir/logo.png)"
	if d := cmp.Diff(md, p.Markdown(t.Context())); d != "" {
		t.Errorf("markdown (-want +got):\n%s", d)
	}
}

// An article is read without the comments below it, however long they are.
func TestWhatSaysArticleIsReadAsOne(t *testing.T) {
	story := strings.Repeat("<p>The council met on Tuesday, and after a long debate it decided, with a narrow majority, to build the bridge after all.</p>", 6)
	comments := strings.Repeat("<div class=item><span>I do not agree with any of it</span> <a href=/u>somebody</a></div>", 120)
	page := func(head string) string {
		return "<html><head><title>Bridge</title>" + head + "</head><body><div id=story>" + story + "</div><div id=comments>" + comments + "</div></body></html>"
	}
	for head, whole := range map[string]bool{
		"": true,
		`<meta property="og:type" content="article">`:                                                false,
		`<script type="application/ld+json">{"@context":"x","@type":["NewsArticle"],"a":1}</script>`: false,
		`<script type="application/ld+json">{"@type":"Product"}</script>`:                            true,
	} {
		text := Parse(t.Context(), page(head), nil).Text()
		if !strings.Contains(text, "narrow majority") || strings.Contains(text, "I do not agree") != whole {
			t.Errorf("head %q: comments shown %v, want %v", head, !whole, whole)
		}
	}
}

func TestShells(t *testing.T) {
	for page, want := range map[string]bool{
		`<title>App</title><div id=root></div><script src=/app.js></script>`:                                  true,
		`<body><noscript>` + strings.Repeat("Enable JavaScript. ", 40) + `</noscript><script src=a></script>`: true,
		`<nav><a href=1>Home</a><input name=q></nav><main></main><script src=a></script>`:                     true,
		`<p>Short, and all there is.</p>`:                                                                     false,
		`<script type="application/ld+json" src=x></script><p>Hi`:                                             false,
		`<p>` + strings.Repeat("Text that is there. ", 40) + `</p><script src=a></script>`:                    false,
		``: false,
	} {
		if got := NeedsScript(t.Context(), page); got != want {
			t.Errorf("NeedsScript(t.Context(), %.60q) = %v", page, got)
		}
	}
}

// Above 2 MB something simpler reads the page, and deep nesting, which
// html.Parse gives up on, is read by its tokens.
func TestLargeAndDeepPagesAreRead(t *testing.T) {
	para := "<p>Some text of a large page &amp; more.</p><script>var no</script>"
	for name, page := range map[string]string{
		"above 2 MB": "<title>Large</title><nav>menu</nav>" + strings.Repeat(para, (2<<20+1<<10)/len(para)),
		"deep":       "<title>Large</title>" + strings.Repeat("<div>", 5000) + para,
	} {
		p := Parse(t.Context(), page, nil)
		text := p.Text()
		if p.Title != "Large" || !strings.HasPrefix(strings.TrimPrefix(text, "Large\n"), "Some text of a large page & more.") || strings.Contains(text, "var no") {
			t.Errorf("%s: %q: %.80q", name, p.Title, text)
		}
		if md := p.Markdown(t.Context()); md != text {
			t.Errorf("%s: markdown %.80q", name, md)
		}
	}
}

func TestRealPagesAreRead(t *testing.T) {
	pages, _ := filepath.Glob("../../../shared/cases/static/pages/*.html.gz")
	if len(pages) == 0 {
		untested.Skip(t, "the shared cases are not beside this checkout")
	}
	for _, file := range pages {
		source, _ := fetch.Text(unzip(t, file), "text/html")
		if len(source) > 60<<10 {
			continue // the larger ones take the race detector half a minute
		}
		p := Parse(t.Context(), source, nil)
		text := p.Text()
		md := p.Markdown(t.Context())
		// Of the pages whose scripts were to make them, Chromium has no heading either.
		truth := unzip(t, strings.NewReplacer("/pages/", "/truth/", ".html.gz", ".json.gz").Replace(file))
		empty := strings.Contains(string(truth), `"headings":[]`)
		if len(text) < 20 && !empty || len(md) < len(text)/2 {
			t.Errorf("%s: %d bytes of text, %d of Markdown", filepath.Base(file), len(text), len(md))
		}
	}
}

func FuzzReadable(f *testing.F) {
	f.Add(document)
	f.Add("<table><td><ul><li><table><td><pre><code>|")
	f.Add(strings.Repeat("<b><table>", 300))
	if raw, err := os.ReadFile("markdown.go"); err == nil {
		f.Add(string(raw))
	}
	f.Fuzz(func(t *testing.T, source string) {
		p := Parse(t.Context(), source, &url.URL{Scheme: "http", Host: "a"})
		text := p.Text()
		md := p.Markdown(t.Context())
		NeedsScript(t.Context(), source)
		if utf8.ValidString(source) && !(utf8.ValidString(text) && utf8.ValidString(md)) {
			t.Errorf("%q becomes %q and %q", source, text, md)
		}
	})
}

// A cell that spans rows has its columns in those below, too: what stands there is
// under its own heading. browser has the same test.
func TestTableSpans(t *testing.T) {
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
			if got := cells(Fragment(t.Context(), c.page, nil).Markdown(t.Context())); got != c.want {
				t.Errorf("cells %q, not %q", got, c.want)
			}
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

// Links and pictures are relative to the page's base element if it has one.
func TestBaseElement(t *testing.T) {
	at, _ := url.Parse("https://example.com/dir/page")
	for _, c := range []struct{ head, want string }{
		{`<base href="https://cdn.example.org/v2/">`, "https://cdn.example.org/v2/x"},
		{`<base target=_blank><base href=" sub/ "><base href=/second/>`, "https://example.com/dir/sub/x"},
		{`<base href="javascript:x"><base href=/second/>`, "https://example.com/dir/x"},
		{`<base href="https://[">`, "https://example.com/dir/x"},
	} {
		p := Parse(t.Context(), c.head+`<p><a href=x>Link</a>`, at)
		if links := p.Links(1); len(links) != 1 || links[0].URL != c.want {
			t.Errorf("%s: links %v, want %s", c.head, links, c.want)
		}
		if got, want := p.Markdown(t.Context()), "[Link]("+c.want+")"; got != want {
			t.Errorf("%s: markdown %q, want %q", c.head, got, want)
		}
	}
}

// A cell stands under its heading also behind one that is empty; in a table
// without headings, which may be there for the layout, nothing stands for it.
func TestEmptyCellsInText(t *testing.T) {
	for _, c := range []struct{ table, want string }{
		{"<tr><th><th>Q1<th>Q2<tr><th>Cost<td><td>7<tr><td><td>5<td>6", "| Q1 | Q2\nCost | | 7\n| 5 | 6"},
		{"<tr><th>A<th>B<th>C<tr> <td> <td></td> <td>c</td>", "A | B | C\n| | c"},
		{"<tr><td><td>Indented<tr><td>Not", "Indented\nNot"},
		{"<tr><td><td><table><tr><th>A<tr><td>a</table><tr><td><td>Indented", "A\na\n\nIndented"},
	} {
		if d := cmp.Diff(c.want, Fragment(t.Context(), "<table>"+c.table+"</table>", nil).Text()); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.table, d)
		}
	}
	// Where there is too much of a page to be parsed its cells stay apart too.
	deep := strings.Repeat("<div>", 600) + "<table><tr><td>1<td>2<tr><th>3<th>4</table>"
	if got, want := Parse(t.Context(), deep, nil).Text(), "1 | 2\n3 | 4"; got != want {
		t.Errorf("deep: %q, want %q", got, want)
	}
}

// What is a block on the page is a paragraph or a list in Markdown.
func TestBlocksAreNotJoined(t *testing.T) {
	for page, want := range map[string]string{
		"<details><summary>More</summary>Inside</details>":             "More\n\nInside",
		"<fieldset><legend>Address</legend>Street</fieldset>":          "Address\n\nStreet",
		"One<center>Two</center>Three<search>Four</search>Five":        "One\n\nTwo\n\nThree\n\nFour\n\nFive",
		"<menu><li>One<li>Two</menu>":                                  "- One\n- Two",
		"<details><summary><h2>More</h2></summary><p>Inside</details>": "## More\n\nInside",
	} {
		if got := Fragment(t.Context(), page, nil).Markdown(t.Context()); got != want {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
}
