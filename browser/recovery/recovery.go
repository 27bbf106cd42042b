// Package recovery ends the scripts that block a page, so that it answers again.
package recovery

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/browserd/browserd/browser/cdp"
)

// Page is what a Recovery needs of a tab.
type Page struct {
	Session *cdp.Session
	Life    context.Context // ends with the tab; its cause is the reason
	// Wait waits for an answer, at most until the tab ends.
	Wait func(ctx context.Context, p *cdp.Pending, result any) error
	// Replace replaces the tab, whose page does not answer, by a new one.
	Replace func()
}

// Recovery watches a page that may stop answering. Any goroutine may use it.
type Recovery struct {
	page    Page
	mu      sync.Mutex // guards suspect; nothing is called while it is held
	suspect bool       // a call to the page did not answer in time
}

// New returns the Recovery of a page.
func New(page Page) *Recovery { return &Recovery{page: page} }

// Suspect reports whether a call to the page timed out since the last EnsureResponsive.
func (r *Recovery) Suspect() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.suspect
}

// Notice records the error of a call to the page: after a timeout a script may be blocking
// the page.
func (r *Recovery) Notice(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.suspect = true
}

// unloadTimeout is how long a page may delay a navigation away from it before its script
// is ended.
const unloadTimeout = 2 * time.Second

// TerminateScripts ends the script that runs in the page (Runtime.terminateExecution),
// every unloadTimeout until stop is called. Without it a loop in beforeunload or pagehide
// would block the navigation forever, since Chromium waits for a page that is inspected.
func (r *Recovery) TerminateScripts() (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		every := time.NewTicker(unloadTimeout)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				select {
				case <-ended: // both have come
					return
				default:
				}
				r.page.Session.Send("Runtime.terminateExecution", struct{}{})
			case <-ended:
				return
			case <-r.page.Life.Done():
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(ended)
		<-done // what is sent later would end a script of the next page
	})
}

// How long a page that a script blocks may take to answer, before and after the script is ended.
const (
	pingTimeout      = 300 * time.Millisecond
	terminateTimeout = 2 * time.Second
)

// EnsureResponsive makes sure that the page answers. If it does not, it ends the script that
// runs there (Runtime.terminateExecution); if that does not help, it replaces the tab.
func (r *Recovery) EnsureResponsive(ctx context.Context) error {
	p := r.page
	ping := func(limit time.Duration) bool {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return p.Wait(limited, p.Session.Send("Runtime.evaluate", map[string]any{"expression": "1", "returnByValue": true}), nil) == nil
	}
	// A navigation that is under way holds back the answers to everything else.
	p.Session.Send("Page.stopLoading", struct{}{})
	ok := ping(pingTimeout)
	if !ok {
		p.Session.Send("Runtime.terminateExecution", struct{}{})
		ok = ping(terminateTimeout)
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
