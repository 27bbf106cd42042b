package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/storage"
)

// The cookies that are kept for a new Chromium are those of when they were asked
// for, also while they are still being asked for from before.
func TestCookiesAreKeptAsTheyAre(t *testing.T) {
	s := newStage(t)
	v := s.open(t, `<h1>Cookies</h1>`)
	<-v.c.keepCookies()
	before := v.c.keepCookies()
	v.c.host.root.Send(storage.SetCookies.Method, map[string]any{
		"browserContextId": v.c.id, "cookies": []map[string]any{{"name": "kept", "value": "yes", "url": s.srv.URL}},
	})
	<-v.c.keepCookies()
	if r := v.c.Restore(); r.CookieCount != 1 || !strings.Contains(string(r.Cookies), "kept") {
		t.Errorf("%d: %s", r.CookieCount, r.Cookies)
	}
	<-before
	if v.c.Restore().CookieCount != 1 {
		t.Error("an older answer took their place")
	}
}
