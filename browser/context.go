package browser

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/attach"
	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/emulation"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/files"
	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/browser/passkey"
	"github.com/browserd/browserd/browser/person"
	"github.com/browserd/browserd/browser/screencast"
	"github.com/browserd/browserd/browser/storage"
	"github.com/browserd/browserd/browser/targets"
	"github.com/browserd/browserd/protocol"
)

// ContextOptions are what a browser context is opened with. The zero value is an ordinary one.
type ContextOptions struct {
	Width, Height int               // CSS pixels; 0: 1280 by 720
	Locale        string            // BCP 47; empty: en-US
	Timezone      string            // IANA; empty: the machine's
	UserAgent     string            // empty: Chromium's own
	Headers       *protocol.Headers // nil: none
	Dialogs       string            // wait (default), accept, dismiss
	DialogTimeout time.Duration     // how long confirm and prompt wait; 0: 10 s
	MaxTabs       int               // 0: 16
	// Bind makes the egress proxy of Pool.Egress the session's. It calls refused
	// with the fields of a policy_denied event for each connection that the proxy
	// refuses. nil where Pool.Egress is nil, and only there.
	Bind          func(e Egress, refused func(fields map[string]any)) error
	Permissions   []string          // what its pages may use without asking (permission.Names); all else is denied
	Downloads     bool              // files may be downloaded; false: every download is denied
	DownloadBytes int64             // of all its downloads together; 0: 256 MiB
	DownloadFiles int               // downloads that are kept; 0: 50
	UploadQuotas  []*files.Quota    // which its uploads count against; nil: one of 256 MiB
	Restore       *protocol.Restore // cookies to start with
	ReadPDF       network.ReadPDF   // makes pages of the PDFs that are opened; nil: they are downloads
}

// Context is a CDP browser context: the live pages of one session. Its
// methods that act and read are called by one goroutine at a time; State,
// Tabs, Dialog, Restore, Done and Close by any.
type Context struct {
	host    *host
	id      cdproto.BrowserContextID
	emitter atomic.Pointer[func(typ string, fields map[string]any)] // nil: no session has the context yet
	lifetime
	// egress is the context's own egress proxy; nil: Chromium's own egress.
	egress Egress

	targets *targets.Targets

	// Owners of a part each, with their commands. Each says which lock guards it.
	records
	cookies
	*storage.States
	device
	uploads files.Uploads

	mouse    input.Mouse // the driver's alone
	captures int         // the number of the last capture (walk.NextCapture); the driver's alone

	// mu guards what follows, and what the tabs of the context hold.
	mu sync.Mutex
	o  ContextOptions // written once more, by bind
	tabList
	workers map[target.SessionID]*cdp.Session // shared and service workers
	dialogs int                               // dialogs in a row, since the last command began
	observed
	closed bool
}

// withDefaults returns o with its zero fields set to their defaults.
func (o ContextOptions) withDefaults() ContextOptions {
	if o.Width == 0 || o.Height == 0 {
		o.Width, o.Height = 1280, 720
	}
	o.DialogTimeout = cmp.Or(o.DialogTimeout, 10*time.Second)
	o.MaxTabs = cmp.Or(o.MaxTabs, 16)
	o.DownloadBytes = cmp.Or(o.DownloadBytes, 256<<20)
	if o.UploadQuotas == nil {
		o.UploadQuotas = []*files.Quota{files.SessionQuota(256 << 20)}
	}
	o.DownloadFiles = cmp.Or(o.DownloadFiles, 50)
	return o
}

// newContext returns a context that no session has yet: until bind the zero options hold.
func newContext(h *host, id cdproto.BrowserContextID, egress Egress) *Context {
	o := ContextOptions{}.withDefaults()
	c := &Context{host: h, id: id, o: o, egress: egress, lifetime: newLifetime(h.conn), workers: map[target.SessionID]*cdp.Session{}, mouse: input.Mouse{PersonsClipboard: attach.IsContext(string(id))}}
	c.uploads.Process, c.routes.Workers = h.process, h.workerScripts
	c.records.c, c.tabList = c, tabList{c: c, people: person.New(targets.World)}
	c.downloads = network.NewDownloads(c.life, h.root, id, func(d protocol.Download) { c.emit(protocol.EventDownload, network.DownloadFields(d)) })
	c.targets = targets.New(h.root, id, c.attached)
	c.States = storage.NewStates(c.life, h.root, c, storage.Tabs{Targets: c.targets, Attached: c.attached, Documents: c.openDocuments, Renew: c.reopenBlank, TakeLast: c.takeSelected})
	c.device = device{c, emulation.New(c.life, h.root, emulationOf(o)), passkey.New(c.tabList.selectedSession), screencast.New(c.life, h.root, c.tabList.selectedSession), attach.NewGrants(h.root, string(id))}
	c.cookies = cookies{c, network.NewCookies(c.life, h.root, id)}
	context.AfterFunc(c.life, func() {
		h.workerScripts.End(&c.routes)
		if egress != nil {
			egress.Close()
		}
		close(c.done)
	})
	go func() {
		select {
		case <-h.conn.Done():
			c.downloads.BrowserLost()
			c.end(failure.Lost(h.conn.Err()))
		case <-c.life.Done():
		}
	}()
	return c
}

// emit sends the session an event. It may be called with or without mu held.
func (c *Context) emit(typ string, fields map[string]any) {
	if tell := c.emitter.Load(); tell != nil {
		(*tell)(typ, fields)
	}
}

// Uploads are where files are stored that a person gives to a page.
func (l *tabList) Uploads() *files.Uploads { return &l.c.uploads }

// Close closes the pages and the context and forgets it. Closing twice is harmless.
func (c *Context) Close(ctx context.Context) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.mu.Unlock()
	c.uploads.Close()
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
	tabs := c.tabs
	c.tabs, c.selected = nil, nil
	c.mu.Unlock()
	for _, t := range tabs {
		t.forget()
	}
	c.end(failure.Closed())
	c.uploads.Remove()
	c.downloads.Remove()
	return err
}

// discard closes a context that nobody will use, without waiting for Chromium.
func (c *Context) discard() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c.Close(ctx)
}

// State says where the selected tab is, from what its events said.
func (c *Context) State() protocol.Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := protocol.Page{Source: "chromium", Ready: "complete", Document: c.documents, Attached: attach.IsContext(string(c.id))}
	if t := c.selected; t != nil {
		p.Tab, p.URL, p.Title, p.Status, p.Ready, p.Document = t.name, t.nav.url, t.nav.title, t.nav.status, t.nav.ready, t.nav.document
		if t.nav.pdf {
			p.Type = protocol.TypePDF
		}
	}
	return p
}

// Restore is what a new context could go on from: the URL and the cookies, as last seen. It
// works after Chromium has died.
func (c *Context) Restore() protocol.Restore {
	list, count := c.cookies.jar.Copy()
	c.mu.Lock()
	defer c.mu.Unlock()
	r := protocol.Restore{Cookies: list, CookieCount: count, Documents: c.documents}
	if c.selected != nil {
		r.URL = c.selected.nav.url
	}
	return r
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
