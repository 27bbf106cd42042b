package permission

import (
	cdpbrowser "github.com/chromedp/cdproto/browser"
	cdproto "github.com/chromedp/cdproto/cdp"

	"github.com/browserd/browserd/browser/cdp"
)

// Rules are what Chromium is told that a browser context's pages may do beyond showing
// themselves.
type Rules struct {
	Permissions []cdpbrowser.PermissionType // these and no other, asked for or not
	Downloads   cdpbrowser.SetDownloadBehaviorParams
}

// Denied returns the rules of a context that may do nothing more.
func Denied(id cdproto.BrowserContextID) Rules {
	told := true
	return Rules{[]cdpbrowser.PermissionType{}, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: id, EventsEnabled: &told,
	}}
}

// KeepDownloads sends downloads to a directory, each under a name that Chromium makes up.
func (r *Rules) KeepDownloads(dir string) {
	r.Downloads.Behavior, r.Downloads.DownloadPath = cdpbrowser.SetDownloadBehaviorBehaviorAllowAndName, dir
}

// Send tells Chromium, over the browser's own CDP session, what the context's pages may
// do. The answers are still to be waited for.
func (r Rules) Send(root *cdp.Session) []*cdp.Pending {
	return []*cdp.Pending{
		// "Grant specific permissions to the given origin and reject all others";
		// without an origin, to all.
		root.Send("Browser.grantPermissions", map[string]any{"permissions": r.Permissions, "browserContextId": r.Downloads.BrowserContextID}),
		r.SendDownloads(root),
	}
}

// SendDownloads tells Chromium only what becomes of downloads.
func (r Rules) SendDownloads(root *cdp.Session) *cdp.Pending {
	return root.Send(cdpbrowser.SetDownloadBehavior.Method, r.Downloads)
}
