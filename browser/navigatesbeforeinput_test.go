package browser

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// leaving is a transport on which the first input comes only when the page has gone
// to another document.
type leaving struct {
	cdp.Transport
	to string

	mu    sync.Mutex
	asked bool // the page was sent there
	held  []*cdp.Message
	there bool
}

func (l *leaving) Write(ctx context.Context, m *cdp.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Method != "Input.dispatchMouseEvent" || l.there {
		return l.Transport.Write(ctx, m)
	}
	l.held = append(l.held, m)
	if l.asked {
		return nil
	}
	l.asked = true
	return l.Transport.Write(ctx, &cdp.Message{
		ID: 1 << 30, SessionID: m.SessionID, Method: "Runtime.evaluate",
		Params: jsonv2.Value(fmt.Sprintf(`{"expression":"location.href='%s',0"}`, l.to)),
	})
}

func (l *leaving) Read(ctx context.Context, m *cdp.Message) error {
	err := l.Transport.Read(ctx, m)
	if m.Method == "Page.frameNavigated" && strings.Contains(string(m.Params), l.to) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.there = true
		for _, held := range l.held {
			l.Transport.Write(ctx, held)
		}
	}
	return err
}

// A page that leaves by itself between the finding of an element and the input has
// not received it: the click says so, and names nothing that was hit.
func TestClickWhileThePageNavigates(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/next" {
			io.WriteString(w, "<!doctype html><title>Next</title><p>Next")
			return
		}
		io.WriteString(w, `<!doctype html><title>First</title><button>Pay</button>`)
	}))
	t.Cleanup(srv.Close)
	b := stageOver(t, func(transport cdp.Transport) cdp.Transport {
		return &leaving{Transport: transport, to: srv.URL + "/next"}
	})
	ctx := limit(t, 30*time.Second)
	c, err := b.NewContext(ctx, ContextOptions{}, func(string, map[string]any) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(ctx, srv.URL, protocol.WaitAuto); err != nil {
		t.Fatal(err)
	}
	v := &visit{t: t, c: c, refs: snapshot.NewRefs()}
	v.look()
	e, err := c.Act(ctx, v.refs, protocol.Act{Action: protocol.Click{Ref: v.ref("button", "Pay")}})
	if protocol.CodeOf(err) != protocol.StaleRef || e.Hit != "" {
		t.Errorf("%+v, %v", e, err)
	}
}

// A dialog that the page opens by itself while an action waits for its element is
// not what came of the action.
func TestDialogBeforeTheInput(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<button disabled onclick="report('clicked')">Go</button><script>onload=()=>setTimeout(()=>report(confirm('Cookies?')),1500)</script>`)
	equal(t, "answer", v.click(v.ref("button", "Go")), `dialog_open: a dialog (confirm) is open and holds the page {"kind":"confirm","message":"Cookies?"}`)
	if _, _, _, err := v.c.Dialog(limit(t, 5*time.Second), nil, protocol.DialogAnswer{Accept: true}); err != nil {
		t.Fatal(err)
	}
	equal(t, "log", v.log(), "true")
}

// An expression that opens a dialog has begun, and says so: it goes on when the dialog is answered.
// One that comes while a dialog is open has not.
func TestDialogInAnExpression(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<p id=n>0</p>`)
	eval := func(expression string) string {
		_, err := v.c.Eval(limit(t, 10*time.Second), v.refs, "", expression)
		return answer(nil, err)
	}
	equal(t, "first", eval(`report(confirm('Sure?'))`), `dialog_open: a dialog (confirm) is open and holds the page; the expression has begun, and its value is lost {"begun":true,"kind":"confirm","message":"Sure?"}`)
	equal(t, "second", eval(`report('second')`), `dialog_open: a dialog (confirm) is open and holds the page {"kind":"confirm","message":"Sure?"}`)
	if _, _, _, err := v.c.Dialog(limit(t, 5*time.Second), nil, protocol.DialogAnswer{Accept: true}); err != nil {
		t.Fatal(err)
	}
	equal(t, "log", v.log(), "true")
}
