package attach

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
)

// played is Only between a browserd and a Chromium that a test simulates.
type played struct {
	t    *testing.T
	c    *chromium
	only cdp.Transport
	next int64
}

func play(t *testing.T) *played {
	c := &chromium{sent: make(chan *cdp.Message, 100), says: make(chan *cdp.Message, 100)} // more than are sent
	p := &played{t: t, c: c, only: Only(c)}
	t.Cleanup(func() { p.only.Close(); close(c.says) })
	return p
}

func (p *played) send(session, method, params string) int64 {
	p.t.Helper()
	p.next++
	if err := p.only.Write(p.t.Context(), &cdp.Message{ID: p.next, SessionID: target.SessionID(session), Method: cdproto.MethodType(method), Params: []byte(params)}); err != nil {
		p.t.Fatal(err)
	}
	return p.next
}

// receive returns the next message to browserd.
func (p *played) receive() *cdp.Message {
	p.t.Helper()
	got := make(chan *cdp.Message, 1) // one
	go func() { m := new(cdp.Message); p.only.Read(p.t.Context(), m); got <- m }()
	select {
	case m := <-got:
		return m
	case <-time.After(10 * time.Second):
		p.t.Fatal("nothing was received")
		return nil
	}
}

// expect returns the next command to Chromium, which has to be that one.
func (p *played) expect(method, has string) *cdp.Message {
	p.t.Helper()
	select {
	case m := <-p.c.sent:
		if string(m.Method) != method || !strings.Contains(string(m.Params), has) {
			p.t.Fatalf("Chromium was sent %s %s, want %s with %s", m.Method, m.Params, method, has)
		}
		return m
	case <-time.After(10 * time.Second):
		p.t.Fatalf("nothing was sent, want %s", method)
		return nil
	}
}

func (p *played) answers(method, has, result string) {
	p.t.Helper()
	p.c.says <- &cdp.Message{ID: p.expect(method, has).ID, Result: []byte(result)}
}

// lists asks for the tabs.
func (p *played) lists(tabs string) string {
	p.t.Helper()
	p.send("", listTabs, `{}`)
	p.answers("Target.getTargets", "page", `{"targetInfos":[`+tabs+`]}`)
	return string(p.receive().Result)
}

const bank = `{"targetId":"BANK","type":"page","title":"Bank","url":"https://bank.example/account?no=1"}`

// grants simulates a grant of the tab BANK up to the check of the tab.
func (p *played) grants(tabs, history, frame string) *cdp.Message {
	p.t.Helper()
	p.send("", grantTab, `{"targetId":"BANK","browserContextId":"attached-1"}`)
	p.answers("Target.getTargets", "page", `{"targetInfos":[`+tabs+`]}`)
	p.answers("Target.attachToTarget", "BANK", `{"sessionId":"B1"}`)
	p.answers("Page.getNavigationHistory", "", `{"entries":[`+history+`]}`)
	if frame != "" {
		p.answers("Page.getFrameTree", "", `{"frameTree":{"frame":{"id":"BANK","loaderId":"L","url":"`+frame+`"}}}`)
	}
	return p.receive()
}

// One of the person's own tabs is granted only after it was listed for them, and if it still shows what was
// listed. It is never closed, resized or raised, and tabs that it opens are not the session's.
func TestGrants(t *testing.T) {
	p := play(t)
	refused := func(what string, m *cdp.Message) {
		t.Helper()
		if m.ID != p.next || m.Error == nil {
			t.Errorf("%s: %s %s %+v", what, m.Method, m.Params, m)
		}
	}
	p.send("", grantTab, `{"targetId":"BANK","browserContextId":"attached-1"}`)
	refused("nobody was shown it", p.receive())
	list := p.lists(bank + `,{"targetId":"S","type":"page","title":"Settings","url":"chrome://settings"},{"targetId":"X","type":"page","title":"X","url":"chrome-extension://x/"},{"targetId":"F","type":"page","url":"file:///etc/passwd"},{"targetId":"W","type":"service_worker","url":"https://bank.example/sw.js"},{"targetId":"V","type":"page","url":"http://127.0.0.1:9333/view/ABCDEFGHIJKLMNOPQRSTUVWXYZ/"}`)
	if want := `{"tabs":[{"id":"BANK","title":"Bank","host":"bank.example"}]}`; list != want {
		t.Errorf("listed %s", list)
	}
	p.send("", grantTab, `{"targetId":"BANK","browserContextId":"P"}`)
	refused("to no session", p.receive())
	p.send("", grantTab, `{"targetId":"BANK","browserContextId":"attached-1"}`)
	p.answers("Target.getTargets", "page", `{"targetInfos":[`+bank+`,{"targetId":"O","type":"page","openerId":"BANK","canAccessOpener":true}]}`)
	refused("another one reaches it", p.receive())
	refused("it has shown the view", p.grants(bank, `{"url":"http://127.0.0.1:9333/view/ABCDEFGHIJKLMNOPQRSTUVWXYZ/"},{"url":"https://bank.example"}`, ""))
	p.expect("Target.detachFromTarget", "B1")
	refused("it shows another site by now", p.grants(bank, `{"url":"https://bank.example"}`, "https://mail.example/"))
	p.expect("Target.detachFromTarget", "B1")

	// Granted: browserd gets the events of the tab and its document, and none before.
	if m := p.grants(bank, `{"url":"https://bank.example"}`, "https://bank.example/2"); m.Method != "Target.attachedToTarget" || !strings.Contains(string(m.Params), `"browserContextId":"attached-1"`) {
		t.Fatalf("first %s %s", m.Method, m.Params)
	}
	if m := p.receive(); m.Method != "Page.frameNavigated" || m.SessionID != "B1" || !strings.Contains(string(m.Params), "https://bank.example/2") {
		t.Errorf("then %s %s", m.Method, m.Params)
	}
	if m := p.receive(); m.ID != p.next || m.Error != nil {
		t.Errorf("answered %+v", m)
	}
	for method, want := range map[string]bool{ // of commands that are answered here: whether as done
		"Page.close": false, "Page.crash": false, "Page.getCookies": false, "Network.clearBrowserCookies": false, "Target.closeTarget": false, "Browser.close": false, "Storage.getCookies": false,
		"Page.bringToFront": true, "Emulation.setDeviceMetricsOverride": true, "Emulation.setUserAgentOverride": true, "Emulation.setTimezoneOverride": true, "WebAuthn.enable": true,
	} {
		p.send("B1", method, `{}`)
		if m := p.receive(); m.ID != p.next || (m.Error == nil) != want {
			t.Errorf("%s: %+v", method, m)
		}
	}
	p.send("", "Target.activateTarget", `{"targetId":"BANK"}`)
	p.receive()
	if len(p.c.sent) > 0 {
		t.Fatalf("Chromium was sent %+v", <-p.c.sent)
	}
	p.send("B1", "Runtime.evaluate", `{"expression":"1"}`)
	p.expect("Runtime.evaluate", "")
	p.c.says <- &cdp.Message{Method: "Target.targetCreated", Params: []byte(`{"targetInfo":{"targetId":"POPUP","openerId":"BANK","type":"page","url":"https://bank.example/pay"}}`)}

	// The agent closes it, or the session ends: both end the grant.
	p.send("", "Target.closeTarget", `{"targetId":"BANK"}`)
	p.answers("Target.detachFromTarget", "B1", `{}`) // and nothing attached to the popup
	if m := p.receive(); m.ID != p.next || m.Error != nil {
		t.Errorf("closed: %+v", m)
	}
	p.c.says <- &cdp.Message{Method: "Target.detachedFromTarget", Params: []byte(`{"sessionId":"B1"}`)}
	if m := p.receive(); m.Method != "Target.detachedFromTarget" {
		t.Errorf("got %s", m.Method)
	}
	p.send("B1", "Runtime.evaluate", `{"expression":"1"}`)
	refused("after the grant ended", p.receive())
	p.lists(bank)
	p.grants(bank, `{"url":"https://bank.example"}`, "https://bank.example/2")
	p.receive()
	p.receive()
	if list := p.lists(bank); !strings.Contains(list, `"granted":"attached-1"`) {
		t.Errorf("listed %s", list)
	}
	p.send("", "Target.disposeBrowserContext", `{"browserContextId":"attached-1"}`)
	p.expect("Target.detachFromTarget", "B1")
	p.receive()

	// The grant of a tab that does not answer is revoked before it was made.
	p.c.says <- &cdp.Message{Method: "Target.detachedFromTarget", Params: []byte(`{"sessionId":"B1"}`)}
	p.receive()
	p.lists(bank)
	p.send("", grantTab, `{"targetId":"BANK","browserContextId":"attached-1"}`)
	asked := p.next
	p.answers("Target.getTargets", "page", `{"targetInfos":[`+bank+`]}`)
	p.answers("Target.attachToTarget", "BANK", `{"sessionId":"B2"}`)
	p.answers("Page.getNavigationHistory", "", `{"entries":[]}`)
	tree := p.expect("Page.getFrameTree", "")
	p.send("", revokeTab, `{"targetId":"BANK"}`)
	p.receive()
	p.c.says <- &cdp.Message{ID: tree.ID, Result: []byte(`{"frameTree":{"frame":{"id":"BANK","url":"https://bank.example/"}}}`)}
	p.expect("Target.detachFromTarget", "B2")
	if m := p.receive(); m.ID != asked || m.Error == nil {
		t.Errorf("granted late: %+v", m)
	}
	if len(p.c.sent) > 0 {
		t.Errorf("Chromium was sent more: %+v", <-p.c.sent)
	}
}
