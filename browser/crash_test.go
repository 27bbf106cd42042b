package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
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

// While a tab that died is loaded again, another may be selected, and may die too:
// the one that was selected last stays, or is replaced itself.
func TestATabDiesWhileAnotherIsReplaced(t *testing.T) {
	s := newStage(t)
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprint("both: ", both), func(t *testing.T) {
			again, goes := make(chan struct{}, 9), make(chan struct{}) // 9: more than there are
			loads := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if loads++; loads > 1 {
					again <- struct{}{}
					select {
					case <-goes:
					case <-t.Context().Done():
					}
				}
				io.WriteString(w, "<title>Slow</title>")
			}))
			t.Cleanup(srv.Close)
			ctx := limit(t, 20*time.Second)
			v := s.open(t, "<title>Other</title>")
			c := v.c
			crash := func() {
				c.mu.Lock()
				dead := c.selected
				c.mu.Unlock()
				dead.cdp.Send("Page.crash", struct{}{})
				<-dead.life.Done()
			}
			other := c.State().URL
			if _, err := c.Open(ctx, srv.URL, protocol.WaitAuto); err != nil {
				t.Fatal(err)
			}
			crash()
			<-again
			if _, err := c.TabNew(ctx, other); err != nil {
				t.Fatal(err)
			}
			if both {
				crash()
				if _, err := c.tab(ctx); err != nil {
					t.Fatal(err)
				}
			}
			close(goes)
			eventually(t, 10*time.Second, "the tab that died is loaded again", func() bool {
				return slices.ContainsFunc(c.Tabs(), func(tab protocol.Tab) bool { return tab.Title == "Slow" })
			})
			time.Sleep(200 * time.Millisecond) // it must not be selected later either
			if got := c.State(); got.URL != other {
				t.Errorf("commands go to %s %s, want %s", got.Tab, got.URL, other)
			}
		})
	}
}

// Who was told by a call that Chromium is lost finds the context gone at once: the
// next command would work on it otherwise, and tell of the same loss again.
func TestALostContextIsGoneAtOnce(t *testing.T) {
	s := newStage(t)
	v := s.open(t, `<button>Go</button>`)
	v.c.host.root.Send("Browser.crash", struct{}{})
	_, err := v.c.Eval(limit(t, 10*time.Second), v.refs, "", "new Promise(() => {})")
	select {
	case <-v.c.Done():
	default:
		t.Error("the context is not gone yet")
	}
	if protocol.CodeOf(err) != protocol.BrowserLost {
		t.Errorf("the call: %v", err)
	}
}

// An upload that waits for a file chooser when Chromium dies says so, and one that
// comes when the session is closed leaves nothing behind.
func TestUploadToWhatEnds(t *testing.T) {
	s := newStage(t)
	v := s.open(t, `<button onclick="report('clicked')">Choose</button>`)
	files := []protocol.File{{Name: "a.txt", Content: []byte("hello")}}
	ended := make(chan error)
	go func() {
		_, err := v.c.Upload(limit(t, 10*time.Second), v.refs, v.ref("button", "Choose"), files)
		ended <- err
	}()
	v.c.mu.Lock()
	page := v.c.selected.cdp
	v.c.mu.Unlock()
	eventually(t, 5*time.Second, "the click", func() bool { // asked beside the upload
		var log evaluated
		err := page.Call(t.Context(), "Runtime.evaluate", map[string]any{"expression": "log.length"}, &log)
		return err == nil && string(log.Result.Value) == "1"
	})
	v.c.host.root.Send("Browser.crash", struct{}{})
	if err := <-ended; protocol.CodeOf(err) != protocol.BrowserLost {
		t.Errorf("Chromium died: %v", err)
	}

	v = s.open(t, "")
	v.c.Close(t.Context())
	if _, err := v.c.store(files); protocol.CodeOf(err) != protocol.SessionNotFound {
		t.Errorf("closed before: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(v.c.host.profile.dir, "uploads-*")); len(left) > 0 {
		t.Errorf("%q is left", left)
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
