package person

import (
	"context"
	"encoding/json"

	"github.com/chromedp/cdproto/dom"

	"github.com/browserd/browserd/protocol"
)

// Asking calls heard with each file chooser that the page opens, until ctx ends.
func (t *Tab) Asking(ctx context.Context, heard func(Asks)) {
	events, stop := t.s.Subscribe("Page.fileChooserOpened")
	defer stop()
	for {
		select {
		case raw, open := <-events:
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
