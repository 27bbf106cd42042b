package person

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Asks is a choice that a page needs of the person and that the screencast does not show: an
// option of a select, or files.
type Asks struct {
	Options  []Option `json:"options,omitempty"`
	Multiple bool     `json:"multiple,omitempty"`
	Files    bool     `json:"files,omitempty"`
}

// Option is an option of a select.
type Option struct {
	Text     string `json:"text"`
	Group    string `json:"group,omitempty"`
	Selected bool   `json:"selected,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
}

// choosing is a select that the person has opened. The page script of the document knows
// which one (browser/script/js/person-choosing.js).
type choosing struct {
	s        *cdp.Session
	document runtime.ExecutionContextID // the isolated world of that script
}

// maxAsks is how many Asks wait for a slow caller of Asking. Further ones are dropped.
const maxAsks = 4

// Asked handles the call of the binding script.Asks: the person has opened a select in a document
// of the tab. s is the CDP session of its frame, payload the binding's. It never blocks.
func (m *People) Asked(tab, s *cdp.Session, document runtime.ExecutionContextID, payload string) {
	m.mu.Lock()
	t := m.tabs[tab.ID()]
	m.mu.Unlock()
	var a Asks
	if t == nil || json.Unmarshal([]byte(payload), &a) != nil || len(a.Options) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.choosing = &choosing{s, document}
	for asking := range t.asking {
		select {
		case asking <- a:
		default:
		}
	}
}

// Asking calls notify with each choice that the page needs of the person, until ctx ends.
func (t *Tab) Asking(ctx context.Context, notify func(Asks)) {
	asks := make(chan Asks, maxAsks)
	t.mu.Lock()
	t.asking[asks] = true
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.asking, asks)
	}()
	choosers, stop := t.s.Subscribe("Page.fileChooserOpened")
	defer stop()
	for {
		select {
		case a := <-asks:
			notify(a)
		case raw, open := <-choosers:
			var e struct {
				Mode          string `json:"mode"`
				BackendNodeID int64  `json:"backendNodeId"`
			}
			if !open {
				return
			}
			if json.Unmarshal(raw, &e) != nil || e.BackendNodeID == 0 {
				continue
			}
			t.mu.Lock()
			t.chooser = e.BackendNodeID
			t.mu.Unlock()
			notify(Asks{Files: true, Multiple: e.Mode == "selectMultiple"})
		case <-ctx.Done():
			return
		}
	}
}

// Choose selects an option of the select that the person has opened last.
func (t *Tab) Choose(ctx context.Context, option int) error {
	ctx, cancel := context.WithTimeout(ctx, chooseWait)
	defer cancel()
	t.mu.Lock()
	c := t.choosing
	t.mu.Unlock()
	if c == nil {
		return protocol.Errorf(protocol.InvalidParams, "input: no select waits for a choice")
	}
	return c.s.Send(runtime.Evaluate.Method, map[string]any{
		"expression": fmt.Sprintf("__bd.now().personChooses(%d)", option), "contextId": c.document,
	}).WaitWithin(ctx, t.life, nil)
}

// SetFiles sets the files, by their paths, of the input whose file chooser is open.
func (t *Tab) SetFiles(ctx context.Context, paths []string) error {
	t.mu.Lock()
	node := t.chooser
	t.chooser = 0
	t.mu.Unlock()
	if node == 0 {
		return protocol.Errorf(protocol.InvalidParams, "no file chooser is open")
	}
	return t.s.Send(dom.SetFileInputFiles.Method, map[string]any{"files": paths, "backendNodeId": node}).WaitWithin(ctx, t.life, nil)
}
