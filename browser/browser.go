package browser

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/browser/event"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/browser/permission"
	"github.com/browserd/browserd/browser/targets"
)

// Browser hands out browser contexts of one supervised Chromium. Its methods
// may be called by any goroutine.
type Browser struct {
	chromium *chromium.Supervisor
	log      *slog.Logger
	pool     Pool
	ctx      context.Context // ends with Close
	stop     context.CancelFunc
	work     sync.WaitGroup // contexts that are made before they are asked for

	connecting sync.Mutex // held while the host of a generation is made

	mu     sync.Mutex
	closed bool
	host   *host       // of the running generation; nil before the first
	pooled []*pooled   // made or being made, the oldest first
	coming int         // sessions for which there are more of them
	inUse  int         // contexts that sessions have or ask for
	idle   *time.Timer // lets Chromium go
	refill *time.Timer // makes the next context; nil: none is due
}

// New returns a Browser that makes its contexts in the Chromium of supervisor. Close ends what
// [Browser.StartPool] asks for.
func New(supervisor *chromium.Supervisor, log *slog.Logger) *Browser {
	b := &Browser{chromium: supervisor, log: log}
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

// host is one connection to one running Chromium: it attaches to every page
// that appears and gives it to the context that it belongs to.
type host struct {
	conn *cdp.Conn
	root *cdp.Session
	gen  int
	log  *slog.Logger
	// process is Chromium's; nil if it runs elsewhere.
	process        *chromium.Process
	workerScripts  *network.WorkerScripts
	failedLaunches chromium.FailedLaunches // of event

	mu       sync.Mutex
	contexts map[cdproto.BrowserContextID]*Context
	pages    map[target.SessionID]*Context // attached pages, by their CDP session
}

// connect returns the host of the running Chromium, starting one where none runs.
func (b *Browser) connect(ctx context.Context) (*host, error) {
	if !b.chromium.Running() {
		go targets.Inject() // the first page needs the script: it is put together while Chromium starts
	}
	conn, gen, err := b.chromium.Conn(ctx)
	if err != nil {
		return nil, err
	}
	b.connecting.Lock()
	defer b.connecting.Unlock()
	b.mu.Lock()
	h := b.host
	b.mu.Unlock()
	if h != nil && h.conn == conn {
		return h, nil
	}
	h = &host{
		conn: conn, root: conn.Session(""), gen: int(gen), log: b.log, process: b.chromium.Process(gen),
		workerScripts: network.NewWorkerScripts(conn.Session("")),
		contexts:      map[cdproto.BrowserContextID]*Context{}, pages: map[target.SessionID]*Context{},
	}
	conn.Handle("", h.event)
	// Target.targetCrashed is told of pages alone.
	discover := h.root.Send(target.SetDiscoverTargets.Method, target.SetDiscoverTargetsParams{Discover: true, Filter: targets.Pages})
	attach := h.root.Send(target.SetAutoAttach.Method, target.SetAutoAttachParams{
		AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: ptr(true), Filter: targets.OfBrowser,
	})
	if err := discover.Wait(ctx, nil); err != nil {
		return nil, err
	}
	if err := attach.Wait(ctx, nil); err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.host = h
	b.mu.Unlock()
	return h, nil
}

// event handles the events of the browser's own CDP session, on the reader goroutine.
func (h *host) event(method string, params jsonv2.Value) {
	switch method {
	case "Target.attachedToTarget":
		var e event.AttachedToTarget
		if json.Unmarshal(params, &e) != nil {
			return
		}
		h.mu.Lock()
		c := h.contexts[e.TargetInfo.BrowserContextID]
		if c != nil {
			h.pages[e.SessionID] = c
		}
		h.mu.Unlock()
		if c == nil {
			// The default context's first page, or one whose context is closing: nobody's.
			go h.conn.Session(e.SessionID).Send("Runtime.runIfWaitingForDebugger", cdproto.Empty{})
			return
		}
		if e.TargetInfo.IsWorker() {
			c.workerAttached(e)
			return
		}
		c.attached(e)
	case "Target.detachedFromTarget":
		var e event.ChildDetached
		if json.Unmarshal(params, &e) != nil {
			return
		}
		h.mu.Lock()
		c := h.pages[e.SessionID]
		delete(h.pages, e.SessionID)
		h.mu.Unlock()
		if c != nil {
			c.detached(e.SessionID)
			c.workerDetached(e.SessionID)
		}
	case "Target.targetCrashed":
		var e event.TargetCrashed
		if json.Unmarshal(params, &e) != nil {
			return
		}
		if h.failedLaunches.Add(e.Status) {
			go h.conn.GiveUp("Chromium starts no process for a page any more")
		}
		reason, sentence := h.process.PageDeath(e.Status, e.ErrorCode)
		for _, c := range h.all() {
			c.crashed(e.TargetID, reason, sentence)
		}
	case "Fetch.requestPaused":
		h.workerScripts.Paused(params)
	case "Browser.downloadWillBegin":
		var e network.DownloadBegins
		if json.Unmarshal(params, &e) == nil {
			h.downloadBegins(e)
		}
	case "Browser.downloadProgress":
		var e network.DownloadProgress
		if json.Unmarshal(params, &e) == nil {
			_ = slices.ContainsFunc(h.all(), func(c *Context) bool { return c.downloads.Progress(e) })
		}
	}
}

func (h *host) all() []*Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.contexts))
}

// make creates a browser context with one page, about:blank, that has authenticated at its
// egress proxy: everything that does not depend on the session that will get it.
func (b *Browser) make(ctx context.Context) (*Context, error) {
	h, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	params := target.CreateBrowserContextParams{DisposeOnDetach: ptr(true)}
	var egress Egress
	if b.pool.Egress != nil {
		if egress, err = b.pool.Egress(); err != nil {
			return nil, err
		}
		// Chromium's implicit bypass of loopback is not inherited from the command line.
		params.ProxyServer, params.ProxyBypassList = egress.ProxyServer(), "<-loopback>"
	}
	id, err := targets.ContextOf(ctx, h.root, b.pool.Own, params)
	if err != nil {
		if egress != nil {
			egress.Close()
		}
		return nil, failure.Opening(err)
	}
	c := newContext(h, id, egress)
	h.mu.Lock()
	h.contexts[c.id] = c
	h.mu.Unlock()
	rules := permission.Denied(c.id).Send(h.root)
	t, err := c.newTab(ctx, "")
	if err == nil && egress != nil {
		err = t.authenticateProxy(ctx, egress)
	}
	if err == nil {
		err = cdp.WaitAll(ctx, rules)
	}
	if err != nil {
		c.discard()
		return nil, failure.Opening(err)
	}
	return c, nil
}

func ptr[T any](v T) *T { return &v }
