package browser

import (
	"slices"
	"strings"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	cdproto "github.com/chromedp/cdproto/cdp"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/protocol"
)

// permissionTypes are the names by which a session is opened with a permission,
// as the Permissions API of the web has them, and what Chromium calls them
// (Browser.PermissionType).
var permissionTypes = map[string][]cdpbrowser.PermissionType{
	"background-sync":  {cdpbrowser.PermissionTypeBackgroundSync},
	"camera":           {cdpbrowser.PermissionTypeVideoCapture},
	"clipboard-read":   {cdpbrowser.PermissionTypeClipboardReadWrite},
	"clipboard-write":  {cdpbrowser.PermissionTypeClipboardSanitizedWrite},
	"geolocation":      {cdpbrowser.PermissionTypeGeolocation},
	"idle-detection":   {cdpbrowser.PermissionTypeIdleDetection},
	"local-fonts":      {cdpbrowser.PermissionTypeLocalFonts},
	"microphone":       {cdpbrowser.PermissionTypeAudioCapture},
	"midi":             {cdpbrowser.PermissionTypeMidi},
	"notifications":    {cdpbrowser.PermissionTypeNotifications},
	"payment-handler":  {cdpbrowser.PermissionTypePaymentHandler},
	"pointer-lock":     {cdpbrowser.PermissionTypePointerLock},
	"screen-wake-lock": {cdpbrowser.PermissionTypeWakeLockScreen},
	"sensors":          {cdpbrowser.PermissionTypeSensors},
	"storage":          {cdpbrowser.PermissionTypeDurableStorage},
	"storage-access":   {cdpbrowser.PermissionTypeStorageAccess},
}

// PermissionNames are the permissions that ContextOptions may name, sorted.
func PermissionNames() []string {
	names := make([]string, 0, len(permissionTypes))
	for n := range permissionTypes {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

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

// granted are the permissions that a session was opened with, as Chromium calls
// them. Errors: invalid_params.
func granted(names []string) ([]cdpbrowser.PermissionType, error) {
	list := []cdpbrowser.PermissionType{}
	for _, name := range names {
		types, ok := permissionTypes[name]
		if !ok {
			return nil, protocol.Errorf(protocol.InvalidParams, "permissions: there is no permission %s", failure.Quote(name)).
				With("parameter", "permissions").With("permissions", PermissionNames()).
				Then("its permissions are: %s", strings.Join(PermissionNames(), ", "))
		}
		list = append(list, types...)
	}
	return list, nil
}

// sendRules tells Chromium what the context's pages may do. The answers are
// still to be waited for.
func (c *Context) sendRules(r rules) []*cdp.Pending {
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
func (c *Context) keepDownloads(rule *cdpbrowser.SetDownloadBehaviorParams) error {
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
