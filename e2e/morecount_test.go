package e2e_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/browserd/browserd/internal/testdaemon"
)

// countedPage is a page of random parts: controls, empty and full regions, tables, forms, selects,
// hidden and unnamed things, frames, text.
func countedPage(t *rapid.T, frames bool) string {
	var b strings.Builder
	b.WriteString("<!doctype html><title>Counted</title>")
	var part func(depth int)
	part = func(depth int) {
		n := rapid.IntRange(0, 99).Draw(t, "n")
		switch kind := rapid.IntRange(0, 16).Draw(t, "part"); {
		case kind == 0:
			fmt.Fprintf(&b, "<button>Button %d</button>", n)
		case kind == 1:
			fmt.Fprintf(&b, "<button style='visibility:hidden'>Hidden %d</button><button></button>", n)
		case kind == 2:
			fmt.Fprintf(&b, "<label>Field %d <input></label>", n)
		case kind == 3:
			fmt.Fprintf(&b, "<h3>Heading %d</h3><p>Some text %d</p>", n, n)
		case kind == 4:
			fmt.Fprintf(&b, "<div style='cursor:pointer'>Row %d</div>", n)
		case kind == 5:
			fmt.Fprintf(&b, "<select aria-label=Choice><option>A %d<option>B<option>C</select>", n)
		case kind == 6:
			fmt.Fprintf(&b, "<p>Words and <a href='#%d'>link %d</a> in them.</p>", n, n)
		case kind == 7:
			fmt.Fprintf(&b, "<ul role=list aria-label=Items><li>one %d<li><a href=#>two</a></ul>", n)
		case kind == 8:
			fmt.Fprintf(&b, "<table><caption>Table %d</caption><tr><th>H<td><input aria-label=Cell></table>", n)
		case kind == 9 && frames:
			fmt.Fprintf(&b, "<iframe title='Frame %d' srcdoc='<h4>In</h4><button>In it</button><section aria-label=Empty></section>'></iframe>", n)
		case kind == 10:
			b.WriteString("<nav></nav><section aria-label=Nothing></section><div role=alert></div>")
		case depth < 5:
			b.WriteString([]string{"<nav>", "<main>", "<section aria-label=Part>", "<div>", "<form aria-label=Form>", "<fieldset><legend>Set</legend>"}[n%6])
			for range rapid.IntRange(0, 6).Draw(t, "parts") {
				part(depth + 1)
			}
			b.WriteString([]string{"</nav>", "</main>", "</section>", "</div>", "</form>", "</fieldset>"}[n%6])
		}
	}
	for range rapid.IntRange(1, 40).Draw(t, "parts") {
		part(0)
	}
	return b.String()
}

var countLine = regexp.MustCompile(`\n\[more\] (at least )?([0-9]+) nodes not shown;`)

// What a snapshot shows and what it says that it leaves out are all that there is; or what
// it says is "at least".
func TestMoreIsTrue(t *testing.T) {
	t.Parallel()
	d, w := testdaemon.Start(t, testdaemon.Options{}), newPageServer(t)
	exact, least, pages := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		if pages++; pages > 40 {
			return
		}
		path := fmt.Sprint("/counted", pages)
		live := pages%2 == 0
		w.serve(path, countedPage(t, live), "")
		a := &reader{c: d.Dial(t)}
		ask := func(method string, p params) (emitted int, text string) {
			var got result
			ctx, cancel := commandTime()
			defer cancel()
			if err := a.c.Call(ctx, method, p, &got); err != nil {
				t.Fatal(method, p, err)
			}
			if got.Snapshot == nil {
				return 0, ""
			}
			return got.Snapshot.Stats.NodesEmitted, got.Snapshot.Text
		}
		if live {
			ask("session_open", params{})
		} else {
			ask("session_open", params{"source": "http"})
		}
		ask("open", params{"url": w.URL + path, "snapshot": "none"})
		for _, interactive := range []bool{true, false} {
			limits := params{"interactive_only": interactive, "max_nodes": 100000, "max_chars": 4000000, "max_depth": 1000}
			all, whole := ask("snapshot", limits)
			for range 3 {
				limits["max_nodes"] = rapid.SampledFrom([]int{1, 3, 10, 30, 60, 100000}).Draw(t, "max_nodes")
				limits["max_chars"] = rapid.SampledFrom([]int{300, 700, 2000, 4000000}).Draw(t, "max_chars")
				limits["max_depth"] = rapid.SampledFrom([]int{1, 2, 3, 1000}).Draw(t, "max_depth")
				shown, text := ask("snapshot", limits)
				m := countLine.FindStringSubmatch(text)
				if m == nil {
					m = []string{"", "", "0"}
				}
				left, _ := strconv.Atoi(m[2])
				switch {
				case m[1] != "":
					least++
				default:
					exact++
				}
				if m[1] == "" && shown+left != all || shown+left > all {
					t.Fatalf("with %v a snapshot shows %d and says that %s%d are left, of %d:\n%s\nwhole:\n%s", limits, shown, m[1], left, all, text, whole)
				}
			}
		}
	})
	if t.Logf("%d exact, %d at least", exact, least); exact < 40 || least < 10 {
		t.Errorf("%d exact, %d at least", exact, least)
	}
}
