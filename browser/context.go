package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/protocol"
)

// ContextOptions are what a browser context is opened with. The zero value is
// an ordinary one.
type ContextOptions struct {
	Width, Height int               // CSS pixels; 0: 1280 by 720
	Locale        string            // BCP 47; empty: en-US
	Timezone      string            // IANA; empty: the machine's
	UserAgent     string            // empty: Chromium's own
	Headers       map[string]string // sent with every request
	Dialogs       string            // wait (default), accept, dismiss
	DialogTimeout time.Duration     // how long confirm and prompt wait; 0: 10 s
	MaxTabs       int               // 0: 16
	// Bind makes the way out of Stock.Way the session's. refused is to be called
	// with the fields of a policy_denied event for each connection that is not
	// made. nil where there is no such way, and only there.
	Bind          func(w Way, refused func(fields map[string]any)) error
	Permissions   []string          // what its pages may use without asking (PermissionNames); all else is denied
	Downloads     bool              // files may be downloaded; false: every download is denied
	DownloadBytes int64             // of all its downloads together; 0: 256 MiB
	DownloadFiles int               // downloads that are kept; 0: 50
	UploadBytes   int64             // of the files of all its uploads together; 0: 256 MiB
	Restore       *protocol.Restore // cookies to start with
}

// Context is a CDP browser context: the live pages of one session. Its
// methods that act and read are called by one goroutine at a time; State,
// Tabs, Dialog, Restore, Done and Close by any.
type Context struct {
	host *host
	id   cdproto.BrowserContextID
	tell atomic.Pointer[func(typ string, fields map[string]any)] // nil: nobody's yet
	// life ends with the context: it was closed, or its browser died.
	life context.Context
	end  context.CancelCauseFunc
	done chan struct{}
	way  Way // nil: Chromium's own

	creating sync.Mutex // held while a target is made, see create

	log       network.Log
	routes    network.Routes
	downloads *network.Downloads

	holding string // the mouse button that is down; the driver's alone
	looks   int    // the number of the last capture, up to maxLook; the driver's alone

	mu        sync.Mutex
	o         ContextOptions // written once more, by bind
	tabs      []*tab
	selected  *tab
	workers   map[target.SessionID]*cdp.Session // shared and service workers
	replacing chan struct{}                     // not nil while a new tab is made for a selected one that died
	tabCount  int                               // tabs opened so far, for their names
	documents int                               // main documents loaded so far
	left      []int                             // documents that were left and that the refs do not know of yet
	dialogs   int                               // dialogs in a row, since the last command began
	watching  *happenings
	cookies   json.RawMessage // as last seen
	cookieN   int
	asked     int                // times that they were asked for,
	kept      int                // and which of these they are from
	emulated  protocol.Emulation // in force, for tabs to come
	origins   []string           // that its tabs showed
	// apart: pages that attach without an opener are held until create knows its own.
	apart    bool
	held     []attachedToTarget
	uploads  string // the directory of uploaded files; empty until the first
	uploaded int64  // bytes in it
	closed   bool
}

// complete is o with the defaults in the place of zeros.
func (o ContextOptions) complete() ContextOptions {
	if o.Width == 0 || o.Height == 0 {
		o.Width, o.Height = 1280, 720
	}
	if o.DialogTimeout == 0 {
		o.DialogTimeout = 10 * time.Second
	}
	if o.MaxTabs == 0 {
		o.MaxTabs = 16
	}
	if o.DownloadBytes == 0 {
		o.DownloadBytes = 256 << 20
	}
	if o.UploadBytes == 0 {
		o.UploadBytes = 256 << 20
	}
	if o.DownloadFiles == 0 {
		o.DownloadFiles = 50
	}
	return o
}

// newContext is a context that is nobody's yet: what bind gives it of a session
// is that of the zero options.
func newContext(h *host, id cdproto.BrowserContextID, way Way) *Context {
	o := ContextOptions{}.complete()
	c := &Context{host: h, id: id, o: o, way: way, done: make(chan struct{}), workers: map[target.SessionID]*cdp.Session{}, emulated: emulationOf(o)}
	c.life, c.end = context.WithCancelCause(context.Background())
	c.downloads = network.NewDownloads(c.life, h.root, id, c.reportDownload)
	context.AfterFunc(c.life, func() {
		if way != nil {
			way.Close()
		}
		close(c.done)
	})
	go func() {
		select {
		case <-h.conn.Done():
			c.downloads.BrowserLost()
			c.end(lost(h.conn.Err()))
		case <-c.life.Done():
		}
	}()
	return c
}

// emit tells the session what happens. Whether mu is held does not matter.
func (c *Context) emit(typ string, fields map[string]any) {
	if tell := c.tell.Load(); tell != nil {
		(*tell)(typ, fields)
	}
}

// lost is the error of a command whose Chromium died.
func lost(cause error) error {
	e := protocol.Errorf(protocol.BrowserLost, "Chromium died: %w", cause)
	if silent := (cdp.Unresponsive{}); errors.As(cause, &silent) {
		e.With("cause", silent.Message)
	}
	return e
}

// Done closes when the context is gone: closed, or its Chromium died. Whoever asks
// after a call has failed for that finds it closed.
func (c *Context) Done() <-chan struct{} {
	select {
	case <-c.host.conn.Done():
		return c.host.conn.Done() // the context's own life ends a moment later
	default:
		return c.done
	}
}

// gone says whether Done has closed.
func (c *Context) gone() bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// Close closes the pages and the context and forgets it. Closing twice is
// harmless.
func (c *Context) Close(ctx context.Context) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.mu.Unlock()
	c.host.mu.Lock()
	delete(c.host.contexts, c.id)
	for id, owner := range c.host.pages {
		if owner == c {
			delete(c.host.pages, id)
		}
	}
	c.host.mu.Unlock()
	var err error
	select {
	case <-c.host.conn.Done():
	default:
		// Disposing closes the pages without asking their beforeunload handlers.
		params := target.DisposeBrowserContextParams{BrowserContextID: c.id}
		err = c.host.root.Send(target.DisposeBrowserContext.Method, params).Wait(ctx, nil)
	}
	c.mu.Lock()
	tabs, uploads := c.tabs, c.uploads
	c.tabs, c.selected = nil, nil
	c.mu.Unlock()
	for _, t := range tabs {
		t.forget()
	}
	c.end(errClosed())
	if uploads != "" {
		os.RemoveAll(uploads)
	}
	c.downloads.Remove()
	return err
}

func errClosed() error { return protocol.Errorf(protocol.SessionNotFound, "the session is closed") }

// discard closes a context that nobody will use, without waiting for Chromium: one
// that is stopped does it when it goes on.
func (c *Context) discard() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c.Close(ctx)
}

// State says where the selected tab is, from what its events said.
func (c *Context) State() protocol.Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := protocol.Page{Source: "chromium", Ready: "complete", Document: c.documents}
	if t := c.selected; t != nil {
		p.Tab, p.URL, p.Title, p.Status, p.Ready, p.Document = t.name, t.url, t.title, t.status, t.ready, t.document
	}
	return p
}

// Restore is what a new context could go on from: the URL and the cookies, as
// last seen. It works after Chromium has died.
func (c *Context) Restore() protocol.Restore {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := protocol.Restore{Cookies: c.cookies, CookieCount: c.cookieN, Documents: c.documents}
	if c.selected != nil {
		r.URL = c.selected.url
	}
	return r
}

// keepCookies remembers the cookies as they are now, so that they outlive
// Chromium. It goes on in the background; the channel closes when they are kept.
func (c *Context) keepCookies() <-chan struct{} {
	done := make(chan struct{})
	c.mu.Lock()
	c.asked++
	asked := c.asked
	c.mu.Unlock()
	pending := c.host.root.Send(storage.GetCookies.Method, storage.GetCookiesParams{BrowserContextID: c.id})
	go func() {
		defer close(done)
		var got struct {
			Cookies json.RawMessage `json:"cookies"`
		}
		var list []json.RawMessage
		err := pending.Wait(c.life, &got)
		c.mu.Lock()
		defer c.mu.Unlock()
		if err == nil && asked > c.kept && json.Unmarshal(got.Cookies, &list) == nil {
			c.cookies, c.cookieN, c.kept = got.Cookies, len(list), asked
		}
	}()
	return done
}

// restoreCookies gives the context the cookies that remain of another.
func (c *Context) restoreCookies(ctx context.Context, r *protocol.Restore) error {
	var params struct {
		Cookies          []map[string]any         `json:"cookies"`
		BrowserContextID cdproto.BrowserContextID `json:"browserContextId"`
	}
	if err := json.Unmarshal(r.Cookies, &params.Cookies); err != nil || len(params.Cookies) == 0 {
		return err
	}
	for _, cookie := range params.Cookies {
		// What Storage.getCookies says and Storage.setCookies does not take.
		delete(cookie, "size")
		if cookie["session"] == true {
			delete(cookie, "expires")
		}
		delete(cookie, "session")
		// A page of http on loopback may set secure cookies; Chromium refuses them
		// together with where they came from.
		if cookie["secure"] == true && cookie["sourceScheme"] == "NonSecure" {
			delete(cookie, "sourceScheme")
		}
	}
	params.BrowserContextID = c.id
	return c.host.root.Call(ctx, storage.SetCookies.Method, params, nil)
}

// tab returns the selected tab, waiting for it where the one before has died.
func (c *Context) tab(ctx context.Context) (*tab, error) {
	for {
		c.mu.Lock()
		t, replacing := c.selected, c.replacing
		c.mu.Unlock()
		switch {
		case c.life.Err() != nil:
			return nil, context.Cause(c.life)
		case t != nil:
			return t, nil
		case replacing == nil:
			// The page closed its own last tab, or no other could be opened in its place.
			if _, err := c.newTab(ctx, ""); err != nil {
				return nil, fmt.Errorf("opening a tab in a context without one: %w", err)
			}
			continue
		}
		select {
		case <-replacing:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-c.life.Done():
		}
	}
}
