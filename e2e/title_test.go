package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/browserd/browserd/protocol"
)

// Every answer names the page by its document's title and address, without a
// snapshot; that of an empty tab is about:blank.
func TestTitles(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/b", `<!doctype html><title>TitleB</title><button onclick="window.open('/c')">Open</button>`, "")
	w.serve("/c", `<!doctype html><title>TitleC</title>`, "")
	a := newAgent(t, d)
	named := func(after string, p protocol.Page, want string) {
		t.Helper()
		if got := strings.TrimPrefix(p.URL, w.URL) + " " + p.Title; got != want {
			t.Errorf("%s: the page is %q, want %q", after, got, want)
		}
	}
	named("session_open, wait", a.do("wait", params{"state": "load"}).Page, "about:blank ")
	for _, until := range []string{"load", "domcontentloaded", "networkidle", "auto"} {
		named("open until "+until, a.do("open", params{"url": w.URL + "/b", "wait_until": until, "snapshot": "none"}).Page, "/b TitleB")
		named("tab_list", a.do("tab_list", nil).Page, "/b TitleB")
		named("read", a.do("read", nil).Page, "/b TitleB")
	}
	var list struct {
		Sessions []struct{ Page protocol.Page }
	}
	if err := a.c.Call(context.Background(), "session_list", params{}, &list); err != nil || len(list.Sessions) != 1 {
		t.Fatalf("session_list: %v, %+v", err, list)
	}
	named("session_list", list.Sessions[0].Page, "/b TitleB")

	a.do("click", click(a.snapshot().ref(t, "button", "Open"), nil))
	opened := settled(func() any { return a.do("tab_list", nil).Tabs[1].Title }, "TitleC")
	if opened != "TitleC" {
		t.Errorf("tab_list: the tab that the page opened is called %v", opened)
	}
	named("tab_select", a.do("tab_select", params{"tab": "t2", "snapshot": "none"}).Page, "/c TitleC")
}
