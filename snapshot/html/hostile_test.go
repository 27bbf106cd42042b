package html

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/browserd/browserd/internal/snapshottext"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// TestNestedTooDeep reads what html.Parse gives up on: nothing that says
// something is lost.
func TestNestedTooDeep(t *testing.T) {
	deep := strings.Repeat("<div>", 5000)
	page := "<!doctype html><title>Deep</title><body class=b><h1>Top</h1>" + deep +
		"<ul><li>One <a href=/1>first <b>bold</b></a><li>Two <a href=/2>second</a></ul><h2>Below</h2><form><label>Name <input name=n></label><button>Send</button></form>" +
		strings.Repeat("</div>", 5000) + "<p>After <a href=/3>third</a></p>"
	s, _, err := snapshotOf(page, snapshot.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`title="Deep"`, `[heading level=1] "Top"`, `[link href="/1"] "first bold"`, `[link href="/2"] "second"`,
		`[heading level=2] "Below"`, `[textbox name="n"] "Name"`, `[button] "Send"`, `[link href="/3"] "third"`, `text "One"`, `text "After"`} {
		if !strings.Contains(s.Text, want) {
			t.Errorf("no %s in\n%s", want, s.Text)
		}
	}
}

// hostile are pages that were written to cost much.
var hostile = map[string]string{
	"selectors":     "<style>" + strings.Repeat("div div div div div div div div div div a{display:none}\n", 200) + "</style>" + strings.Repeat("<div>", 400) + strings.Repeat("<a href=x>x</a>", 2000),
	"siblings":      "<style>" + strings.Repeat("i ~ i ~ i ~ b{display:none}\n", 300) + "</style>" + strings.Repeat("<i></i>", 20000) + strings.Repeat("<b>x</b>", 2000),
	"labelled":      strings.Repeat("<p id=a>"+strings.Repeat("word ", 2000)+"</p>", 3) + strings.Repeat("<a href=x aria-labelledby='"+strings.Repeat("a ", 2000)+"'>x</a>", 300),
	"owns":          strings.Repeat("<div role=button id=a aria-owns='b c d'><div role=button id=b aria-owns='a c d'><div role=button id=c aria-owns='a b d'>x</div></div></div>", 200),
	"listboxes":     strings.Repeat("<div role=listbox><div role=option aria-selected=true>x", 120),
	"nested names":  strings.Repeat("<div role=button tabindex=0>text ", 400),
	"clickables":    strings.Repeat("<div onclick=1>", 400) + strings.Repeat("<i>x</i>", 20000),
	"many labels":   strings.Repeat("<label>", 400) + strings.Repeat("<i>x</i>", 20000) + "<input>",
	"options":       "<select>" + strings.Repeat("<option>x", 100000) + "</select>",
	"nested tables": strings.Repeat("<table><tr><td>a<td>b<tr><td>c<td>", 120) + strings.Repeat("<i>x</i>", 20000),
	"radios":        "<form>" + strings.Repeat("<input type=radio name=r checked>", 20000),
	"comments":      strings.Repeat("<!-- x -->", 100000) + "<a href=x>x</a>",
	"one text":      strings.Repeat("word ", 1<<20),
	"one attribute": "<a href='" + strings.Repeat("x", 1<<20) + "' title='" + strings.Repeat("y ", 1<<20) + "'></a>",
	"white space":   "<p>" + strings.Repeat(" \n", 1<<20) + "</p><a href=x>x</a>",
	"rows":          "<table>" + strings.Repeat("<tr><td><a href=x>x</a>", 20000),
	"deep":          strings.Repeat("<div><p><a href=x>", 50000),
	"deep saying":   strings.Repeat("<div>x", 400000),
	"deep closing":  strings.Repeat("<div>", 50000) + strings.Repeat("</p>", 50000),
	"templates":     strings.Repeat("<div><template shadowrootmode=open><slot></slot></template>", 100) + strings.Repeat("<i>x</i>", 5000),
}

// TestHostilePages holds what was written to cost much to ending soon, within
// its budgets, with a text that the strict parser reads.
func TestHostilePages(t *testing.T) {
	for name, page := range hostile {
		t.Run(name, func(t *testing.T) {
			for _, digest := range []bool{true, false} {
				o := snapshot.DefaultOptions()
				o.InteractiveOnly = digest
				began := time.Now()
				s, view, err := snapshotOf(page, o)
				if err != nil {
					t.Fatal(err)
				}
				check(t, s, o)
				if s.Stats.After != "" {
					o.After = s.Stats.After
					if s, err = view.snapshot(o); err != nil {
						t.Fatal(err)
					}
					check(t, s, o)
				}
				// Generous: a loaded machine with the race detector on. Squares take minutes.
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("digest %t took %s", digest, took)
				}
			}
		})
	}
}

// ends is a context that ends when it has been asked so many times.
type ends struct {
	context.Context
	left int
}

func (e *ends) Err() error {
	if e.left--; e.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestALookEndsWithItsContext: whatever a page was written to cost, its command is
// over when its time is, within a part of the text or an element.
func TestALookEndsWithItsContext(t *testing.T) {
	plain := strings.Repeat("<p>x</p>", 20000)
	for name, page := range map[string]string{"parsed": plain, "nested too deep": strings.Repeat("<div>", 5000) + plain} {
		ctx := &ends{t.Context(), 20}
		if _, err := Parse(ctx, page, nil, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if ctx.left < -3 {
			t.Errorf("%s: went on for %d parts", name, -ctx.left)
		}
	}
	d, err := Parse(t.Context(), plain, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, look := range map[string]func(ctx context.Context) error{
		"capture": func(ctx context.Context) error {
			o := snapshot.DefaultOptions()
			o.Scope = "body"
			_, err := d.Capture(ctx, o, snapshot.NewRefs(), nil)
			return err
		},
		"find": func(ctx context.Context) error {
			_, err := d.Find(ctx, protocol.Query{Text: "x", Limit: 1}, nil)
			return err
		},
	} {
		ctx := &ends{t.Context(), 50}
		if err := look(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if ctx.left < -1000 {
			t.Errorf("%s: asked %d times more", name, -ctx.left)
		}
	}
}

func check(t testing.TB, s snapshot.Snapshot, o snapshot.Options) {
	t.Helper()
	p, err := snapshottext.Parse(s.Text, snapshot.Quote)
	if err != nil {
		t.Fatalf("%v in\n%.2000s", err, s.Text)
	}
	emitted := 0
	for _, l := range p.Lines {
		if l.Ref != 0 {
			emitted++
		}
	}
	if n := utf8.RuneCountInString(s.Text); n > o.MaxChars || emitted > o.MaxNodes {
		t.Fatalf("%d characters, %d nodes", n, emitted)
	}
}

// TestTwentyMegabytes bounds the memory that a large document takes.
func TestTwentyMegabytes(t *testing.T) {
	if testing.Short() {
		t.Skip("a large page")
	}
	page := shopPage(20 << 20)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s, view, err := snapshotOf(page, snapshot.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	check(t, s, snapshot.DefaultOptions())
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d elements in %d bytes are held in %d bytes", s.Stats.InputNodes, len(page), held)
	if held > 16*int64(len(page)) {
		t.Errorf("%d bytes are held for a page of %d", held, len(page))
	}
	text, _, markup, err := view.read("@e4")
	if err != nil || len(text) < 1<<20 || len(markup) < len(text) {
		t.Errorf("%d bytes of text and %d of markup, %v", len(text), len(markup), err)
	}
	runtime.KeepAlive(view)
}
