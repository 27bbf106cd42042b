package attach

import (
	"encoding/json"
	"net/url"
	"regexp"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
)

// Commands of Grants that Only answers. There is no such domain in Chromium.
const (
	listTabs = "Attach.tabs"
	grantTab = "Attach.grant"
	takeBack = "Attach.takeBack"
)

// granting is which tabs of the person's own sessions were given. Guarded by transport.mu.
type granting struct {
	listed   map[target.ID]string           // hosts of the tabs that the person was shown last
	given    map[target.ID]target.SessionID // also in transport.own
	sessions map[target.SessionID]target.ID // of given tabs and their frames, by tab
	asked    map[target.ID]bool             // are being given: false if it was taken back meanwhile
}

// PersonTab is a tab of the person's own, as the person sees it in a list. Its address stays in their browser.
type PersonTab struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Host  string `json:"host"`
	// Granted is the browser context of the session that may use it; empty: none.
	Granted string `json:"granted,omitempty"`
}

// liveView is the address of a live view: who has that page can grant tabs.
var liveView = regexp.MustCompile(`^https?://[^/]+/view/[A-Z2-7]{20,}`)

// hostOf returns the host of an address that may be listed and given; empty: it may not.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || liveView.MatchString(address) {
		return ""
	}
	return u.Host
}

// opened is what is needed of Target.TargetInfo of any tab.
type opened struct {
	TargetID  target.ID `json:"targetId"`
	Type      string    `json:"type"`
	Title     string    `json:"title"`
	URL       string    `json:"url"`
	OpenerID  target.ID `json:"openerId"`
	CanAccess bool      `json:"canAccessOpener"`
}

// tabsThen asks Chromium for all its tabs.
func (t *transport) tabsThen(answer int64, do func(tabs []opened)) error {
	return t.ask("", "Target.getTargets", map[string]any{"filter": []map[string]any{{"type": "page"}}}, func(m *cdp.Message) {
		var got struct {
			TargetInfos []opened `json:"targetInfos"`
		}
		if m.Error != nil || json.Unmarshal(m.Result, &got) != nil {
			t.failed(answer, "the browser does not list its tabs")
			return
		}
		do(got.TargetInfos)
	})
}

// failed answers a command of Grants with an error. It does not wait for Read.
func (t *transport) failed(answer int64, why string) {
	go t.pass(&cdp.Message{ID: answer, Error: &cdp.Error{Code: -32000, Message: why}})
}

// list answers with the person's tabs.
func (t *transport) list(m *cdp.Message) error {
	return t.tabsThen(m.ID, func(tabs []opened) {
		list := []PersonTab{}
		t.mu.Lock()
		t.listed = map[target.ID]string{}
		for _, tab := range tabs {
			context, own := t.own[tab.TargetID]
			_, given := t.given[tab.TargetID]
			host := hostOf(tab.URL)
			if tab.Type != "page" || host == "" || own && !given {
				continue
			}
			t.listed[tab.TargetID] = host
			list = append(list, PersonTab{ID: string(tab.TargetID), Title: tab.Title, Host: host, Granted: context})
		}
		t.mu.Unlock()
		if t.answer(m, map[string]any{"tabs": list}) != nil {
			t.failed(m.ID, "the list of tabs is none")
		}
	})
}

// grant gives a tab that the person was shown to a context: attaches to it, looks whether it is the one that
// they saw, and only then has browserd told of it.
func (t *transport) grant(m *cdp.Message, id target.ID, of string) error {
	t.mu.Lock()
	host, listed := t.listed[id]
	_, own := t.own[id]
	_, asked := t.asked[id]
	free := listed && !own && !asked && IsContext(of)
	if free {
		t.asked[id] = true
	}
	t.mu.Unlock()
	if !free {
		t.failed(m.ID, "there is no such tab to grant: look at the list again")
		return nil
	}
	refuse := func(why string) {
		t.mu.Lock()
		delete(t.asked, id)
		t.mu.Unlock()
		t.failed(m.ID, why)
	}
	return t.tabsThen(m.ID, func(tabs []opened) {
		if why := reached(tabs, id); why != "" {
			refuse(why)
			return
		}
		t.then("", "Target.attachToTarget", map[string]any{"targetId": id, "flatten": true}, func(got *cdp.Message) {
			var made struct {
				SessionID target.SessionID `json:"sessionId"`
			}
			if got.Error != nil || json.Unmarshal(got.Result, &made) != nil {
				refuse("the tab is gone")
				return
			}
			t.look(made.SessionID, host, func(why string, tree frameTree) {
				t.mu.Lock()
				wanted := t.asked[id]
				delete(t.asked, id)
				if why == "" && wanted {
					t.own[id], t.sessions[made.SessionID] = of, of
					t.given[id], t.granting.sessions[made.SessionID] = made.SessionID, id
				}
				t.mu.Unlock()
				if why == "" && !wanted {
					why = "the tab was taken back before it had answered"
				}
				if why != "" {
					t.then("", "Target.detachFromTarget", map[string]any{"sessionId": made.SessionID}, func(*cdp.Message) {})
					t.failed(m.ID, why)
					return
				}
				t.announce(made.SessionID, id, of, tree)
				t.pass(&cdp.Message{ID: m.ID, Result: []byte(`{}`)})
			})
		})
	})
}

// then is ask of a goroutine that receives; where nothing can be sent any more the transport ends.
func (t *transport) then(session target.SessionID, method cdproto.MethodType, params any, do func(m *cdp.Message)) {
	if err := t.ask(session, method, params, do); err != nil {
		t.end(err)
	}
}

// reached says why a tab cannot be given: scripts in it could reach another tab, or those of another one it.
func reached(tabs []opened, id target.ID) string {
	there := false
	for _, tab := range tabs {
		there = there || tab.TargetID == id
		if tab.CanAccess && (tab.TargetID == id || tab.OpenerID == id) {
			return "the tab and another one can reach each other, since one has opened the other (window.opener): open the page in a new tab, and grant that"
		}
	}
	if !there {
		return "the tab is gone"
	}
	return ""
}

// frameTree is what is needed of Page.FrameTree.
type frameTree struct {
	Frame struct {
		ID       string `json:"id"`
		ParentID string `json:"parentId,omitempty"`
		LoaderID string `json:"loaderId"`
		URL      string `json:"url"`
		Fragment string `json:"urlFragment,omitempty"`
		Failed   string `json:"unreachableUrl,omitempty"`
	} `json:"frame"`
	Children []frameTree `json:"childFrames"`
}

// look says why the tab behind a CDP session is not given: it shows another site than the person saw, or back
// in its history is a live view.
func (t *transport) look(session target.SessionID, host string, do func(why string, tree frameTree)) {
	t.then(session, "Page.getNavigationHistory", struct{}{}, func(m *cdp.Message) {
		var history struct {
			Entries []struct {
				URL string `json:"url"`
			} `json:"entries"`
		}
		if m.Error != nil || json.Unmarshal(m.Result, &history) != nil {
			do("the tab is gone", frameTree{})
			return
		}
		for _, e := range history.Entries {
			if liveView.MatchString(e.URL) {
				do("the tab has shown the live view, and can go back to it: open the page in a new tab, and grant that", frameTree{})
				return
			}
		}
		t.then(session, "Page.getFrameTree", struct{}{}, func(m *cdp.Message) {
			var got struct {
				FrameTree frameTree `json:"frameTree"`
			}
			switch {
			case m.Error != nil || json.Unmarshal(m.Result, &got) != nil:
				do("the tab is gone", frameTree{})
			case hostOf(got.FrameTree.Frame.URL) != host:
				do("the tab shows another site by now: look at the list again", frameTree{})
			default:
				do("", got.FrameTree)
			}
		})
	})
}

// announce tells browserd of a tab that was given, as Chromium does of a new one, and of its documents, which
// are there already.
func (t *transport) announce(session target.SessionID, id target.ID, of string, tree frameTree) {
	t.event("", "Target.attachedToTarget", map[string]any{"sessionId": session, "waitingForDebugger": false,
		"targetInfo": map[string]any{"targetId": id, "type": "page", "title": "", "url": tree.Frame.URL, "attached": true, "browserContextId": of}})
	var frames func(tree frameTree)
	frames = func(tree frameTree) {
		if tree.Frame.ParentID != "" {
			t.event(session, "Page.frameAttached", map[string]any{"frameId": tree.Frame.ID, "parentFrameId": tree.Frame.ParentID})
		}
		t.event(session, "Page.frameNavigated", map[string]any{"frame": tree.Frame})
		for _, child := range tree.Children {
			frames(child)
		}
	}
	frames(tree)
}

// event tells browserd an event that Chromium has not sent.
func (t *transport) event(session target.SessionID, method cdproto.MethodType, params any) {
	if b, err := json.Marshal(params); err == nil {
		t.pass(&cdp.Message{SessionID: session, Method: method, Params: b})
	}
}

// takeBack takes a tab from its session. What was set in it by CDP ends with that, and it stays open.
func (t *transport) takeBack(m *cdp.Message, id target.ID) error {
	t.mu.Lock()
	if _, asked := t.asked[id]; asked {
		t.asked[id] = false
	}
	session, given := t.given[id]
	t.mu.Unlock()
	if !given {
		return t.answer(m, struct{}{})
	}
	answer := m.ID
	return t.ask("", "Target.detachFromTarget", map[string]any{"sessionId": session}, func(*cdp.Message) {
		t.pass(&cdp.Message{ID: answer, Result: []byte(`{}`)})
	})
}

// forget forgets a given tab with its CDP session. The caller holds mu.
func (t *transport) forget(session target.SessionID) {
	id, ok := t.granting.sessions[session]
	if !ok {
		return
	}
	delete(t.granting.sessions, session)
	if t.given[id] == session {
		delete(t.given, id)
		delete(t.own, id)
	}
}

// What becomes of commands on a tab of the person's own.
const (
	sent    = iota
	ignored // answered as done: it would change what the person sees
	refused // it would close the tab
)

// ofAGivenTab says what becomes of a command to a tab that was given. The tab keeps its size, language and
// place among the others; to draw while it is behind them it is emulated to have the focus.
func ofAGivenTab(method string) int {
	switch method {
	case "Emulation.setFocusEmulationEnabled":
		return sent
	case "Page.bringToFront", "Emulation.setDeviceMetricsOverride", "Emulation.clearDeviceMetricsOverride", "Emulation.setTouchEmulationEnabled", "Emulation.setTimezoneOverride",
		"Emulation.setLocaleOverride", "Emulation.setUserAgentOverride", "Emulation.setEmulatedMedia", "Emulation.setGeolocationOverride", "Network.setUserAgentOverride", "WebAuthn.enable":
		return ignored
	case "Page.close", "Page.crash", "Page.setWebLifecycleState":
		return refused
	}
	return sent
}

// child tells browserd, before it is told of an out-of-process frame of a given tab, that there is one: it has
// missed its beginning.
func (t *transport) child(m *cdp.Message) {
	t.mu.Lock()
	tab, given := t.granting.sessions[m.SessionID]
	t.mu.Unlock()
	var e struct {
		TargetInfo struct {
			TargetID      target.ID `json:"targetId"`
			Type          string    `json:"type"`
			URL           string    `json:"url"`
			ParentFrameID string    `json:"parentFrameId"`
		} `json:"targetInfo"`
	}
	if !given || m.Method != "Target.attachedToTarget" || json.Unmarshal(m.Params, &e) != nil || e.TargetInfo.Type != "iframe" {
		return
	}
	parent := e.TargetInfo.ParentFrameID
	if parent == "" {
		parent = string(tab)
	}
	t.event(m.SessionID, "Page.frameAttached", map[string]any{"frameId": e.TargetInfo.TargetID, "parentFrameId": parent})
}
