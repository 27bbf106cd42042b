package storage

import (
	"context"
	"encoding/json"
	"fmt"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/domstorage"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Page is a page of the browser context that is none of the session's tabs. It answers
// whatever the page requests with an empty document (Fetch.fulfillRequest): an origin's
// storage can be reached without a request to the origin, and no script of the origin
// runs. One goroutine at a time uses it.
type Page struct {
	cdp     *cdp.Session
	life    context.Context // the browser context's
	paused  <-chan jsonv2.Value
	dialogs <-chan jsonv2.Value
	stop    func()
}

// newPage makes a storage page of a page that was just attached to and still waits for
// its debugger. life ends with the browser context. Call Close once, then close the
// target.
func newPage(ctx, life context.Context, s *cdp.Session) (*Page, error) {
	p, pending := listen(life, s)
	if err := cdp.WaitAll(ctx, append(pending, s.Send("Runtime.runIfWaitingForDebugger", cdproto.Empty{}))); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// takePage makes a storage page of a tab, whatever it does: a dialog is dismissed, and a
// document that wants to ask whether it may be left is left.
func takePage(life context.Context, s *cdp.Session) *Page {
	s.Send("Page.stopLoading", cdproto.Empty{}) // a navigation under way holds back all answers
	s.Send(page.HandleJavaScriptDialog.Method, page.HandleJavaScriptDialogParams{})
	s.Send("Runtime.terminateExecution", cdproto.Empty{}) // or a script would keep it from being left
	p, _ := listen(life, s)                               // a script may hold up the answers until the page is left
	return p
}

// listen has a page's requests be paused.
func listen(life context.Context, s *cdp.Session) (*Page, []*cdp.Pending) {
	p := &Page{cdp: s, life: life}
	var stopPaused, stopDialogs func()
	p.paused, stopPaused = s.Subscribe("Fetch.requestPaused")
	p.dialogs, stopDialogs = s.Subscribe("Page.javascriptDialogOpening")
	p.stop = func() { stopPaused(); stopDialogs() }
	return p, []*cdp.Pending{
		s.Send("Page.enable", cdproto.Empty{}),
		s.Send("Network.enable", cdproto.Empty{}),
		s.Send(network.SetBypassServiceWorker.Method, network.SetBypassServiceWorkerParams{Bypass: true}),
		s.Send("DOMStorage.enable", cdproto.Empty{}),
		s.Send(fetch.Enable.Method, map[string]any{"patterns": []map[string]any{{"urlPattern": "*"}}}),
	}
}

// leave makes the page an empty one that no origin has visited.
func (p *Page) leave(ctx context.Context) error {
	err := p.cdp.Call(ctx, page.Navigate.Method, page.NavigateParams{URL: "about:blank"}, nil)
	if err != nil {
		return err
	}
	return cdp.WaitAll(ctx, []*cdp.Pending{
		p.cdp.Send("Page.resetNavigationHistory", cdproto.Empty{}),
		p.cdp.Send("Fetch.disable", cdproto.Empty{}),
		p.cdp.Send("DOMStorage.disable", cdproto.Empty{}),
		p.cdp.Send(network.SetBypassServiceWorker.Method, network.SetBypassServiceWorkerParams{}),
	})
}

// Close ends listening to the page's requests.
func (p *Page) Close() { p.stop() }

// Read returns the local storage of the origins, without those that have none.
func (p *Page) Read(ctx context.Context, origins []string) ([]protocol.Origin, error) {
	list := []protocol.Origin{}
	for _, origin := range origins {
		err := p.in(ctx, origin, func() error {
			items, err := p.items(ctx, localStorage(origin))
			if err == nil && len(items) > 0 {
				list = append(list, protocol.Origin{Origin: origin, LocalStorage: items})
			}
			return err
		})
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

// Write replaces the local storage of each origin, if it is not nil.
func (p *Page) Write(ctx context.Context, origins []protocol.Origin) error {
	for _, o := range origins {
		if o.LocalStorage == nil {
			continue
		}
		if err := p.in(ctx, o.Origin, func() error { return put(ctx, p.cdp, localStorage(o.Origin), o.LocalStorage) }); err != nil {
			return err
		}
	}
	return nil
}

// in visits the origin and calls do there.
func (p *Page) in(ctx context.Context, origin string, do func() error) error {
	err := p.visit(ctx, origin)
	if err == nil {
		err = do()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("the storage of %s: %w", origin, err)
	}
	return nil
}

// emptyPage has an icon, so that none is asked for.
const emptyPage = `<!doctype html><link rel=icon href="data:,">`

// visit navigates the page to an empty document of the origin.
func (p *Page) visit(ctx context.Context, origin string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan error, 1) // nobody may be there for it
	var got struct {
		ErrorText string `json:"errorText"`
	}
	navigating := p.cdp.Send(page.Navigate.Method, page.NavigateParams{URL: origin + "/"})
	go func() { answered <- navigating.Wait(ctx, &got) }()
	for {
		select {
		case err := <-answered:
			if err == nil && got.ErrorText != "" {
				err = fmt.Errorf("visiting %s: %s", origin, got.ErrorText)
			}
			return err
		case raw, ok := <-p.paused:
			if !ok {
				return context.Cause(p.life)
			}
			var e struct {
				RequestID fetch.RequestID `json:"requestId"`
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				return err
			}
			p.cdp.Send(fetch.FulfillRequest.Method, fetch.FulfillRequestParams{
				RequestID: e.RequestID, ResponseCode: 200, Body: []byte(emptyPage),
				ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/html; charset=utf-8"}},
			})
		case <-p.dialogs:
			p.cdp.Send(page.HandleJavaScriptDialog.Method, page.HandleJavaScriptDialogParams{Accept: true})
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func localStorage(origin string) *domstorage.StorageID {
	return &domstorage.StorageID{SecurityOrigin: origin, IsLocalStorage: true}
}

// items reads a storage of the origin that was visited.
func (p *Page) items(ctx context.Context, at *domstorage.StorageID) ([][2]string, error) {
	return entries(ctx, ask(p.cdp, at))
}

// entries waits for the answer to DOMStorage.getDOMStorageItems.
func entries(ctx context.Context, asked *cdp.Pending) ([][2]string, error) {
	var got struct {
		Entries [][2]string `json:"entries"`
	}
	err := asked.Wait(ctx, &got)
	return got.Entries, err
}

// put replaces a storage of an origin that a document of the cdp session has.
func put(ctx context.Context, s *cdp.Session, at *domstorage.StorageID, items [][2]string) error {
	pending := []*cdp.Pending{s.Send(domstorage.Clear.Method, domstorage.ClearParams{StorageID: at})}
	for _, item := range items {
		pending = append(pending, s.Send(domstorage.SetDOMStorageItem.Method, domstorage.SetDOMStorageItemParams{
			StorageID: at, Key: item[0], Value: item[1],
		}))
	}
	return cdp.WaitAll(ctx, pending)
}
