package browser

import (
	cdpbrowser "github.com/chromedp/cdproto/browser"
	cdproto "github.com/chromedp/cdproto/cdp"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/protocol"
)

// rules are what Chromium is told that a context's pages may do beyond showing
// themselves.
type rules struct {
	permissions []cdpbrowser.PermissionType // these and no other, asked for or not
	downloads   cdpbrowser.SetDownloadBehaviorParams
}

// denied are the rules of a context that may do nothing more.
func denied(id cdproto.BrowserContextID) rules {
	return rules{[]cdpbrowser.PermissionType{}, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: id, EventsEnabled: ptr(true),
	}}
}

// send tells Chromium what the context's pages may do. The answers are
// still to be waited for.
func (r rules) send(c *Context) []*cdp.Pending {
	return []*cdp.Pending{
		// "Grant specific permissions to the given origin and reject all others";
		// without an origin, to all.
		c.host.root.Send("Browser.grantPermissions", map[string]any{"permissions": r.permissions, "browserContextId": c.id}),
		c.host.root.Send(cdpbrowser.SetDownloadBehavior.Method, r.downloads),
	}
}

// keepDownloads sends downloads to a directory of the context's own, each under
// a name that Chromium makes up. Errors: unsupported (a Chromium that runs
// elsewhere).
func (r *records) keepDownloads(rule *cdpbrowser.SetDownloadBehaviorParams) error {
	c := r.c
	if c.host.process == nil {
		return protocol.Errorf(protocol.Unsupported, "a Chromium that runs elsewhere keeps no downloads for browserd").
			With("source", "chromium").Then("open the session without downloads")
	}
	dir, err := c.host.process.MakeDir("downloads")
	if err != nil {
		return err
	}
	c.mu.Lock()
	limits := network.DownloadLimits{Bytes: c.o.DownloadBytes, Files: c.o.DownloadFiles}
	c.mu.Unlock()
	err = c.downloads.Allow(dir, limits)
	rule.Behavior, rule.DownloadPath = cdpbrowser.SetDownloadBehaviorBehaviorAllowAndName, dir
	return err
}
