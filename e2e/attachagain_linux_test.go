package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// The person closes the browser that is attached, and starts it again. Each session is told once, with what to
// do; nobody looks for the browser meanwhile, and the person is asked once when an agent or they themselves want
// it. Then the sessions go on.
func TestAttachedBrowserStartsAgain(t *testing.T) {
	aboutOneProcess(t, "a person's own browser")
	t.Parallel()
	w, heard := personPages(t)
	p := newPerson(t, w.URL+"/mine")
	d := attachedDaemon(t, p, map[string]string{"BROWSERD_POLICY__AUTONOMY": "full"})
	a, b := newAgent(t, d), newAgent(t, d)
	asked := func() int { return strings.Count(d.Log(), "your browser asks you whether") }
	a.refused("session_open", nil, protocol.WaitingForConsent)
	p.presses(func() bool { return attachment(a) == "attached" }, "Tab", "Return")
	ask[struct{}](b, "subscribe", params{"events": []string{"browser_lost"}})
	for _, who := range []*agent{a, b} {
		who.open(w.URL + "/who")
	}
	ref := a.snapshot().ref(t, "button", "Window")

	p.closes()
	p.until("status says so", func() bool { return attachment(a) == "not_attached" })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := b.c.Event(ctx, func(e protocol.Event) bool { return e.Type == protocol.EventBrowserLost }); err != nil {
		t.Errorf("no event: %v", err)
	}
	began := time.Now()
	e := a.refused("snapshot", nil, protocol.BrowserLost)
	if restored := fmt.Sprint(e.Details["restored"]); !strings.Contains(e.Message, "own browser") || !strings.Contains(e.Next, "browserd attach") || !strings.Contains(restored, "/who") {
		t.Errorf("told %s; next: %s; %s", e.Message, e.Next, restored)
	}
	for range 6 { // the first of them by the way: nobody has to wait for what costs nothing
		if e := a.refused("snapshot", nil, protocol.ChromiumUnavailable); !strings.Contains(e.Next, "browserd attach") || strings.Contains(e.Message, "tried again") {
			t.Errorf("told %s; next: %s", e.Message, e.Next)
		}
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("8 answers took %v", took)
	}
	if _, err := d.Command("attach"); err == nil || !strings.Contains(err.Error(), "chrome://inspect/#remote-debugging") || strings.Contains(err.Error(), "doctor") {
		t.Errorf("browserd attach without a browser: %v", err)
	}

	// It is there again, and nobody has asked for it.
	p.starts(w.URL + "/mine")
	time.Sleep(2 * time.Second) // nothing tells that nothing comes
	if got := attachment(a); got != "not_attached" || asked() != 1 {
		t.Errorf("before anybody wants it: %s, asked %d times", got, asked())
	}
	done := make(chan error, 1)
	go func() {
		out, err := d.Command("attach")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		done <- err
	}()
	p.until("the person is asked again", func() bool { return attachment(a) == "waiting_for_consent" })
	a.refused("snapshot", nil, protocol.WaitingForConsent)
	if out, err := d.Command("status"); err != nil || !strings.Contains(out, "press Allow") {
		t.Errorf("status: %v %s", err, out)
	}
	p.presses(func() bool { return attachment(a) == "attached" }, "Tab", "Return")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if text := a.do("read", nil).Content; !strings.Contains(text, "You are") { // told before
		t.Errorf("the session goes on with %q", text)
	}
	a.refused("click", params{"ref": ref}, protocol.StaleRef)
	if e := b.refused("read", nil, protocol.BrowserLost); !strings.Contains(e.Message, "own browser") {
		t.Errorf("the other session is told %s", e.Message)
	}
	if text := b.do("read", nil).Content; !strings.Contains(text, "You are") {
		t.Errorf("the other session goes on with %q", text)
	}
	if asked() != 2 {
		t.Errorf("the person was asked %d times", asked())
	}

	// A session that opens asks as well. A browser that is closed while it asks was not a no.
	p.closes()
	p.until("status says so", func() bool { return attachment(a) == "not_attached" })
	p.starts()
	c := newAgent(t, d)
	c.refused("session_open", nil, protocol.WaitingForConsent)
	p.closes()
	p.until("status says so", func() bool { return attachment(a) != "waiting_for_consent" })
	if got := attachment(a); got != "not_attached" {
		t.Errorf("closed while it asked: %s", got)
	}
	p.starts()
	c.refused("session_open", nil, protocol.WaitingForConsent)
	p.presses(func() bool { return attachment(a) == "attached" }, "Tab", "Return")
	c.do("session_open", nil)
	if _, changes := heard(); len(changes) > 0 {
		t.Logf("the person's tabs noticed %q", changes)
	}
}
