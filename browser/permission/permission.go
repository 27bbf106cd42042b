// Package permission names what a session's pages may use without asking, as the web's
// Permissions API does, translates the names into Chromium's, and tells Chromium what a
// browser context's pages may use and download. It decides nothing.
package permission

import (
	"slices"
	"strings"

	cdpbrowser "github.com/chromedp/cdproto/browser"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// types are the names by which a session is opened with a permission,
// as the Permissions API of the web has them, and what Chromium calls them
// (Browser.PermissionType).
var types = map[string][]cdpbrowser.PermissionType{
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

// Names returns the permissions that a session may be opened with, sorted.
func Names() []string {
	names := make([]string, 0, len(types))
	for n := range types {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Types translates names into what Chromium calls the permissions. Errors:
// invalid_params (an unknown name).
func Types(names []string) ([]cdpbrowser.PermissionType, error) {
	list := []cdpbrowser.PermissionType{}
	for _, name := range names {
		of, ok := types[name]
		if !ok {
			return nil, protocol.Errorf(protocol.InvalidParams, "permissions: there is no permission %s", snapshot.Quote(snapshot.Cut(name, 80))).
				With("parameter", "permissions").With("permissions", Names()).
				Then("its permissions are: %s", strings.Join(Names(), ", "))
		}
		list = append(list, of...)
	}
	return list, nil
}
