package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
)

// prefix begins the ids of the browser contexts that exist for browserd only.
const prefix = "attached-"

// IsContext reports whether a browser context is one of Only's: the profile behind it is a person's.
func IsContext(id string) bool { return strings.HasPrefix(id, prefix) }

// firstID is the id before the first of Only's own commands, far above the ids of a connection, which counts
// from 1.
const firstID = 1_500_000_000

// transport is what Only returns. Read and Write may be called by one goroutine each.
type transport struct {
	inner cdp.Transport
	out   chan *cdp.Message // unbuffered; to Read
	ended chan struct{}     // closed when inner has ended, or by Close
	once  sync.Once
	err   error // why it has ended; written before ended is closed

	writing sync.Mutex // held while inner is written to

	mu       sync.Mutex
	contexts int
	next     int64
	own      map[target.ID]string           // browserd's own tabs, with their contexts
	sessions map[target.SessionID]string    // CDP sessions of own tabs and their frames, with their contexts
	waiting  map[int64]func(m *cdp.Message) // what handles the answers to Only's own commands
	granting
}

// Only returns a transport to a person's Chromium that sends and receives only what concerns browserd's own
// tabs. Close ends both.
func Only(inner cdp.Transport) cdp.Transport {
	t := &transport{
		inner: inner, out: make(chan *cdp.Message), ended: make(chan struct{}), next: firstID,
		own: map[target.ID]string{}, sessions: map[target.SessionID]string{}, waiting: map[int64]func(*cdp.Message){},
		granting: granting{granted: map[target.ID]target.SessionID{}, sessions: map[target.SessionID]target.ID{}, pending: map[target.ID]bool{}},
	}
	go t.receive()
	return t
}

// Close ends the transport. Tabs that were opened stay open: their owner closes them before.
func (t *transport) Close() error {
	t.end(io.EOF)
	return t.inner.Close()
}

func (t *transport) end(err error) {
	t.once.Do(func() {
		t.err = err
		close(t.ended)
	})
}

// Read returns the next message for browserd.
func (t *transport) Read(_ context.Context, m *cdp.Message) error {
	select {
	case got := <-t.out:
		*m = *got
		return nil
	case <-t.ended:
		return t.err
	}
}

// pass hands a message to Read.
func (t *transport) pass(m *cdp.Message) {
	select {
	case t.out <- m:
	case <-t.ended:
	}
}

// answer answers a command without asking Chromium. It does not wait for Read.
func (t *transport) answer(m *cdp.Message, result any) error {
	b, err := json.Marshal(result)
	if err != nil {
		return err
	}
	go t.pass(&cdp.Message{ID: m.ID, SessionID: m.SessionID, Result: b})
	return nil
}

// refuse answers a command with an error.
func (t *transport) refuse(m *cdp.Message) error {
	go t.pass(&cdp.Message{ID: m.ID, SessionID: m.SessionID, Error: &cdp.Error{Code: -32000, Message: string(m.Method) + " is not for a person's own Chromium"}})
	return nil
}

func (t *transport) send(m *cdp.Message) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	return t.inner.Write(context.Background(), m)
}

// ask sends a command of Only's own, to the browser or to one of its CDP sessions. do is called with the answer,
// on the goroutine of receive.
func (t *transport) ask(session target.SessionID, method cdproto.MethodType, params any, do func(m *cdp.Message)) error {
	b, err := json.Marshal(params)
	if err != nil {
		return err
	}
	m := &cdp.Message{SessionID: session, Method: method, Params: b}
	t.mu.Lock()
	t.next++
	m.ID = t.next
	t.waiting[m.ID] = do
	t.mu.Unlock()
	return t.send(m)
}

// Write sends a command, or answers it, if it concerns a tab of browserd's own alone.
func (t *transport) Write(_ context.Context, m *cdp.Message) error {
	if m.SessionID == "" {
		return t.root(m)
	}
	t.mu.Lock()
	own, rule := t.sessions[m.SessionID] != "", sent
	if _, granted := t.granting.sessions[m.SessionID]; granted {
		rule = grantedTabRule(string(m.Method))
	}
	t.mu.Unlock()
	switch {
	case !own || !isTabScoped(string(m.Method)) || rule == refused:
		return t.refuse(m)
	case rule == ignored:
		return t.answer(m, struct{}{})
	}
	return t.send(m)
}

// isTabScoped reports whether a command sent to a tab affects that tab alone, not what the profile
// stores or the whole browser.
func isTabScoped(method string) bool {
	domain, name, _ := strings.Cut(method, ".")
	switch domain {
	case "Browser", "Storage", "SystemInfo", "Tracing", "Extensions", "Memory", "DeviceAccess", "Autofill", "FedCm", "PWA", "ServiceWorker", "CacheStorage", "IndexedDB", "Cast":
		return false
	case "Target":
		return name == "setAutoAttach"
	case "Network":
		return !strings.Contains(strings.ToLower(name), "cookie") && name != "clearBrowserCache" && name != "loadNetworkResource"
	case "Page":
		return name != "setDownloadBehavior" && name != "getCookies" && name != "deleteCookie"
	}
	return true
}

// root handles a command to the whole browser. It sends it if it is about one of browserd's own tabs, and
// answers it itself if it would change something for the person too.
func (t *transport) root(m *cdp.Message) error {
	var p struct {
		TargetID         target.ID `json:"targetId"`
		BrowserContextID string    `json:"browserContextId"`
		Permissions      []string  `json:"permissions"`
		Behavior         string    `json:"behavior"`
	}
	if len(m.Params) > 0 && json.Unmarshal(m.Params, &p) != nil {
		return t.refuse(m)
	}
	switch m.Method {
	case "Browser.getVersion":
		return t.send(m)
	case "Target.setDiscoverTargets": // for the popups of own tabs, and for own tabs that crash
		return t.send(m)
	case "Target.setAutoAttach": // it would attach to the person's tabs
		return t.answer(m, struct{}{})
	case "Target.createBrowserContext":
		t.mu.Lock()
		t.contexts++
		id := fmt.Sprint(prefix, t.contexts)
		t.mu.Unlock()
		return t.answer(m, map[string]string{"browserContextId": id})
	case "Target.disposeBrowserContext":
		return t.dispose(m, p.BrowserContextID)
	case "Target.createTarget":
		if IsContext(p.BrowserContextID) {
			return t.create(m, p.BrowserContextID)
		}
	case listTabs:
		return t.list(m)
	case grantTab:
		return t.grant(m, p.TargetID, p.BrowserContextID)
	case revokeTab:
		return t.revoke(m, p.TargetID)
	case "Target.closeTarget", "Target.activateTarget", "Target.getTargetInfo":
		t.mu.Lock()
		_, own := t.own[p.TargetID]
		_, granted := t.granted[p.TargetID]
		t.mu.Unlock()
		switch {
		case granted && m.Method == "Target.closeTarget":
			return t.revoke(m, p.TargetID)
		case granted && m.Method == "Target.activateTarget":
			return t.answer(m, struct{}{})
		case own:
			return t.send(m)
		}
	case "Browser.grantPermissions", "Browser.resetPermissions": // the person's answers hold
		if len(p.Permissions) == 0 {
			return t.answer(m, struct{}{})
		}
	case "Browser.setDownloadBehavior": // the person's settings hold
		if p.Behavior == "deny" {
			return t.answer(m, struct{}{})
		}
	}
	return t.refuse(m)
}

// create opens a tab in a window of its own, attaches to it, and answers after browserd got the event for it.
func (t *transport) create(m *cdp.Message, of string) error {
	id := m.ID
	return t.ask("", "Target.createTarget", map[string]any{"url": "about:blank", "newWindow": true}, func(got *cdp.Message) {
		var made target.CreateTargetResult
		if got.Error != nil || json.Unmarshal(got.Result, &made) != nil {
			t.pass(&cdp.Message{ID: id, Result: got.Result, Error: got.Error})
			return
		}
		t.attach(made.TargetID, of, func(failed *cdp.Error) {
			t.pass(&cdp.Message{ID: id, Result: got.Result, Error: failed})
		})
	})
}

// attach makes a target one of browserd's own tabs, and calls done when Chromium has attached it.
func (t *transport) attach(id target.ID, of string, done func(failed *cdp.Error)) {
	t.mu.Lock()
	t.own[id] = of
	t.mu.Unlock()
	if err := t.ask("", "Target.attachToTarget", map[string]any{"targetId": id, "flatten": true}, func(m *cdp.Message) {
		done(m.Error)
	}); err != nil {
		t.end(err)
	}
}

// dispose closes the tabs of a context. It only detaches from tabs that the person granted.
func (t *transport) dispose(m *cdp.Message, of string) error {
	t.mu.Lock()
	var list []target.ID
	for id, context := range t.own {
		if context == of {
			list = append(list, id)
		}
	}
	granted := maps.Clone(t.granted)
	t.mu.Unlock()
	for _, id := range list {
		method, params := cdproto.MethodType("Target.closeTarget"), map[string]any{"targetId": id}
		if session, ok := granted[id]; ok {
			method, params = "Target.detachFromTarget", map[string]any{"sessionId": session}
		}
		if err := t.ask("", method, params, func(*cdp.Message) {}); err != nil {
			return err
		}
	}
	return t.answer(m, struct{}{})
}

// receive passes on what concerns browserd's own tabs, until the transport ends.
func (t *transport) receive() {
	for {
		m := new(cdp.Message)
		if err := t.inner.Read(context.Background(), m); err != nil {
			t.end(err)
			return
		}
		if m.ID != 0 {
			t.mu.Lock()
			do := t.waiting[m.ID]
			delete(t.waiting, m.ID)
			t.mu.Unlock()
			if do != nil {
				do(m)
			} else {
				t.pass(m)
			}
			continue
		}
		if t.filterEvent(m) {
			t.announceFrame(m)
			t.pass(m)
		}
	}
}

// filterEvent reports whether an event concerns one of browserd's own tabs, and updates the lists of own tabs
// and their CDP sessions.
func (t *transport) filterEvent(m *cdp.Message) bool {
	var e struct {
		SessionID  target.SessionID `json:"sessionId"`
		TargetID   target.ID        `json:"targetId"`
		TargetInfo struct {
			TargetID target.ID `json:"targetId"`
			OpenerID target.ID `json:"openerId"`
			Type     string    `json:"type"`
		} `json:"targetInfo"`
	}
	if strings.HasPrefix(string(m.Method), "Target.") && json.Unmarshal(m.Params, &e) != nil {
		return false
	}
	t.mu.Lock()
	contextID := t.sessions[m.SessionID]
	ownSession := contextID != ""
	of, ownTarget := t.own[e.TargetInfo.TargetID]
	from, ownOpener := t.own[e.TargetInfo.OpenerID]
	_, own := t.own[e.TargetID]
	if _, granted := t.granted[e.TargetInfo.OpenerID]; granted {
		ownOpener = false // a tab that one of the person's own tabs opens is the person's
	}
	tab, inGranted := t.granting.sessions[m.SessionID]
	switch m.Method {
	case "Target.attachedToTarget":
		if ownSession {
			t.sessions[e.SessionID] = contextID
			if inGranted {
				t.granting.sessions[e.SessionID] = tab
			}
		} else if m.SessionID == "" && ownTarget {
			t.sessions[e.SessionID] = of
		}
	case "Target.detachedFromTarget":
		own = t.sessions[e.SessionID] != ""
		delete(t.sessions, e.SessionID)
		t.forget(e.SessionID)
	case "Target.targetDestroyed":
		delete(t.own, e.TargetID)
		delete(t.granted, e.TargetID)
	}
	t.mu.Unlock()
	if m.SessionID != "" {
		return ownSession
	}
	switch m.Method {
	case "Target.attachedToTarget":
		return ownTarget && t.setContext(m, of)
	case "Target.targetCreated": // a window that an own page opened is one of the own tabs
		if ownOpener && !ownTarget && e.TargetInfo.Type == "page" {
			t.attach(e.TargetInfo.TargetID, from, func(*cdp.Error) {})
		}
		return false
	case "Target.detachedFromTarget", "Target.targetCrashed":
		return own
	}
	return false
}

// setContext replaces the browser context in a Target.attachedToTarget by that of the session.
func (t *transport) setContext(m *cdp.Message, of string) bool {
	var e map[string]any
	if json.Unmarshal(m.Params, &e) != nil {
		return false
	}
	info, _ := e["targetInfo"].(map[string]any)
	if info == nil {
		return false
	}
	info["browserContextId"] = of
	b, err := json.Marshal(e)
	m.Params = b
	return err == nil
}
