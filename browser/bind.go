package browser

import (
	"context"
	"errors"

	"github.com/chromedp/cdproto/browser"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/permission"
	"github.com/browserd/browserd/browser/report"
	"github.com/browserd/browserd/protocol"
)

// bind gives a pooled context to a session. It applies the session's options to the open
// page and to later ones. A pooled context has only options that bind can change, since
// nothing about its session is known when it is created.
func (c *Context) bind(ctx context.Context, o ContextOptions, permissions []browser.PermissionType, emit func(string, map[string]any)) error {
	o = o.withDefaults()
	if (c.egress != nil) != (o.Bind != nil) {
		return errors.New("Pool.Egress and ContextOptions.Bind: set both or neither")
	}
	if c.egress != nil {
		if err := o.Bind(c.egress, func(fields map[string]any) {
			url, _ := fields["url"].(string)
			reason, _ := fields["reason"].(string)
			c.mu.Lock()
			c.reports().Refused(url, reason)
			c.mu.Unlock()
			emit(protocol.EventPolicyDenied, fields)
		}); err != nil {
			return err
		}
	}
	c.emitter.Store(&emit)
	all := emulationOf(o)
	c.overrides.Set(all)
	c.uploads.Limit(o.UploadQuotas...)
	context.AfterFunc(c.life, c.uploads.Remove) // also where Chromium died
	c.mu.Lock()
	was := c.o
	c.o = o
	c.betweenActions = report.Log{}
	t := c.selected
	if o.Restore != nil {
		c.documents = o.Restore.Documents
		if t != nil {
			t.nav.document = c.documents
		}
	}
	c.mu.Unlock()
	if t == nil {
		return errors.New("the page of the context has gone")
	}

	var pending []*cdp.Pending
	if len(permissions) > 0 || o.Downloads {
		r := permission.Denied(c.id)
		r.Permissions = permissions
		if o.Downloads {
			if err := c.keepDownloads(&r); err != nil {
				return err
			}
		}
		pending = r.Send(c.host.root)
	}
	told := all
	if o.Width == was.Width && o.Height == was.Height {
		told.Width, told.Height = nil, nil
	}
	pending = append(pending, c.overrides.Send(t.cdp, told, all, false)...)
	if err := c.SetHeaders(ctx, o.Headers); err != nil {
		return err
	}
	if o.Restore != nil && o.Restore.CookieCount > 0 {
		if err := c.cookies.jar.Restore(ctx, o.Restore.Cookies); err != nil {
			c.host.log.Warn("restoring cookies", "error", err)
		}
	}
	return c.overrides.Wait(ctx, pending)
}
