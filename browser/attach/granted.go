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
	listTabs  = "Attach.tabs"
	grantTab  = "Attach.grant"
	revokeTab = "Attach.revoke"
)

// granting is which of the person's own tabs were granted. Guarded by transport.mu.
type granting struct {
	listed   map[target.ID]string           // hosts of the tabs that the person was shown last
	granted  map[target.ID]target.SessionID // also in transport.own
	sessions map[target.SessionID]target.ID // of granted tabs and their frames, by tab
	pending  map[target.ID]bool             // are being granted: false if the grant was revoked meanwhile
}

// PersonTab is one of the person's own tabs, as it is listed for them. Its address stays in their browser.
type PersonTab struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Host  string `json:"host"`
	// Granted is the browser context of the session that may use it; empty: none.
	Granted string `json:"granted,omitempty"`
}

// liveView matches the address of a live view: whoever controls that page can grant tabs.
var liveView = regexp.MustCompile(`^https?://[^/]+/view/[A-Z2-7]{20,}`)

// hostOf returns the host of an address whose tab may be listed and granted, or "" if it may not.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || liveView.MatchString(address) {
		return ""
	}
	return u.Host
}

// targetInfo is what is needed of Target.TargetInfo.
type targetInfo struct {
	TargetID  target.ID `json:"targetId"`
	Type      string    `json:"type"`
	Title     string    `json:"title"`
	URL       string    `json:"url"`
	OpenerID  target.ID `json:"openerId"`
	CanAccess bool      `json:"canAccessOpener"`
}

// withTabs asks Chromium for all its tabs and calls do with them. answer is the id of the command of Grants that
// fails if Chromium does not list them.
func (t *transport) withTabs(answer int64, do func(tabs []targetInfo)) error {
	return t.ask("", "Target.getTargets", map[string]any{"filter": []map[string]any{{"type": "page"}}}, func(m *cdp.Message) {
		var got struct {
			TargetInfos []targetInfo `json:"targetInfos"`
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

// list answers a command with the person's tabs.
func (t *transport) list(m *cdp.Message) error {
	return t.withTabs(m.ID, func(tabs []targetInfo) {
		list := []PersonTab{}
		t.mu.Lock()
		t.listed = map[target.ID]string{}
		for _, tab := range tabs {
			context, own := t.own[tab.TargetID]
			_, granted := t.granted[tab.TargetID]
			host := hostOf(tab.URL)
			if tab.Type != "page" || host == "" || own && !granted {
				continue
			}
			t.listed[tab.TargetID] = host
			list = append(list, PersonTab{ID: string(tab.TargetID), Title: tab.Title, Host: host, Granted: context})
		}
		t.mu.Unlock()
		if t.answer(m, map[string]any{"tabs": list}) != nil {
			t.failed(m.ID, "the list of tabs cannot be sent")
		}
	})
}

// grant adds a tab that the person was shown to a browser context. It attaches to the tab, checks that it still
// shows what they saw, and only then announces it to browserd.
func (t *transport) grant(m *cdp.Message, id target.ID, of string) error {
	t.mu.Lock()
	host, listed := t.listed[id]
	_, own := t.own[id]
	_, pending := t.pending[id]
	grantable := listed && !own && !pending && IsContext(of)
	if grantable {
		t.pending[id] = true
	}
	t.mu.Unlock()
	if !grantable {
		t.failed(m.ID, "there is no such tab to grant: look at the list again")
		return nil
	}
	refuse := func(why string) {
		t.mu.Lock()
		delete(t.pending, id)
		t.mu.Unlock()
		t.failed(m.ID, why)
	}
	return t.withTabs(m.ID, func(tabs []targetInfo) {
		if why := openerConflict(tabs, id); why != "" {
			refuse(why)
			return
		}
		t.askOrEnd("", "Target.attachToTarget", map[string]any{"targetId": id, "flatten": true}, func(got *cdp.Message) {
			var made struct {
				SessionID target.SessionID `json:"sessionId"`
			}
			if got.Error != nil || json.Unmarshal(got.Result, &made) != nil {
				refuse("the tab is gone")
				return
			}
			t.checkTab(made.SessionID, host, func(why string, tree frameTree) {
				t.mu.Lock()
				current := t.pending[id]
				delete(t.pending, id)
				if why == "" && current {
					t.own[id], t.sessions[made.SessionID] = of, of
					t.granted[id], t.granting.sessions[made.SessionID] = made.SessionID, id
				}
				t.mu.Unlock()
				if why == "" && !current {
					why = "the tab was taken back before it had answered"
				}
				if why != "" {
					t.askOrEnd("", "Target.detachFromTarget", map[string]any{"sessionId": made.SessionID}, func(*cdp.Message) {})
					t.failed(m.ID, why)
					return
				}
				t.announce(made.SessionID, id, of, tree)
				t.pass(&cdp.Message{ID: m.ID, Result: []byte(`{}`)})
			})
		})
	})
}

// askOrEnd is ask for callbacks, which cannot return an error: it ends the transport instead.
func (t *transport) askOrEnd(session target.SessionID, method cdproto.MethodType, params any, do func(m *cdp.Message)) {
	if err := t.ask(session, method, params, do); err != nil {
		t.end(err)
	}
}

// openerConflict returns why a tab cannot be granted: its scripts can reach another tab, or another tab's scripts
// this one. It returns "" if neither can.
func openerConflict(tabs []targetInfo, id target.ID) string {
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

// checkTab calls do with the tab's frame tree, or with why the tab behind the CDP session cannot be granted: it
// shows another site than the person saw, or has a live view in its history.
func (t *transport) checkTab(session target.SessionID, host string, do func(why string, tree frameTree)) {
	t.askOrEnd(session, "Page.getNavigationHistory", struct{}{}, func(m *cdp.Message) {
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
		t.askOrEnd(session, "Page.getFrameTree", struct{}{}, func(m *cdp.Message) {
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

// announce sends browserd the events of a new tab for one that was granted, and those of its documents, which
// exist already.
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

// event sends browserd an event that Chromium has not sent.
func (t *transport) event(session target.SessionID, method cdproto.MethodType, params any) {
	if b, err := json.Marshal(params); err == nil {
		t.pass(&cdp.Message{SessionID: session, Method: method, Params: b})
	}
}

// revoke ends the grant of a tab. Settings that were made over CDP end with it, and the tab stays open.
func (t *transport) revoke(m *cdp.Message, id target.ID) error {
	t.mu.Lock()
	if _, pending := t.pending[id]; pending {
		t.pending[id] = false
	}
	session, granted := t.granted[id]
	t.mu.Unlock()
	if !granted {
		return t.answer(m, struct{}{})
	}
	answer := m.ID
	return t.ask("", "Target.detachFromTarget", map[string]any{"sessionId": session}, func(*cdp.Message) {
		t.pass(&cdp.Message{ID: answer, Result: []byte(`{}`)})
	})
}

// forget removes a granted tab with its CDP session. The caller holds mu.
func (t *transport) forget(session target.SessionID) {
	id, ok := t.granting.sessions[session]
	if !ok {
		return
	}
	delete(t.granting.sessions, session)
	if t.granted[id] == session {
		delete(t.granted, id)
		delete(t.own, id)
	}
}

// How a command to one of the person's own tabs is handled.
const (
	sent    = iota
	ignored // answered with success: it would change what the person sees
	refused // it would close the tab
)

// grantedTabRule returns how a command to a granted tab is handled. The tab keeps its size, language and place
// among the others. Focus emulation is sent, since a tab behind others would not draw without it.
func grantedTabRule(method string) int {
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

// announceFrame sends browserd the Page.frameAttached of an out-of-process frame of a granted tab, before the
// frame's target is announced: Chromium sent it before browserd was attached.
func (t *transport) announceFrame(m *cdp.Message) {
	t.mu.Lock()
	tab, granted := t.granting.sessions[m.SessionID]
	t.mu.Unlock()
	var e struct {
		TargetInfo struct {
			TargetID      target.ID `json:"targetId"`
			Type          string    `json:"type"`
			URL           string    `json:"url"`
			ParentFrameID string    `json:"parentFrameId"`
		} `json:"targetInfo"`
	}
	if !granted || m.Method != "Target.attachedToTarget" || json.Unmarshal(m.Params, &e) != nil || e.TargetInfo.Type != "iframe" {
		return
	}
	parent := e.TargetInfo.ParentFrameID
	if parent == "" {
		parent = string(tab)
	}
	t.event(m.SessionID, "Page.frameAttached", map[string]any{"frameId": e.TargetInfo.TargetID, "parentFrameId": parent})
}
