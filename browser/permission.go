package browser

import (
	"slices"
	"strings"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"

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

// setRules tells Chromium what the context's pages may do beyond showing
// themselves: the permissions that it was opened with and no other, asked for
// or not, and whether they may download. The answers are still to be waited
// for. Errors: invalid_params (an unknown permission), unsupported (downloads
// of a Chromium that runs elsewhere).
func (c *Context) setRules() ([]*Pending, error) {
	granted := []cdpbrowser.PermissionType{}
	for _, name := range c.o.Permissions {
		types, ok := permissionTypes[name]
		if !ok {
			return nil, protocol.Errorf(protocol.InvalidParams, "permissions: there is no permission %s", quote(name)).
				With("parameter", "permissions").With("permissions", PermissionNames()).
				Then("its permissions are: %s", strings.Join(PermissionNames(), ", "))
		}
		granted = append(granted, types...)
	}
	downloads, err := c.downloadRule()
	if err != nil {
		return nil, err
	}
	return []*Pending{
		// "Grant specific permissions to the given origin and reject all others";
		// without an origin, to all.
		c.host.root.Send("Browser.grantPermissions", map[string]any{"permissions": granted, "browserContextId": c.id}),
		c.host.root.Send(cdpbrowser.SetDownloadBehavior.Method, downloads),
	}, nil
}

// downloadRule denies downloads, or sends them to a directory of the context's
// own, each under a name that Chromium makes up.
func (c *Context) downloadRule() (cdpbrowser.SetDownloadBehaviorParams, error) {
	rule := cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: cdp.BrowserContextID(c.id), EventsEnabled: ptr(true),
	}
	if !c.o.Downloads {
		return rule, nil
	}
	if c.host.profile == nil {
		return rule, protocol.Errorf(protocol.Unsupported, "a Chromium that runs elsewhere keeps no downloads for browserd").
			With("source", "chromium").Then("open the session without downloads")
	}
	dir, err := c.host.profile.room("downloads")
	if err != nil {
		return rule, err
	}
	if err := c.downloaded.open(dir); err != nil {
		return rule, err
	}
	rule.Behavior, rule.DownloadPath = cdpbrowser.SetDownloadBehaviorBehaviorAllowAndName, dir
	return rule, nil
}
