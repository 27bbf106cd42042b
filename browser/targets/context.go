package targets

import (
	"context"
	"fmt"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
)

// ContextOf returns Chromium's own browser context if own, else a new one.
func ContextOf(ctx context.Context, root *cdp.Session, own bool, params target.CreateBrowserContextParams) (cdproto.BrowserContextID, error) {
	if !own {
		return CreateContext(ctx, root, params)
	}
	var got target.GetBrowserContextsResult
	err := root.Call(ctx, target.CommandGetBrowserContexts, cdproto.Empty{}, &got)
	return got.DefaultBrowserContextID, err
}

// CreateContext creates a browser context. If ctx ends first Chromium creates it anyway, and
// nothing would ever close it, so it is disposed of when its id comes.
func CreateContext(ctx context.Context, root *cdp.Session, params target.CreateBrowserContextParams) (cdproto.BrowserContextID, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	pending := root.Send(target.CreateBrowserContext.Method, params)
	var made target.CreateBrowserContextResult
	answered := make(chan error, 1)
	go func() { answered <- pending.Wait(context.Background(), &made) }() // it ends with the connection at the latest
	select {
	case err := <-answered:
		return made.BrowserContextID, err
	case <-ctx.Done():
	}
	go func() {
		if <-answered == nil {
			root.Send(target.DisposeBrowserContext.Method, target.DisposeBrowserContextParams{BrowserContextID: made.BrowserContextID})
		}
	}()
	return "", fmt.Errorf("%s: %w", target.CreateBrowserContext.Method, ctx.Err())
}
