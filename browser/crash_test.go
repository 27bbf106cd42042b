package browser

import (
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// A tab that dies is replaced although the session has as many tabs as it may:
// windows that its pages opened, here.
func TestADeadTabIsReplacedAtTheLimit(t *testing.T) {
	s := newStage(t)
	v := s.open(t, `<button>Go</button>`)
	if _, err := v.c.TabNew(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	v.c.mu.Lock()
	v.c.o.MaxTabs = 1
	dead := v.c.selected
	v.c.mu.Unlock()
	dead.cdp.Send("Page.crash", struct{}{})
	<-dead.life.Done()
	_, err := v.c.Open(t.Context(), s.srv.URL+"/", protocol.WaitAuto)
	if err != nil {
		t.Errorf("open: %v", err)
	}
	if list := v.c.Tabs(); len(list) != 2 {
		t.Errorf("%+v", list)
	}
}

// A document in which browserd's script was ended before it had run gets it
// again: a page's scripts may be ended just as the next document takes its place.
func TestADocumentWithoutTheScript(t *testing.T) {
	s := newStage(t)
	v := s.open(t, `<button>Go</button>`)
	main := v.c.selected.main
	// The number that Chromium gave the first script of a page.
	if err := main.cdp.Call(t.Context(), "Page.removeScriptToEvaluateOnNewDocument", map[string]any{"identifier": "1"}, nil); err != nil {
		t.Fatal(err)
	}
	v.c.mu.Lock()
	before := main.doc
	v.c.mu.Unlock()
	if err := main.cdp.Call(t.Context(), "Page.reload", map[string]any{}, nil); err != nil {
		t.Fatal(err)
	}
	// Without the script Chromium makes no world for it by itself.
	for now := before; now == before || now == 0; {
		if err := main.cdp.Call(limit(t, 10*time.Second), "Page.createIsolatedWorld", map[string]any{"frameId": main.id, "worldName": world}, nil); err != nil {
			t.Fatal(err)
		}
		v.c.mu.Lock()
		now = main.doc
		v.c.mu.Unlock()
	}
	v.look()
	v.click(v.ref("button", "Go"))
}
