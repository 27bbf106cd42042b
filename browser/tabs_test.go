package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/targets"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Every tab that appears is told of, once, with its URL, before whatever it does:
// one that is asked for, one that a page opens, and the one in the place of the
// last that is closed.
func TestTabsAreToldOf(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.pages["/"] = `<button onclick="window.open('/b')">With</button><button onclick="window.open()">Empty</button><button onclick="window.open('/b','','noopener')">Alone</button>`
	s.pages["/b"] = `<title>B</title>`
	told := make(chan string, 100) // more than there are: emit must not block
	ctx := limit(t, 30*time.Second)
	c, err := s.b.NewContext(ctx, ContextOptions{}, func(typ string, fields map[string]any) {
		switch typ {
		case protocol.EventTabOpened, protocol.EventNavigated:
			told <- fmt.Sprint(typ, " ", fields["tab"], " ", strings.TrimPrefix(fields["url"].(string), s.srv.URL))
		case protocol.EventTabClosed:
			told <- fmt.Sprint(typ, " ", fields["tab"])
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	v := &visit{t: t, c: c, refs: snapshot.NewRefs()}
	next := func(want ...string) {
		t.Helper()
		var got []string
		for range want {
			select {
			case one := <-told:
				got = append(got, one)
			case <-time.After(5 * time.Second):
				got = append(got, "nothing")
			}
		}
		equal(t, "events", got, want)
	}
	do := func(_ protocol.Effect, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	do(c.Open(ctx, s.srv.URL+"/", protocol.WaitAuto))
	next("navigated t1 /")
	v.look()
	v.click(v.ref("button", "With"))
	next("tab_opened t2 /b", "navigated t2 /b")
	v.click(v.ref("button", "Empty"))
	next("tab_opened t3 about:blank", "navigated t3 about:blank")
	v.click(v.ref("button", "Alone"))
	next("tab_opened t4 /b", "navigated t4 /b")
	do(c.TabNew(ctx, ""))
	next("tab_opened t5 about:blank")
	do(c.TabNew(ctx, s.srv.URL+"/b"))
	next("tab_opened t6 /b", "navigated t6 /b")
	for _, name := range []string{"t2", "t3", "t4", "t5", "t6"} {
		do(c.TabClose(ctx, name))
		next("tab_closed " + name)
	}
	do(c.TabSelect(ctx, "t1"))
	do(c.TabClose(ctx, "t1"))
	next("tab_opened t7 about:blank", "tab_closed t1")
	if len(told) > 0 {
		t.Errorf("and %q", <-told)
	}
}

// A command whose tab is closed while it waits for the page ends then, and not when its own time is over.
func TestACommandEndsWithItsTab(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, run := range map[string]func(ctx context.Context, v *visit, site string) error{
		"snapshot": func(ctx context.Context, v *visit, _ string) error {
			_, err := v.c.Capture(ctx, snapshot.Options{}, v.refs)
			return err
		},
		"read": func(ctx context.Context, v *visit, _ string) error {
			_, err := v.c.Read(ctx, v.refs, "", "text", "")
			return err
		},
		"what a picture may show": func(ctx context.Context, v *visit, _ string) error {
			_, err := v.c.DrawnText(ctx, "")
			return err
		},
		"find": func(ctx context.Context, v *visit, _ string) error {
			_, err := v.c.Find(ctx, v.refs, protocol.Query{Text: "B", Limit: 1})
			return err
		},
		"click": func(ctx context.Context, v *visit, _ string) error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Click{Ref: "@e1"}})
			return err
		},
		"open": func(ctx context.Context, v *visit, site string) error {
			_, err := v.c.Open(ctx, site+"/busy", protocol.WaitLoad)
			return err
		},
		"open, until it is quiet": func(ctx context.Context, v *visit, site string) error {
			_, err := v.c.Open(ctx, site+"/later", protocol.WaitAuto)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			const loop = "fetch('/begun'); for (const until = Date.now() + 20000; Date.now() < until;);"
			begun := make(chan struct{}, 10)
			mux := http.NewServeMux()
			mux.HandleFunc("/begun", func(http.ResponseWriter, *http.Request) { begun <- struct{}{} })
			mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<p>B<script>"+loop+"</script>") })
			mux.HandleFunc("/later", func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, "<p id=p>B</p><script>setInterval(() => p.textContent += '.', 1); setTimeout(() => { "+loop+" }, 200)</script>")
			})
			srv := httptest.NewServer(mux)
			t.Cleanup(srv.Close)
			there := strings.ReplaceAll(loop, "/begun", srv.URL+"/begun")
			v := s.open(t, `<button onclick="`+there+`">B</button><script>function go() { setTimeout(() => { `+there+` }) }</script>`)
			if _, err := v.c.TabNew(limit(t, 8*time.Second), ""); err != nil { // closing the last one would make another
				t.Fatal(err)
			}
			if _, err := v.c.TabSelect(limit(t, 8*time.Second), "t1"); err != nil {
				t.Fatal(err)
			}
			own := name == "click" || strings.HasPrefix(name, "open") // it makes the page busy itself
			if !own {
				v.eval("go()")
				<-begun
			}
			done := make(chan error, 1)
			go func() { done <- run(limit(t, 15*time.Second), v, srv.URL) }()
			if own {
				select {
				case <-begun:
				case err := <-done:
					t.Fatalf("it has ended before the page was busy: %v", err)
				}
			}
			started := time.Now()
			if _, err := v.c.TabClose(limit(t, 15*time.Second), "t1"); err != nil {
				t.Fatal(err)
			}
			want := protocol.StaleRef
			if name == "click" {
				want = "" // the element has received it
			}
			if err := <-done; protocol.CodeOf(err) != want || time.Since(started) > 8*time.Second {
				t.Errorf("%v, after %v", err, time.Since(started))
			}
		})
	}
}

// A page that closes its own tab has done what the action asked for: no error says that the ref is old.
func TestAClickClosesItsTab(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, script := range map[string]string{
		"at once":         "window.close()",
		"at a key":        `0">Other</button><script>onkeydown = () => window.close()</script><button onclick="0`,
		"a moment later":  "document.title = 'x'; setTimeout(() => window.close(), 5)",
		"after a request": "fetch('/nothing').then(() => window.close())",
	} {
		t.Run(name, func(t *testing.T) {
			v := s.open(t, `<button onclick="window.open('/closes')">Open</button>`, "/closes", `<title>Closes</title><button onclick="`+script+`">Close</button>`)
			v.click(v.ref("button", "Open"))
			v.awaitTab(1, s.srv.URL+"/closes", "Closes")
			if _, err := v.c.TabSelect(limit(t, 8*time.Second), "t2"); err != nil {
				t.Fatal(err)
			}
			v.look()
			var act protocol.Action = protocol.Click{Ref: v.ref("button", "Close")}
			if name == "at a key" {
				act = protocol.Press{Key: "Escape"}
			}
			got, err := v.c.Act(limit(t, 8*time.Second), v.refs, protocol.Act{Action: act})
			if err != nil || !got.Effect.Changed || len(v.c.Tabs()) != 1 {
				t.Errorf("%+v, %v, %+v", got.Effect, err, v.c.Tabs())
			}
		})
	}
}

// A dialog has been answered also where the page then closes its tab.
func TestADialogClosesItsTab(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<button onclick="window.open('/closes')">Open</button>`, "/closes", `<title>Closes</title><button onclick="if (confirm('Close?')) window.close()">Close</button>`)
	v.click(v.ref("button", "Open"))
	v.awaitTab(1, s.srv.URL+"/closes", "Closes")
	if _, err := v.c.TabSelect(limit(t, 8*time.Second), "t2"); err != nil {
		t.Fatal(err)
	}
	v.look()
	v.click(v.ref("button", "Close"))
	answered, _, _, err := v.c.Dialog(limit(t, 8*time.Second), v.refs, protocol.DialogAnswer{Accept: true})
	if err != nil || answered.Answer != "accepted" {
		t.Errorf("%+v, %v", answered, err)
	}
	eventually(t, 8*time.Second, "the tab is closed", func() bool { return len(v.c.Tabs()) == 1 })
}

// An action tells of the tabs that it opened however it was asked for them: by the
// page, by the link, or by the keys and the button that open one.
func TestTabsOpenedByAClick(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct {
		name, page string
		o          protocol.Click
		opened     int
	}{
		{"the link's target", `<a href=/b target=_blank>L</a>`, protocol.Click{}, 1},
		{"Control", `<a href=/b>L</a>`, protocol.Click{Modifiers: []string{"Control"}}, 1},
		{"Shift", `<a href=/b>L</a>`, protocol.Click{Modifiers: []string{"Shift"}}, 1},
		{"the middle button", `<a href=/b>L</a>`, protocol.Click{Button: "middle"}, 1},
		{"Control, and the page", `<a href=/b onclick="window.open('/b')">L</a>`, protocol.Click{Modifiers: []string{"Control"}}, 2},
		{"Control, refused", `<a href=/b onclick="event.preventDefault()">L</a>`, protocol.Click{Modifiers: []string{"Control"}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page, "/b", "<title>B</title>")
			c.o.Ref = v.ref("link", "L")
			e, err := v.c.Act(limit(t, 8*time.Second), v.refs, protocol.Act{Action: c.o})
			if err != nil || len(e.TabsOpened) != c.opened {
				t.Fatalf("opened %+v, %v", e.TabsOpened, err)
			}
			for _, tab := range e.TabsOpened {
				equal(t, "url", tab.URL, s.srv.URL+"/b")
			}
		})
	}
}

// A tab whose page has not come yet says the URL that it loads, and the list of tabs what is there.
func TestOpenedTabSaysWhatItLoads(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, page := range map[string]string{
		"a link": `<a href=/stuck target=_blank>L</a>`,
		"a page": `<a href=/b onclick="window.open('/stuck'); return false">L</a>`,
	} {
		t.Run(name, func(t *testing.T) {
			v := s.open(t, page)
			e, err := v.c.Act(limit(t, 8*time.Second), v.refs, protocol.Act{Action: protocol.Click{Ref: v.ref("link", "L")}})
			if err != nil || len(e.TabsOpened) != 1 {
				t.Fatalf("opened %+v, %v", e.TabsOpened, err)
			}
			equal(t, "url", e.TabsOpened[0].URL, s.srv.URL+"/stuck")
			equal(t, "url in the list of tabs", v.c.Tabs()[1].URL, targets.Blank)
		})
	}
}
