package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/targets"
	"github.com/browserd/browserd/protocol"
)

// A tab that dies is replaced although the session has as many tabs as it may:
// windows that its pages opened, here.
func TestADeadTabIsReplacedAtTheLimit(t *testing.T) {
	t.Parallel()
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
// the one that was selected last stays, or is replaced itself, whichever is back first.
func TestATabDiesWhileAnotherIsReplaced(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, order := range [][]string{{"/first"}, {"/second", "/first"}, {"/first", "/second"}} {
		t.Run(fmt.Sprint("back: ", order), func(t *testing.T) {
			again := make(chan string, 9) // 9: more than there are
			goes := map[string]chan struct{}{"/first": make(chan struct{}), "/second": make(chan struct{})}
			var loads sync.Map
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, before := loads.LoadOrStore(r.URL.Path, true); before {
					again <- r.URL.Path
					select {
					case <-goes[r.URL.Path]:
					case <-t.Context().Done():
					}
				}
				io.WriteString(w, "<title>Slow</title>")
			}))
			t.Cleanup(srv.Close)
			ctx := limit(t, 20*time.Second)
			c := s.open(t, "").c
			back := map[string]chan struct{}{} // closed when what died is replaced
			crash := func(path string) {
				c.mu.Lock()
				dead := c.selected
				c.mu.Unlock()
				dead.cdp.Send("Page.crash", struct{}{})
				<-dead.life.Done()
				c.mu.Lock()
				back[path] = c.replacing
				c.mu.Unlock()
				if got := <-again; got != path {
					t.Fatalf("%s is loaded again, want %s", got, path)
				}
			}
			if _, err := c.Open(ctx, srv.URL+"/first", protocol.WaitAuto); err != nil {
				t.Fatal(err)
			}
			crash("/first")
			if _, err := c.TabNew(ctx, srv.URL+"/second"); err != nil {
				t.Fatal(err)
			}
			if len(order) > 1 {
				crash("/second")
			}
			for _, path := range order {
				close(goes[path])
				<-back[path]
			}
			eventually(t, 5*time.Second, "commands go to the second", func() bool { return c.State().URL == srv.URL+"/second" })
		})
	}
}

// Who was told by a call that Chromium is lost finds the context gone at once: the
// next command would work on it otherwise, and tell of the same loss again.
func TestALostContextIsGoneAtOnce(t *testing.T) {
	t.Parallel()
	s := newStageApart(t)
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
	t.Parallel()
	s := newStageApart(t)
	v := s.open(t, `<button onclick="report('clicked')">Choose</button>`)
	files := []protocol.File{{Name: "a.txt", Content: []byte("hello")}}
	ended := make(chan error)
	go func() {
		_, err := v.c.Act(limit(t, 10*time.Second), v.refs, protocol.Act{Action: protocol.Upload{Ref: v.ref("button", "Choose"), Files: files}})
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
	if _, err := store(v.c, files); protocol.CodeOf(err) != protocol.SessionNotFound {
		t.Errorf("closed before: %v", err)
	}
	beside, err := v.c.host.process.MakeDir("beside")
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(beside), "uploads-*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// A document in which browserd's script was ended before it had run gets it
// again: a page's scripts may be ended just as the next document takes its place. Elements
// of the page that have the script's names are no script.
func TestADocumentWithoutTheScript(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<button>Go</button><form id=__bd hidden><input name=now></form><iframe name=__bdReached hidden></iframe>`)
	main := v.c.selected.frames.main
	// The number that Chromium gave the first script of a page.
	if err := main.cdp.Call(t.Context(), "Page.removeScriptToEvaluateOnNewDocument", map[string]any{"identifier": "1"}, nil); err != nil {
		t.Fatal(err)
	}
	v.c.mu.Lock()
	before, target := main.doc, main.cdp
	v.c.mu.Unlock()
	if err := target.Call(t.Context(), "Page.reload", map[string]any{}, nil); err != nil {
		t.Fatal(err)
	}
	// Without the script Chromium makes no world for it by itself.
	for now := before; now == before || now == 0; {
		if err := target.Call(limit(t, 10*time.Second), "Page.createIsolatedWorld", map[string]any{"frameId": main.id, "worldName": targets.World}, nil); err != nil {
			t.Fatal(err)
		}
		v.c.mu.Lock()
		now = main.doc
		v.c.mu.Unlock()
	}
	v.look()
	v.click(v.ref("button", "Go"))
}
