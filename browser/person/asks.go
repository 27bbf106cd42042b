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

// Asks is what a page wants of the person and the picture does not show: to choose an option
// of a select, or files.
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

// choosing is a select that the person has opened: the document's own script knows which one
// (browser/script/js/person-choosing.js).
type choosing struct {
	s        *cdp.Session
	document runtime.ExecutionContextID // the world of that script
}

// maxAsks is how many questions wait for who is slow to hear them. More are left out.
const maxAsks = 4

// Asked takes what a document of the tab says when the person opens a select in it (script.Asks). s is
// the session of its frame. It never blocks.
func (m *People) Asked(tab, s *cdp.Session, document runtime.ExecutionContextID, said string) {
	m.mu.Lock()
	t := m.tabs[tab.ID()]
	m.mu.Unlock()
	var a Asks
	if t == nil || json.Unmarshal([]byte(said), &a) != nil || len(a.Options) == 0 {
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

// Asking calls heard with what the page wants of the person, until ctx ends.
func (t *Tab) Asking(ctx context.Context, heard func(Asks)) {
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
			heard(a)
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
			heard(Asks{Files: true, Multiple: e.Mode == "selectMultiple"})
		case <-ctx.Done():
			return
		}
	}
}

// Choose picks an option of the select that the person has opened last.
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

// SetFiles gives files, by their paths, to the input whose file chooser is open.
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
