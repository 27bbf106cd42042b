//go:build linux

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testtime"
	"github.com/browserd/browserd/protocol"
)

// faultPage serves testdata/faults/page.html. /hold answers when the page is
// left, and holding says that a request for it has come.
func faultPage(t *testing.T, d *testdaemon.Daemon) (r rowTest, holding <-chan struct{}) {
	t.Helper()
	r = agentOnPage(t, d, "faults/page.html", "/faults")
	r.w.serve("/next", page("next", "<h1>Next</h1>"), "")
	held := make(chan struct{}, 8) // as many as a test may ask for
	r.w.mux.HandleFunc("/hold", func(_ http.ResponseWriter, req *http.Request) {
		held <- struct{}{}
		<-req.Context().Done()
	})
	r.open(r.w.URL + "/faults")
	return r, held
}

func (r rowTest) button(name string) string {
	r.t.Helper()
	return r.snapshot().ref(r.t, "button", name)
}

// works holds the daemon to being usable: a page opens and shows what it has.
func (r rowTest) works() {
	r.t.Helper()
	r.open(r.w.URL + "/next")
	r.snapshot().ref(r.t, "heading", "Next")
}

// told waits for an event of the type.
func (r rowTest) told(eventType string, within time.Duration) protocol.Event {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), within)
	defer cancel()
	e, err := r.c.Event(ctx, client.OfType(eventType))
	if err != nil {
		r.t.Errorf("no %s event within %v: %v", eventType, within, err)
	}
	return e
}

func TestKilledChromiumInTheMiddleOfAClick(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	testtime.OneOfThree(t, func() error { return killedInTheMiddleOfAClick(t, d) })
}

// killedInTheMiddleOfAClick returns what came too late, and tells t all else.
func killedInTheMiddleOfAClick(t *testing.T, d *testdaemon.Daemon) error {
	t.Helper()
	r, holding := faultPage(t, d)
	click, err := r.c.Send("click", click(r.button("Hold"), params{"timeout_ms": 30000}))
	if err != nil {
		t.Fatal(err)
	}
	<-holding // the page's handler is running, and will not end

	old := testdaemon.Descendants(d.PID)
	browsers := d.Chromium("browser")
	if len(browsers) == 0 {
		t.Fatalf("no Chromium below the daemon: %v", old)
	}
	killed := time.Now()
	for _, p := range browsers {
		p.Kill()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err = click.Wait(ctx, nil)
	answered := time.Since(killed)
	if protocol.CodeOf(err) != protocol.BrowserLost {
		t.Errorf("the click ended with %v, want browser_lost", err)
	}
	r.told(protocol.EventBrowserLost, 10*time.Second)
	told := time.Since(killed)
	r.works()
	if left := testdaemon.AwaitGone(old, 20*time.Second); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if answered > time.Second || told > 2*time.Second {
		return fmt.Errorf("the click was told after %v, want a second, and the event came after %v", answered, told)
	}
	return nil
}

func TestKilledChromiumBringsBackURLAndCookies(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	r, _ := faultPage(t, d)
	r.w.mux.HandleFunc("/cookie", func(rw http.ResponseWriter, req *http.Request) {
		c, err := req.Cookie("kept")
		if err != nil {
			http.SetCookie(rw, &http.Cookie{Name: "kept", Value: "yes", MaxAge: 3600})
			c = &http.Cookie{Value: "new"}
		}
		rw.Header().Set("Content-Type", "text/html")
		rw.Write([]byte("<title>Cookie</title><h1>Cookie " + c.Value + "</h1>"))
	})
	r.open(r.w.URL + "/cookie")
	// It has the attribute Secure, which a page of http has on loopback alone.
	r.do("eval", params{"expression": "cookieStore.set('secure', 'yes')"})
	r.open(r.w.URL + "/cookie") // cookies are kept when a page loads
	for _, p := range d.Chromium("browser") {
		p.Kill()
	}
	r.told(protocol.EventBrowserLost, 3*time.Second)
	answer, err := r.try("snapshot", nil)
	if protocol.CodeOf(err) == protocol.BrowserLost {
		answer, err = r.try("snapshot", nil) // said once, then it works
	}
	if err != nil {
		t.Fatalf("after the loss: %v", err)
	}
	if got := r.do("eval", params{"expression": "cookieStore.get('secure').then((c) => c && c.value)"}); got.Value != "yes" {
		t.Errorf("the secure cookie is %v", got.Value)
	}
	if answer.Page.URL != r.w.URL+"/cookie" || !strings.Contains(answer.Snapshot.Text, "Cookie yes") {
		t.Errorf("restored: %+v\n%s", answer.Page, answer.Snapshot.Text)
	}
}

func TestCrashedRenderer(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	r, _ := faultPage(t, d)
	renderers := d.Chromium("renderer")
	if len(renderers) == 0 {
		t.Fatal("no renderer below the daemon")
	}
	for _, p := range renderers {
		p.Kill()
	}
	r.told(protocol.EventPageCrashed, 3*time.Second)
	_, err := r.try("snapshot", params{"timeout_ms": 6000})
	if code := protocol.CodeOf(err); err != nil && code != protocol.PageCrashed {
		t.Errorf("the next command: %v, want page_crashed or success", err)
	}
	r.works()
}

func TestKilledDaemonIsTidiedUpByTheNext(t *testing.T) {
	t.Parallel()
	first := testdaemon.Start(t, testdaemon.Options{})
	r, _ := faultPage(t, first)
	r.works()
	old, profiles := testdaemon.Descendants(first.PID), first.Profiles()
	if len(first.Chromium("browser")) == 0 || len(profiles) == 0 {
		t.Fatalf("nothing to tidy up: %v, %v", old, profiles)
	}
	first.Kill()

	second := testdaemon.Start(t, testdaemon.Options{Home: first.Home})
	if left := testdaemon.AwaitGone(old, 3*time.Second); len(left) > 0 {
		t.Errorf("the next start left %v", left)
	}
	again, _ := faultPage(t, second)
	again.works()
	for _, p := range second.Profiles() {
		if slices.Contains(profiles, p) {
			t.Errorf("the next start left the profile %s", p)
		}
	}
}

// What a page can do to a browser: each button starts it.
func TestEveryCommandAnswersInTime(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	for _, name := range []string{"Alert", "Confirm", "Prompt", "Leave", "Alert for ever", "Confirm for ever", "Loop", "Flood", "Flood for ever"} {
		t.Run(name, func(t *testing.T) {
			r, _ := faultPage(t, d)
			ref := r.button(name)
			r.inTime("click", click(ref, params{"timeout_ms": 3000}))
			r.atOnce()
			for method, p := range map[string]params{
				"snapshot":   {},
				"read":       {"kind": "text"},
				"eval":       {"expression": "1"},
				"click":      {"ref": ref},
				"press":      {"key": "a"},
				"wait":       {"state": "load"},
				"screenshot": {},
			} {
				p["timeout_ms"] = 1000
				r.inTime(method, p)
			}
			r.atOnce()
			again := false
			testtime.OneOfThree(t, func() error {
				if again {
					r.open(r.w.URL + "/faults")
					r.inTime("click", click(r.button(name), params{"timeout_ms": 3000}))
				}
				again = true
				r.inTime("open", params{"url": r.w.URL + "/next", "timeout_ms": 10000})
				began := time.Now()
				r.do("session_close", params{"timeout_ms": 3000})
				if took := time.Since(began); took > time.Second {
					return fmt.Errorf("session_close took %v", took)
				}
				return nil
			})
			r.works()
		})
	}
}

// inTime sends a command that may fail, and holds it to its own timeout_ms and
// the second that the protocol gives it.
func (r rowTest) inTime(method string, p params) {
	r.t.Helper()
	began := time.Now()
	_, err := r.try(method, p)
	took, limit := time.Since(began), time.Duration(p["timeout_ms"].(int))*time.Millisecond
	if errors.Is(err, errHang) || took > limit+time.Second {
		r.t.Errorf("%s with timeout_ms %v took %v: %v", method, p["timeout_ms"], took, err)
	}
	if code := protocol.CodeOf(err); code == protocol.Internal {
		r.t.Errorf("%s: %v", method, err)
	}
}

// atOnce holds the commands that do not queue to answering while the page does
// whatever it does. What waits for the page waits for its whole timeout_ms, or again each time.
func (r rowTest) atOnce() {
	r.t.Helper()
	const soon, never = 700 * time.Millisecond, 4 * time.Second
	for _, c := range []struct {
		method string
		params params
	}{
		{"status", params{}}, {"tab_list", params{}}, {"session_list", params{}}, {"ping", params{}},
		{"cancel", params{"id": 999999}}, {"dialog", params{"accept": true}},
	} {
		c.params["timeout_ms"] = 5000
		testtime.Within(r.t, c.method, soon, never, func() {
			_, err := r.try(c.method, c.params)
			// With no dialog open, or no such request, the answer is an error; it is still an answer.
			if err != nil && c.method != "cancel" && c.method != "dialog" {
				r.t.Errorf("%s: %v", c.method, err)
			}
		})
	}
}

// What the page does when its dialog is answered is followed, as after an action,
// but not for long.
func TestADialogsAnswerIsFollowed(t *testing.T) {
	t.Parallel()
	w := newPageServer(t)
	w.serve("/next", page("next", `<h1>Next</h1>`), "")
	w.serve("/page", page("page", `<p id=p>Asked</p>
		<button onclick="p.textContent = confirm('Sure?') ? 'Yes' : 'No'">Change</button>
		<button onclick="if (confirm('Leave?')) location = '/next'">Leave</button>
		<button onclick="confirm('One?'); confirm('Two?')">Twice</button>
		<button onclick="confirm('Hold?'); for (;;);">Hold</button>`), "")
	a := newAgent(t, sharedDaemon(t))
	a.open(w.URL + "/page")
	ask := func(button string, p params) result {
		t.Helper()
		a.do("click", click(a.namedRef(button), nil))
		began := time.Now()
		r := a.do("dialog", p)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s: answering took %v", button, took)
		}
		return r
	}
	r := ask("Change", params{"accept": true})
	if !r.Effect.Changed || r.Delta == nil || !strings.Contains(r.Delta.Text, `+   text "Yes"`) || r.Effect.Dialog.Answer != "accepted" {
		t.Errorf("%+v %+v", r.Effect, r.Delta)
	}
	if r := ask("Change", params{"accept": false, "snapshot": "none"}); !r.Effect.Changed || r.Delta != nil || r.Snapshot != nil {
		t.Errorf("%+v %+v", r.Effect, r.Delta)
	}
	if r := ask("Change", params{"accept": true, "snapshot": "full"}); r.Snapshot == nil || !strings.Contains(r.Snapshot.Text, `"Yes"`) {
		t.Errorf("%+v", r.Snapshot)
	}
	if r := ask("Twice", params{"accept": true}); r.Effect.Dialog == nil || r.Effect.Dialog.Message != "Two?" || r.Effect.Dialog.Answer != "open" || r.Delta != nil {
		t.Errorf("%+v", r.Effect)
	}
	a.do("dialog", params{"accept": true})
	if r := ask("Leave", params{"accept": true}); r.Effect.Navigated != w.URL+"/next" || r.Snapshot == nil || r.Page.Title != "next" {
		t.Errorf("%+v %+v", r.Effect, r.Page)
	}
	a.open(w.URL + "/page")
	if r := ask("Hold", params{"accept": true}); r.Effect.Dialog == nil || r.Effect.Dialog.Answer != "accepted" {
		t.Errorf("%+v", r.Effect)
	}
	a.open(w.URL + "/next")
}

func TestADialogIsAnswered(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	tests := []struct {
		button string
		answer params
		kind   string
		sees   []any
	}{
		{"Confirm", params{"accept": true}, "confirm", []any{true}},
		{"Confirm", params{"accept": false}, "confirm", []any{false}},
		{"Prompt", params{"accept": true, "text": "Ola"}, "prompt", []any{"Ola"}},
		{"Prompt", params{"accept": false}, "prompt", []any{nil}},
	}
	for _, tt := range tests {
		t.Run(tt.button, func(t *testing.T) {
			r, _ := faultPage(t, d)
			answer, err := r.try("click", click(r.button(tt.button), nil))
			if err != nil || answer.Effect == nil || answer.Effect.Dialog == nil || answer.Effect.Dialog.Kind != tt.kind || answer.Effect.Dialog.Answer != "open" {
				t.Errorf("click: %+v, %v; want effect.dialog of kind %s, open", answer.Effect, err, tt.kind)
			}
			r.told(protocol.EventDialog, time.Second)
			r.refused("snapshot", params{"timeout_ms": 1000}, protocol.DialogOpen)
			r.do("dialog", tt.answer)
			r.saw(tt.sees...)
			r.snapshot()
		})
	}
}

// A dialog that nobody answers is dismissed, and the page goes on.
func TestADialogThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_SESSION__DIALOG_TIMEOUT": "300ms"}})
	r, _ := faultPage(t, d)
	r.do("click", click(r.button("Confirm"), nil))
	r.saw(false)
	r.snapshot()
}

func TestAnAlertIsAcceptedAtOnce(t *testing.T) {
	t.Parallel()
	r, _ := faultPage(t, sharedDaemon(t))
	answer := r.do("click", click(r.button("Alert"), nil))
	if answer.Effect == nil || answer.Effect.Dialog == nil || answer.Effect.Dialog.Message != "one" || answer.Effect.Dialog.Answer != "accepted" {
		t.Errorf("effect = %+v, want the alert, accepted", answer.Effect)
	}
	r.snapshot()
}

// A flood of windows ends at a limit.
func TestPopupsAreCapped(t *testing.T) {
	t.Parallel()
	r, _ := faultPage(t, sharedDaemon(t))
	r.inTime("click", click(r.button("Flood"), params{"timeout_ms": 8000}))
	if tabs := r.do("tab_list", nil).Tabs; len(tabs) > 32 {
		t.Errorf("%d tabs are open", len(tabs))
	}
	r.works()
}

// Chromium 156 dies in DOMDebugger.getEventListeners when a listener {once:
// true} of a dialog has been collected: what only decides which refs there are
// must not cost the page.
func TestListenersThatAreCollectedCostNoPage(t *testing.T) {
	t.Parallel()
	r := agentOnPage(t, sharedDaemon(t), "faults/once.html", "/once")
	r.open(r.w.URL + "/once")
	var want []any
	for i := range 40 {
		r.do("click", click(r.button("Ask"), nil))
		r.do("click", click(r.button("Close"), nil))
		r.script("{ let a; for (let i = 0; i < 3e5; i++) a = [i, {}] }") // work for the collector
		want = append(want, float64(i+1))
	}
	r.saw(want...)
}

// SIGTERM in the middle of a click: Stop, which ends the test, asks for exit 0
// and nothing left.
func TestSIGTERMInTheMiddleOfAClick(t *testing.T) {
	aboutOneProcess(t, "its end; a node hands its sessions over first")
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	r, holding := faultPage(t, d)
	pending, err := r.c.Send("click", click(r.button("Hold"), params{"timeout_ms": 30000}))
	if err != nil {
		t.Fatal(err)
	}
	<-holding
	d.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := pending.Wait(ctx, nil); protocol.CodeOf(err) != protocol.ShuttingDown && !errors.Is(err, client.ErrClosed) && protocol.CodeOf(err) != protocol.Cancelled {
		t.Errorf("the click ended with %v", err)
	}
}
