// Package recovery ends the scripts that hold a page, so that it answers again.
package recovery

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/browserd/browserd/browser/cdp"
)

// Page is the page of a tab, as its tab knows it.
type Page struct {
	Session *cdp.Session
	Life    context.Context // ends with the tab; its cause says why
	// Wait waits for an answer while the tab lives.
	Wait func(ctx context.Context, p *cdp.Pending, result any) error
	// Replace puts another tab in the place of this one, whose page does not answer.
	Replace func()
}

// Recovery is what is known of a page that may not answer. Any goroutine may use it.
type Recovery struct {
	page    Page
	mu      sync.Mutex // guards suspect; nothing is called while it is held
	suspect bool       // a call to the page did not answer in time
}

// New returns the recovery of a page.
func New(page Page) *Recovery { return &Recovery{page: page} }

// Suspect reports whether a call to the page did not answer in time since Free was called.
func (r *Recovery) Suspect() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.suspect
}

// Notice looks at an error with which a call to the page ended: where the
// command's time was over, the page may be held by a script.
func (r *Recovery) Notice(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.suspect = true
}

// leaveWait is how long a page may hold up a navigation away from it before its
// scripts are ended.
const leaveWait = 2 * time.Second

// Unhold ends, every leaveWait until stop is called, the script that runs in the
// page (Runtime.terminateExecution): a loop in beforeunload or pagehide would
// keep the tab where it is forever, since Chromium waits for a page that is
// inspected.
func (r *Recovery) Unhold() (stop func()) {
	ended := make(chan struct{})
	go func() {
		every := time.NewTicker(leaveWait)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				r.page.Session.Send("Runtime.terminateExecution", struct{}{})
			case <-ended:
				return
			case <-r.page.Life.Done():
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(ended) })
}

// How long a page that is held by a script is waited for.
const (
	pulseWait = 300 * time.Millisecond
	freeWait  = 2 * time.Second
)

// Free makes sure that the page answers: a script that holds it is ended
// (Runtime.terminateExecution), and where that does not help the tab is
// replaced.
func (r *Recovery) Free(ctx context.Context) error {
	p := r.page
	pulse := func(limit time.Duration) bool {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return p.Wait(limited, p.Session.Send("Runtime.evaluate", map[string]any{"expression": "1", "returnByValue": true}), nil) == nil
	}
	// A navigation that is under way holds back the answers to everything else.
	p.Session.Send("Page.stopLoading", struct{}{})
	ok := pulse(pulseWait)
	if !ok {
		p.Session.Send("Runtime.terminateExecution", struct{}{})
		ok = pulse(freeWait)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.Life.Err() != nil {
		return context.Cause(p.Life)
	}
	r.mu.Lock()
	r.suspect = false
	r.mu.Unlock()
	if ok {
		return nil
	}
	p.Replace()
	return context.Cause(p.Life)
}
