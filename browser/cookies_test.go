package browser

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/storage"
)

// The cookies that are kept for a new Chromium are those of when they were asked
// for, also while they are still being asked for from before.
func TestCookiesAreKeptAsTheyAre(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<h1>Cookies</h1>`)
	<-v.c.cookies.jar.Keep()
	before := v.c.cookies.jar.Keep()
	v.c.host.root.Send(storage.SetCookies.Method, map[string]any{
		"browserContextId": v.c.id, "cookies": []map[string]any{{"name": "kept", "value": "yes", "url": s.srv.URL}},
	})
	<-v.c.cookies.jar.Keep()
	if r := v.c.Restore(); r.CookieCount != 1 || !strings.Contains(string(r.Cookies), "kept") {
		t.Errorf("%d: %s", r.CookieCount, r.Cookies)
	}
	<-before
	if v.c.Restore().CookieCount != 1 {
		t.Error("an older answer took their place")
	}
}

// A cookie that Chromium refuses costs the other cookies of the list nothing.
func TestARefusedCookieCostsNoOther(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<h1>Cookies</h1>`)
	list := `[
		{"name":"first","value":"1","domain":"127.0.0.1","path":"/","expires":-1,"size":6,"session":true},
		{"name":"__Host-refused","value":"2","domain":"127.0.0.1","path":"/","expires":-1,"size":15,"session":true},
		{"name":"last","value":"3","domain":"127.0.0.1","path":"/","expires":-1,"size":5,"session":true}]`
	err := v.c.cookies.jar.Restore(t.Context(), json.RawMessage(list))
	if err == nil || !strings.HasPrefix(err.Error(), "1 of 3 cookies: ") {
		t.Errorf("error %v, want 1 of 3 cookies", err)
	}
	got, err := v.c.Cookies(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range got {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"first", "last"}) {
		t.Errorf("cookies %v, want first and last", names)
	}
}
