package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// A request that an action made may be answered while the page is looked at, and
// the page write the answer down right behind that look: it is looked at once more,
// and once only, or a page that asks all the time would never be done.
func TestAnAnswerThatComesWithTheLookIsLookedAtAgain(t *testing.T) {
	b := New(started(t, testConfig(t)), discard())
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		io.WriteString(w, "<!doctype html><title>Form</title><output></output>")
	}))
	t.Cleanup(site.Close)
	ctx := limit(t, 20*time.Second)
	c, err := b.NewContext(ctx, ContextOptions{}, func(string, map[string]any) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	if _, err := c.Open(ctx, site.URL, protocol.WaitAuto); err != nil {
		t.Fatal(err)
	}
	tab, err := c.ready(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ask := func() {
		t.Helper()
		tab.c.mu.Lock()
		before := tab.answered.ended
		tab.c.mu.Unlock()
		if err := tab.cdp.Call(ctx, "Runtime.evaluate", map[string]any{"expression": "void fetch('/save')"}, nil); err != nil {
			t.Fatal(err)
		}
		if err := tab.until(ctx, func() bool { return tab.answered.ended.After(before) }); err != nil {
			t.Fatal(err)
		}
	}
	look := func(s *start, want bool) {
		t.Helper()
		if got, err := tab.awaitRequests(ctx, s, time.Now().Add(time.Second)); got != want || err != nil {
			t.Errorf("the page is looked at again: %v (%v), want %v", got, err, want)
		}
	}

	ask()
	s := tab.begin()
	look(s, false) // what was answered before the action is none of its own
	s.looked = time.Now()
	ask()
	look(s, true)
	s.looked = time.Now()
	ask()
	look(s, false)

	s = tab.begin()
	ask()
	s.looked = time.Now() // behind the answer
	look(s, false)
}

// What is done in a frame settles in the frame's document as well: what its script
// goes on to do, what it announces and where it puts the focus are told.
func TestActionsInFramesSettleThere(t *testing.T) {
	s := newStage(t)
	in := `<input aria-label=N oninput="setTimeout(()=>said.textContent='saw '+this.value)"><p id=said role=status></p><script>onclick=()=>setTimeout(()=>said.textContent='clicked')</script>`
	const whole = ` style="position:fixed;top:0;left:0;border:0"`
	for _, c := range []struct{ name, page string }{
		{"the same site", `<iframe src="/in"` + whole + `></iframe>`},
		{"another site", `<iframe src="ALT/in"` + whole + `></iframe>`},
		{"nested", `<iframe src="/mid"` + whole + `></iframe>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, replaceAlt(c.page, s.srv.URL), "/in", in, "/mid", `<iframe src="/in"`+whole+`></iframe>`)
			ref := v.ref("textbox", "N")
			equal(t, "typed", v.write(ref, protocol.Type{Text: "x"}), `{"hit":"`+ref+`","changed":true,"focused":"`+ref+`","announced":["saw x"]}`)
			e, err := v.c.Press(limit(t, 5*time.Second), v.refs, "", "y")
			equal(t, "pressed", answer(e, err), `{"changed":true,"announced":["saw xy"]}`)
			_, e, err = v.c.Mouse(limit(t, 5*time.Second), v.refs, protocol.Mouse{Action: "click", X: 200, Y: 100})
			e.Hit = "" // what is there is of no name
			equal(t, "clicked", answer(e, err), `{"changed":true,"announced":["clicked"]}`)
		})
	}
}

// A live region is told as a whole where it is atomic, as alerts and states are, and
// otherwise by what has come into it: a log says its new line, and nothing when one goes.
func TestAnnounced(t *testing.T) {
	s := newStage(t)
	long := strings.Repeat("old line ", 40)
	for _, c := range []struct{ name, page, want string }{
		{"a log", `<div role=log id=r><p>` + long + `</p></div><button onclick="r.insertAdjacentHTML('beforeend','<p>new <b>line</b></p>')">Go</button>`, `["new line"]`},
		{"polite", `<div aria-live=polite id=r><p>one</p></div><button onclick="r.append(Object.assign(document.createElement('p'),{textContent:'two'}))">Go</button>`, `["two"]`},
		{"polite and atomic", `<div aria-live=polite aria-atomic=true id=r><p>one</p></div><button onclick="r.append('two')">Go</button>`, `["one two"]`},
		{"a status", `<div role=status id=r>3 <b>items</b></div><button onclick="r.firstChild.data='4 '">Go</button>`, `["4 items"]`},
		{"text of a log", `<div role=log id=r><p>one</p><p>2</p></div><button onclick="r.lastChild.firstChild.data='3'">Go</button>`, `["3"]`},
		{"a line goes", `<div role=log id=r><p>one</p><p>two</p></div><button onclick="r.firstChild.remove()">Go</button>`, ""},
		{"an alert comes", `<div id=r></div><button onclick="r.innerHTML='<div role=alert>Wrong</div>'">Go</button>`, `["Wrong"]`},
		{"a line comes and goes", `<div role=log id=r><p>one</p></div><button onclick="const p=document.createElement('p');p.textContent='x';r.append(p);p.remove()">Go</button>`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page)
			e, err := v.c.Click(limit(t, 5*time.Second), v.refs, v.ref("button", "Go"), protocol.Click{})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(e.Announced) > 0 {
				raw, _ := json.Marshal(e.Announced)
				got = string(raw)
			}
			equal(t, "announced", got, c.want)
		})
	}
}
