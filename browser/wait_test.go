package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testtime"
	"github.com/browserd/browserd/protocol"
)

// A wait ends when all that it names holds, soon after it does.
func TestWait(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	page := `<h1 id=h>Old</h1><button id=b>Go</button><div id=o></div><iframe srcdoc="<p>framed</p>"></iframe>
<script>function soon(f){setTimeout(f,250)}</script>`
	for _, c := range []struct {
		name, act string
		q         protocol.Wait
		want      string
	}{
		{"text", `soon(()=>o.textContent='Done now')`, protocol.Wait{Text: "done"}, `{"text":"shown"}`},
		{"text in a frame", `0`, protocol.Wait{Text: "framed"}, `{"text":"shown"}`},
		{"text by style alone", `o.hidden=true;o.textContent='Shown';soon(()=>o.hidden=false)`, protocol.Wait{Text: "shown"}, `{"text":"shown"}`},
		{"text gone", `soon(()=>h.remove())`, protocol.Wait{Text: "Old", Gone: true}, `{"text":"not shown"}`},
		{"ref gone", `soon(()=>b.remove())`, protocol.Wait{Ref: "@e2", Gone: true}, `{"ref":"gone"}`},
		{"ref visible", `b.style.display='none';soon(()=>b.style.display='')`, protocol.Wait{Ref: "@e2"}, `{"ref":"visible"}`},
		{"url", `soon(()=>history.pushState(0,'','/next?a=1'))`, protocol.Wait{URL: "*/next?a=*"}, `{"url":"` + s.srv.URL + `/next?a=1"}`},
		{"expression", `soon(()=>window.app={ready:1})`, protocol.Wait{Expression: "app.ready"}, `{"expression":1}`},
		{"expression, promised", `0`, protocol.Wait{Expression: "Promise.resolve({a:1})"}, `{"expression":true}`},
		{"several", `soon(()=>{o.textContent='Done';history.pushState(0,'','/done')})`, protocol.Wait{Text: "Done", URL: "/done"}, `{"text":"shown","url":"` + s.srv.URL + `/done"}`},
		{"state", `0`, protocol.Wait{State: "load"}, `{"state":"complete"}`},
		{"after a navigation", `soon(()=>location.href='/there')`, protocol.Wait{Text: "Arrived"}, `{"text":"shown"}`},
		{"network idle", `fetch('/slow')`, protocol.Wait{State: "networkidle"}, `{"state":"networkidle"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, page, "/there", "<p>Arrived</p>")
			v.eval(`{` + c.act + `};0`)
			begun := time.Now()
			seen, err := v.c.Wait(limit(t, 20*time.Second), v.refs, c.q, nil, nil)
			equal(t, "seen", answer(seen, err), c.want)
			if d := time.Since(begun); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// A page that dies between two looks ends the wait, which otherwise would go on in the tab that replaced it. (A page
// that keeps its thread busy does not say its title, and dies while that is awaited.)
func TestWaitNoticesADeathBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<h1>Old</h1>`)
	w := waiter{c: v.c, refs: v.refs, q: protocol.Wait{Text: "never said"}, seen: map[string]any{},
		yieldTurn: func(_ context.Context, pause func()) error { pause(); return nil }}
	look := func() (bool, error) {
		ctx := limit(t, 20*time.Second)
		tab, err := v.c.ready(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		return w.look(ctx, tab)
	}
	if ok, err := look(); ok || err != nil {
		t.Fatalf("before: %v, %v", ok, err)
	}
	w.tab.cdp.Send("Page.crash", struct{}{})
	<-w.tab.life.Done()
	if ok, err := look(); ok || protocol.CodeOf(err) != protocol.PageCrashed {
		t.Errorf("after the page has died: %v, %v; want page_crashed", ok, err)
	}
}

// A wait in vain says what it waited for and what was there instead.
func TestWaitTimeout(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<h1>Old</h1>`)
	url := s.srv.URL + "/page0"
	for _, c := range []struct {
		name string
		q    protocol.Wait
		want string
	}{
		{"text", protocol.Wait{Text: "New"}, `timeout: timed out waiting for text "New" {"seen":{"ready":"complete","text":"not shown","url":"` + url + `"},"waited_for":{"text":"New"}}`},
		{"gone", protocol.Wait{Ref: "@e1", Gone: true}, `timeout: timed out waiting for ref "@e1", gone {"seen":{"ready":"complete","ref":"visible","url":"` + url + `"},"waited_for":{"gone":true,"ref":"@e1"}}`},
		{"expression", protocol.Wait{Expression: "app.ready"}, `timeout: timed out waiting for expression "app.ready" {"seen":{"expression":"ReferenceError: app is not defined","ready":"complete","url":"` + url + `"},"waited_for":{"expression":"app.ready"}}`},
		{"syntax", protocol.Wait{Expression: "1+"}, `invalid_params: expression: SyntaxError: Unexpected token ')' {"parameter":"expression"}`},
		{"nothing", protocol.Wait{}, `invalid_params: wait needs at least one of ref, text, url, state, expression and for {"parameter":"ref"}`},
		{"unknown", protocol.Wait{Ref: "@e9"}, `unknown_ref: @e9 was never given out in this session {"highest":"@e1"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			within := 20 * time.Second // as long as a look may take
			if strings.HasPrefix(c.want, "timeout") {
				within = 400 * time.Millisecond
			}
			testtime.OneOfThree(t, func() error {
				seen, err := v.c.Wait(limit(t, within), v.refs, c.q, nil, nil)
				within *= 5 // a slow machine may not have had one whole look
				if d := cmp.Diff(answer(seen, err), c.want); d != "" {
					return fmt.Errorf("answer (-got +want):\n%s", d)
				}
				return nil
			})
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() {
		cancel(protocol.Errorf(protocol.Cancelled, "cancelled"))
	})
	_, err := v.c.Wait(ctx, v.refs, protocol.Wait{Text: "New"}, nil, nil)
	equal(t, "cancelled", answer(nil, err), "cancelled: cancelled null")
}
