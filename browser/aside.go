package browser

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
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
)

// aside is a page of the context that is none of the session's tabs. Whatever
// it asks for is answered with an empty document (Fetch.fulfillRequest): an
// origin's storage is reached in it although no request is made, and no script
// of the origin runs.
type aside struct {
	c      *Context
	target target.ID
	cdp    *cdp.Session
	paused <-chan jsonv2.Value
	stop   func()
}

// create makes a target of the context that has no opener. One at a time: what
// attaches meanwhile without an opener is sorted out when its id is known.
func (c *Context) create(ctx context.Context, apart bool) (id target.ID, attached *attachedToTarget, err error) {
	c.creating.Lock()
	defer c.creating.Unlock()
	c.mu.Lock()
	c.apart = apart
	c.mu.Unlock()
	made, err := cdproto.Call(ctx, c.host.root, target.CreateTarget, target.CreateTargetParams{
		URL: blank, BrowserContextID: c.id,
	})
	c.mu.Lock()
	held := c.held
	c.held, c.apart = nil, false
	c.mu.Unlock()
	for _, e := range held {
		if err == nil && e.TargetInfo.TargetID == made.TargetID {
			attached = &e
			continue
		}
		c.attached(e) // a window that a page opened without an opener
	}
	if err != nil {
		return "", nil, err
	}
	return made.TargetID, attached, nil
}

// openAside opens one; close closes it.
func (c *Context) openAside(ctx context.Context) (*aside, error) {
	id, e, err := c.create(ctx, true)
	if err != nil {
		return nil, err
	}
	if e == nil {
		c.host.root.Send(target.CloseTarget.Method, target.CloseTargetParams{TargetID: id})
		return nil, fmt.Errorf("target %s was made and not attached to", id)
	}
	a := &aside{c: c, target: id, cdp: c.host.conn.Session(e.SessionID)}
	a.paused, a.stop = a.cdp.Subscribe("Fetch.requestPaused")
	err = waitAll(ctx, []*cdp.Pending{
		a.cdp.Send("Page.enable", cdproto.Empty{}),
		a.cdp.Send("Network.enable", cdproto.Empty{}),
		a.cdp.Send(network.SetBypassServiceWorker.Method, network.SetBypassServiceWorkerParams{Bypass: true}),
		a.cdp.Send("DOMStorage.enable", cdproto.Empty{}),
		a.cdp.Send(fetch.Enable.Method, map[string]any{"patterns": []map[string]any{{"urlPattern": "*"}}}),
		a.cdp.Send("Runtime.runIfWaitingForDebugger", cdproto.Empty{}),
	})
	if err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *aside) close() {
	a.stop()
	a.c.host.root.Send(target.CloseTarget.Method, target.CloseTargetParams{TargetID: a.target})
}

// emptyPage has an icon, so that none is asked for.
const emptyPage = `<!doctype html><link rel=icon href="data:,">`

// visit makes the aside a document of the origin: an empty one.
func (a *aside) visit(ctx context.Context, origin string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan error, 1) // nobody may be there for it
	var got struct {
		ErrorText string `json:"errorText"`
	}
	navigating := a.cdp.Send(page.Navigate.Method, page.NavigateParams{URL: origin + "/"})
	go func() { answered <- navigating.Wait(ctx, &got) }()
	for {
		select {
		case err := <-answered:
			if err == nil && got.ErrorText != "" {
				err = fmt.Errorf("visiting %s: %s", origin, got.ErrorText)
			}
			return err
		case raw, ok := <-a.paused:
			if !ok {
				return context.Cause(a.c.life)
			}
			var e struct {
				RequestID fetch.RequestID `json:"requestId"`
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				return err
			}
			a.cdp.Send(fetch.FulfillRequest.Method, fetch.FulfillRequestParams{
				RequestID: e.RequestID, ResponseCode: 200, Body: []byte(emptyPage),
				ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/html; charset=utf-8"}},
			})
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func localStorage(origin string) *domstorage.StorageID {
	return &domstorage.StorageID{SecurityOrigin: origin, IsLocalStorage: true}
}

// items reads the local storage of the origin that was visited.
func (a *aside) items(ctx context.Context, origin string) ([][2]string, error) {
	var got struct {
		Entries [][2]string `json:"entries"`
	}
	params := domstorage.GetDOMStorageItemsParams{StorageID: localStorage(origin)}
	return got.Entries, a.cdp.Call(ctx, domstorage.GetDOMStorageItems.Method, params, &got)
}

// put replaces the local storage of the origin that was visited.
func (a *aside) put(ctx context.Context, origin string, items [][2]string) error {
	at := localStorage(origin)
	pending := []*cdp.Pending{a.cdp.Send(domstorage.Clear.Method, domstorage.ClearParams{StorageID: at})}
	for _, item := range items {
		pending = append(pending, a.cdp.Send(domstorage.SetDOMStorageItem.Method, domstorage.SetDOMStorageItemParams{
			StorageID: at, Key: item[0], Value: item[1],
		}))
	}
	return waitAll(ctx, pending)
}
