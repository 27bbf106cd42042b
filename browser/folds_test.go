package browser

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/internal/snapshottext"
	"github.com/browserd/browserd/snapshot"
	"github.com/browserd/browserd/snapshot/html"
)

// repeated writes n times what of says.
func repeated(n int, of func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(of(i))
	}
	return b.String()
}

func links(n int, name string) string {
	return repeated(n, func(i int) string { return fmt.Sprintf("<li><a href=/%s%d>%s %d</a></li>", name, i, name, i) })
}

const behindRun = `<button>Save</button><footer><a href=/imprint>Imprint</a></footer>`

// pagesWithRuns are pages with long runs of like siblings.
// pictured is one of links with much in it that has no lines.
var pictured = `<li><a href=/p>Picture <svg width=20 height=20>` + strings.Repeat(`<path d="M0 0h9v9z"/>`, 400) + `</svg></a></li>`

var pagesWithRuns = map[string]string{
	"2000 rows": `<h1>Rows</h1><table>` + repeated(2000, func(i int) string {
		return fmt.Sprintf("<tr><td>Row %d<td><a href=/r%d>Open %d</a><td><button>Delete</button></tr>", i, i, i)
	}) + `</table>` + behindRun,
	"300 posts": `<main>` + repeated(300, func(i int) string {
		return fmt.Sprintf(`<article class="post p%d"><h2><a href=/p%d>Post %d</a></h2><p>Words of a post</p><button>Like</button><button>Share</button></article>`, i, i, i)
	}) + `</main>` + behindRun,
	"a grid of divs": `<div class=grid>` + repeated(300, func(i int) string {
		return fmt.Sprintf(`<div class="row %s"><div class=c><input type=checkbox aria-label="Pick %d"></div><div class=c><a href=/g%d>Cell %d</a></div></div>`, []string{"odd", "even"}[i%2], i, i, i)
	}) + `</div>` + behindRun,
	"a nav and rows": `<nav><ul>` + links(60, "Nav") + `</ul></nav><table>` + repeated(90, func(i int) string {
		return fmt.Sprintf("<tr><td>Row %d<td><a href=/r%d>Open %d</a><td><button>Delete</button></tr>", i, i, i)
	}) + `</table>` + behindRun,
	"a nav beside much": `<nav><ul>` + links(60, "Nav") + `</ul></nav>` + repeated(155, func(i int) string {
		return fmt.Sprintf("<%[1]s><button>%[2]d</button></%[1]s>", []string{"div", "p", "section"}[i%3], i)
	}) + behindRun,
	"posts with comments": `<main>` + repeated(20, func(i int) string {
		return fmt.Sprintf("<article><h2>Post %d</h2><ul>", i) + links(30, fmt.Sprintf("Comment%d-", i)) + "</ul></article>"
	}) + `</main>` + behindRun,
	// Of what they are like nothing can be told from those before.
	"posts that shrink": `<main>` + repeated(40, func(i int) string {
		return fmt.Sprintf("<article><h2>Post %d</h2><ul>", i) + links(max(1, 60>>(i%8)), fmt.Sprintf("Comment%d-", i)) + "</ul></article>"
	}) + `</main>` + behindRun,
	"posts, most of them short": `<main>` + repeated(40, func(i int) string {
		return fmt.Sprintf("<article><h2>Post %d</h2>", i) + repeated(max(1, 18-i/12*18), func(j int) string { return fmt.Sprintf("<button>Do %d.%d</button>", i, j) }) + "</article>"
	}) + `</main>` + behindRun,
	"a picture of many parts":             `<ul>` + links(21, "Item") + pictured + links(40, "More") + `</ul>` + behindRun,
	"a picture of many parts, further on": `<ul>` + links(24, "Item") + pictured + links(76, "More") + `</ul>` + behindRun,
	"a picture of many parts at the end":  `<ul>` + links(60, "Item") + pictured + `</ul>` + behindRun,
	"much that is hidden at the end":      `<ul>` + links(60, "Item") + `<li><a href=/m>Menu</a><div hidden>` + links(400, "Hidden") + `</div></li></ul>` + behindRun,
	"posts that grow": `<main>` + repeated(40, func(i int) string {
		return fmt.Sprintf("<article><h2>Post %d</h2><ul>", i) + links(1+i, fmt.Sprintf("Comment%d-", i)) + "</ul></article>"
	}) + `</main>` + behindRun,
	"rows, every tenth long": `<ul>` + repeated(400, func(i int) string {
		return "<li>" + repeated(1+i%10/9*8, func(j int) string { return fmt.Sprintf("<a href=/r%d-%d>Row %d.%d</a> ", i, j, i, j) }) + "</li>"
	}) + `</ul>` + behindRun,
	"two long lists": `<ul>` + links(400, "One") + `</ul><ul>` + links(400, "Two") + `</ul>` + behindRun,
	"hidden rows": `<ul>` + repeated(900, func(i int) string {
		return fmt.Sprintf("<li %s><a href=/h%d>Item %d</a></li>", []string{"", "hidden", `style="display:none"`}[i%3], i, i)
	}) + `</ul>` + behindRun,
	"terms": `<dl>` + repeated(200, func(i int) string {
		return fmt.Sprintf("<dt><a href=/t%d>Term %d</a><dd><button>Explain %d</button>", i, i, i)
	}) + `</dl>` + behindRun,
	"a list that is the end": `<ul>` + links(500, "Item") + `</ul>`,
	"links in a row":         `<p>` + repeated(300, func(i int) string { return fmt.Sprintf("<a href=/l%d>L%d</a> | ", i, i) }) + `</p>` + behindRun,
	"a deep last one": `<div>` + repeated(300, func(i int) string {
		return fmt.Sprintf("<div class=card><div><div>Card %d <a href=/c%d>Show %d</a></div></div><div><button>Buy</button><div><input aria-label=Count></div></div></div>", i, i, i)
	}) + `</div>` + behindRun,
	"long names": `<ul>` + repeated(300, func(i int) string {
		return fmt.Sprintf("<li><a href=/n%d>%s %d</a></li>", i, strings.Repeat("\U0001f600 name ", 20), i)
	}) + `</ul>` + behindRun,
	"slotted": `<my-list><template shadowrootmode=open><h1>In it</h1><slot></slot><button>Save</button></template>` + repeated(300, func(i int) string {
		return fmt.Sprintf("<my-row><a href=/s%d>Slotted %d</a></my-row>", i, i)
	}) + `</my-list>` + behindRun,
	"6000 rows":   `<ul>` + links(6000, "Item") + `</ul>` + behindRun,
	"no run":      repeated(220, func(i int) string { return fmt.Sprintf("<p><button>%d</button></p>", i) }) + behindRun,
	"short":       `<ul>` + links(60, "Item") + `</ul>` + behindRun,
	"too much":    `<ul>` + links(400, "Item") + `</ul>` + repeated(300, func(i int) string { return fmt.Sprintf("<p><button>%d</button></p>", i) }),
	"just enough": `<ul>` + links(190, "Item") + `</ul>` + repeated(7, func(i int) string { return fmt.Sprintf("<p><button>%d</button></p>", i) }) + behindRun,
}

// foldedVariants are the options with which they are read.
func foldedVariants() map[string]snapshot.Options {
	variants := map[string]snapshot.Options{}
	for name, change := range map[string]func(*snapshot.Options){
		"default":   func(*snapshot.Options) {},
		"whole":     func(o *snapshot.Options) { o.InteractiveOnly = false },
		"4000":      func(o *snapshot.Options) { o.MaxChars = 4000 },
		"2000":      func(o *snapshot.Options) { o.MaxChars = 2000 },
		"100 nodes": func(o *snapshot.Options) { o.MaxNodes = 100 },
	} {
		o := snapshot.DefaultOptions()
		change(&o)
		variants[name] = o
	}
	return variants
}

var withoutRef = regexp.MustCompile(`@e[0-9]+`)

// linesOf returns the lines of a text below its header, without refs.
func linesOf(text string) []string {
	return strings.Split(withoutRef.ReplaceAllString(text, "@e"), "\n")[1:]
}

// TestFoldedRuns reads pages with long runs of like siblings, with Chromium and without: both
// say the same, and the lines around a fold are those of the whole page.
func TestFoldedRuns(t *testing.T) {
	t.Parallel()
	p := launchTestPage(t)
	at, err := url.Parse(p.url + "/")
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range pagesWithRuns {
		page := "<!doctype html><title>Runs</title><body>" + body
		p.load(page)
		wholes := map[bool][]string{} // its lines without a budget
		for variant, o := range foldedVariants() {
			t.Run(name+"/"+variant, func(t *testing.T) {
				refs := snapshot.NewRefs()
				read := func(o snapshot.Options) snapshot.Snapshot {
					c, err := p.c.Capture(t.Context(), o, refs)
					if err != nil {
						t.Fatal(err)
					}
					s, _ := snapshot.Render(c, o, refs)
					return s
				}
				live := read(o)
				parsed, err := snapshottext.Parse(live.Text, snapshot.Quote)
				if err != nil {
					t.Fatal(err)
				}
				d, err := html.Parse(t.Context(), page, at, 1)
				if err != nil {
					t.Fatal(err)
				}
				c, err := d.Capture(t.Context(), o, snapshot.NewRefs(), nil)
				if err != nil {
					t.Fatal(err)
				}
				static, _ := snapshot.Render(c, o, snapshot.NewRefs())
				got := linesOf(live.Text)
				if diff := cmp.Diff(got, linesOf(static.Text)); diff != "" {
					t.Errorf("live - static +\n%s", diff)
				}

				want := wholes[o.InteractiveOnly]
				if want == nil {
					whole := o
					whole.MaxChars, whole.MaxNodes = 4_000_000, 100_000
					want = linesOf(read(whole).Text)
					if n := len(want) - 1; strings.HasPrefix(want[n], "[more] ") {
						want = want[:n]
					}
					wholes[o.InteractiveOnly] = want
				}
				folds, next := 0, 0
				for i, line := range got {
					if strings.Contains(line, " like siblings not shown here") {
						folds++
						if l := parsed.Lines[i]; !strings.HasSuffix(l.Name, "…") {
							if left := strings.Join(want[next:next+4], "\n"); !strings.Contains(left, snapshot.Quote(l.Name)) {
								t.Errorf("the first left out is not %q but of\n%s", l.Name, left)
							}
						}
						continue
					}
					if strings.HasPrefix(line, "[more] ") {
						continue
					}
					found := slices.Index(want[next:], line)
					if found < 0 {
						t.Fatalf("%q is not on the page behind\n%s", line, strings.Join(got[max(0, i-5):i], "\n"))
					}
					next += found + 1
				}
				if folds == 0 {
					if live.Stats.After == "" && !slices.Equal(got, want) {
						t.Error("without a fold, not the whole page")
					}
					return
				}
				if !live.Stats.Truncated || live.Stats.After == "" {
					t.Errorf("stats of a folded text: %+v", live.Stats)
				}
				first := slices.IndexFunc(parsed.Lines, func(l snapshottext.Line) bool { return l.Folded > 0 })
				o.After = live.Stats.After
				behind, err := snapshottext.Parse(read(o).Text, snapshot.Quote)
				if err != nil {
					t.Fatal(err)
				}
				if said := func(l snapshottext.Line) bool { return snapshot.Cut(l.Name, 80) == parsed.Lines[first].Name }; !slices.ContainsFunc(behind.Lines[:5], said) {
					t.Errorf("behind %s is not %q: %+v", o.After, parsed.Lines[first].Name, behind.Lines[:5])
				}
			})
		}
	}
}

// TestFoldedSiblingsAreNotWalked counts the elements that a walk looks at: what is left out it
// does not, but for one sibling more, and for a name into two.
func TestFoldedSiblingsAreNotWalked(t *testing.T) {
	t.Parallel()
	posts := "<main>" + repeated(20, func(i int) string {
		return fmt.Sprintf("<article><h2>Post %d</h2><ul>", i) + links(40, "Comment") + "</ul></article>"
	}) + "</main>"
	for name, c := range map[string]struct {
		page, fold string
		visited    int
	}{
		"three of 83 elements have space, and the last one": {posts, `[more] 16 "Post 3"`, 430},
		"20 are shown of so many":                           {"<ul>" + links(2000, "Item") + "</ul>", `[more] 1979 "Item 20"`, 60},
	} {
		t.Run(name, func(t *testing.T) {
			p := openTestPage(t, "<!doctype html><title>Runs</title>"+c.page+behindRun)
			o := walk.NewOptions(snapshot.DefaultOptions())
			o.Fold = true
			w := p.walk(o)
			if text := dumpWalk(w); !strings.Contains(text, c.fold) || w.Visited > c.visited {
				t.Errorf("looked at %d of %d elements:\n%s", w.Visited, w.Elements, text)
			}
		})
	}
}
