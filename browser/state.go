package browser

import (
	"context"

	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/storage"
)

// inStoragePage opens a storage page of the context, calls do with it and closes it.
func inStoragePage(ctx context.Context, c *Context, do func(p *storage.Page) error) error {
	h := c.host
	id, e, err := c.targets.Create(ctx, true)
	if err != nil {
		return err
	}
	defer h.root.Send(target.CloseTarget.Method, target.CloseTargetParams{TargetID: id})
	if e == nil {
		return failure.NotAttached()
	}
	p, err := storage.NewPage(ctx, c.life, h.conn.Session(e.SessionID))
	if err != nil {
		return err
	}
	defer p.Close()
	return do(p)
}
