package e2e_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// browserKeys are the keys by which a person tells a browser, or the window system, to
// open, close, leave, save, print, show its own pages or end.
var browserKeys = []string{
	"Control+t", "Control+n", "Control+Shift+n", "Control+w", "Control+Shift+w", "Control+F4", "Alt+F4", "Control+q", "Control+Shift+q",
	"Control+o", "Control+s", "Control+p", "Control+Shift+p", "Control+u", "Control+j", "Control+h", "Control+d", "Control+f", "Control+g", "Control+l", "Control+k", "Control+e",
	"F1", "F3", "F5", "F6", "F7", "F10", "F11", "F12", "Shift+F10", "Shift+Escape", "Control+Shift+i", "Control+Shift+j", "Control+Shift+c", "Control+Shift+Delete", "Control+Shift+o", "Control+Shift+b", "Control+Shift+t",
	"Control+r", "Control+Shift+r", "Control+F5", "Alt+Home", "Alt+ArrowLeft", "Alt+ArrowRight", "Backspace", "Control+Tab", "Control+Shift+Tab", "Control+PageDown", "Control+1", "Control+9", "Alt+d", "Alt+f", "Alt+e", "Alt+Tab",
	"Control++", "Control+-", "Control+0", "Meta+t", "Meta+q", "Meta+w", "Control+Alt+Delete", "Control+Alt+t", "Escape", "ContextMenu", "PrintScreen", "Control+Shift+m", "Control+m",
}

// Every key goes to the page, and tells the browser nothing: no tab, window, dialog, download
// or page of the browser's own comes of it, nothing closes, and no program is started.
func TestKeysTellTheBrowserNothing(t *testing.T) {
	t.Parallel()
	d, w := testdaemon.Start(t, testdaemon.Options{}), newPageServer(t)
	w.serve("/first", page("first", "<h1>First</h1>"), "")
	w.serve("/keys", page("keys", `<h1>Keys</h1><input aria-label=Field><script>window.heard = []; addEventListener('keydown', e => { heard.push(e.code) })</script>`), "")
	a := newAgent(t, d)
	a.do("session_open", params{"downloads": true})
	a.open(w.URL + "/first")
	a.open(w.URL + "/keys")
	programs := func() (list []string) {
		for _, p := range testdaemon.Descendants(d.PID) {
			if args := p.Args(); len(args) > 0 && !slices.Contains(list, args[0]) {
				list = append(list, args[0])
			}
		}
		slices.Sort(list)
		return list
	}
	before := programs()
	for _, key := range browserKeys {
		var got result
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := a.c.Call(ctx, "press", params{"key": key, "snapshot": "none", "timeout_ms": 8000}, &got)
		cancel()
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if e := got.Effect; e != nil && (e.Navigated != "" || e.Dialog != nil || len(e.TabsOpened) > 0 || len(e.Downloads) > 0) {
			t.Errorf("%s: %+v", key, e)
		}
		if tabs := a.do("tab_list", nil).Tabs; len(tabs) != 1 || tabs[0].URL != w.URL+"/keys" {
			t.Fatalf("%s: the tabs are %+v", key, tabs)
		}
	}
	// The last of a chord is the key itself; what is heard before are its modifiers.
	heard, _ := a.do("eval", params{"expression": "heard.filter(c => !/^(Control|Shift|Alt|Meta)/.test(c)).length"}).Value.(float64)
	if int(heard) != len(browserKeys) {
		t.Errorf("the page heard %v keys, want %d", heard, len(browserKeys))
	}
	if tabs := a.do("tab_list", nil).Tabs; len(tabs) != 1 || tabs[0].URL != w.URL+"/keys" {
		t.Errorf("at the end the tabs are %+v", tabs)
	}
	if got := programs(); !slices.Equal(got, before) {
		t.Errorf("programs: %v, before %v", got, before)
	}
}
