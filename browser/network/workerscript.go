package network

import (
	"context"
	"encoding/json"
	"sync"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/fetch"

	"github.com/browserd/browserd/browser/cdp"
)

// WorkerScripts hold the script of a shared worker back, on its way to Chromium, until the
// worker's own CDP session pauses its requests. Chromium gives a shared worker its loaders
// when the script has arrived, and for as long as the worker lives: Fetch.enable that
// comes later pauses nothing (crbug.com/1143100), and the target's waiting for a debugger
// does not keep the script from arriving. Requests are paused for it only while a browser
// context has routes or headers, and only those of type Other, which scripts of shared workers
// are. Any goroutine may call its methods.
type WorkerScripts struct {
	root *cdp.Session // the browser's

	holding sync.Mutex           // held while Chromium is told, which the reader must not wait for
	wanted  map[*Routes]struct{} // those that pause requests; guarded by holding

	mu        sync.Mutex
	beginning map[chan struct{}]struct{} // of each shared worker whose requests are not paused yet; closed when they are
}

// NewWorkerScripts returns those of a browser, by its own CDP session. Its
// Fetch.requestPaused events are for [WorkerScripts.Paused].
func NewWorkerScripts(root *cdp.Session) *WorkerScripts {
	return &WorkerScripts{root: root, wanted: map[*Routes]struct{}{}, beginning: map[chan struct{}]struct{}{}}
}

// hold has scripts held back while r wants it, and returns what to wait for; nil: nothing.
func (w *WorkerScripts) hold(r *Routes, wanted bool) *cdp.Pending {
	w.holding.Lock()
	defer w.holding.Unlock()
	before := len(w.wanted)
	if delete(w.wanted, r); wanted && !r.ended {
		w.wanted[r] = struct{}{}
	}
	switch after := len(w.wanted); {
	case before == 0 && after > 0:
		return w.root.Send(fetch.Enable.Method, map[string]any{"patterns": []map[string]any{{"resourceType": "Other"}}})
	case before > 0 && after == 0:
		return w.root.Send(fetch.Disable.Method, cdproto.Empty{})
	}
	return nil
}

// End is for the routes of a browser context that has ended: for those no script is held back any more.
func (w *WorkerScripts) End(r *Routes) {
	w.holding.Lock()
	r.ended = true
	w.holding.Unlock()
	w.hold(r, false)
}

// Begin sets up a shared worker that has been attached to, on a goroutine of its own, since a full
// pipe must never hold the reader. Scripts are held back until what setUp sends to pause the worker's requests
// is answered, or life ends.
func (w *WorkerScripts) Begin(life context.Context, setUp func() []*cdp.Pending) {
	paused := make(chan struct{})
	w.mu.Lock()
	w.beginning[paused] = struct{}{}
	w.mu.Unlock()
	go func() {
		for _, p := range setUp() {
			p.Wait(life, nil)
		}
		w.mu.Lock()
		delete(w.beginning, paused)
		w.mu.Unlock()
		close(paused)
	}()
}

// Paused lets a request go on when the requests of all shared workers that have begun are
// paused. Chromium attaches to a worker before it asks for its script. The reader
// goroutine may call it.
func (w *WorkerScripts) Paused(params jsonv2.Value) {
	var e PausedRequest
	if json.Unmarshal(params, &e) != nil {
		return
	}
	w.mu.Lock()
	var beginning []chan struct{}
	for c := range w.beginning {
		beginning = append(beginning, c)
	}
	w.mu.Unlock()
	go func() {
		for _, c := range beginning {
			<-c
		}
		w.root.Send(fetch.ContinueRequest.Method, fetch.ContinueRequestParams{RequestID: e.RequestID})
	}()
}
