package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

const latecomer = `<title>Late</title><div id=d>Open</div><script>function listen(){d.addEventListener('click',()=>0)}</script>`

func (v *visit) clickable(name string) bool {
	v.t.Helper()
	v.look()
	for _, n := range v.seen {
		if n.Role == "generic" && n.Name == name {
			return true
		}
	}
	return false
}

// An element that was there is clickable soon after it was given a listener, by an
// expression or by a timer of the page's own, of which nothing else is to be seen.
func TestListenerThatComesLate(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, by := range []string{"listen()", "setTimeout(listen,200),0"} {
		t.Run(by, func(t *testing.T) {
			v := s.open(t, latecomer)
			for range 3 {
				if v.clickable("Open") {
					t.Fatal("it is clickable before it listens")
				}
			}
			v.eval(by)
			for end := time.Now().Add(10 * time.Second); !v.clickable("Open"); {
				if time.Now().After(end) {
					t.Fatalf("it is not clickable: %v", v.seen)
				}
			}
		})
	}
}

// Who looks again and again at a page to which nothing happens asks for its
// listeners now and then; right after something was done to it they are asked for.
func TestListenersAreAskedForWhereTheyMayHaveCome(t *testing.T) {
	t.Parallel()
	b, away := stageFar(t, 0)
	ctx := limit(t, 30*time.Second)
	c, err := b.NewContext(ctx, ContextOptions{}, func(string, map[string]any) {})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, latecomer)
	}))
	t.Cleanup(srv.Close)
	if _, err := c.Open(ctx, srv.URL, protocol.WaitAuto); err != nil {
		t.Fatal(err)
	}
	v := &visit{t: t, c: c, refs: snapshot.NewRefs()}
	asks := func() bool {
		return strings.Contains(fmt.Sprint(away.roundTrips(v.look)), "getEventListeners")
	}
	end := time.Now().Add(20 * time.Second)
	for last := time.Now(); ; {
		for !asks() && time.Now().Before(end) {
		}
		since := time.Since(last)
		if last = time.Now(); since >= 500*time.Millisecond {
			break
		}
		if last.After(end) {
			t.Fatalf("a page to which nothing happens is asked again after %v", since)
		}
	}
	// What was asked for a moment ago is not asked for again, even then.
	for v.eval("0"); !asks(); {
		if time.Now().After(end) {
			t.Fatal("no look asks for the listeners after an expression")
		}
	}
}

// Who gives up while a document is told of its listeners and its closed shadow roots
// costs the next one none of them, whatever was asked for when that was.
func TestListenersWhoseTellingWasGivenUp(t *testing.T) {
	t.Parallel()
	const (
		late   = `<title>Late</title><div id=d>Open</div>`
		listen = `d.addEventListener('click',()=>0);d.append(document.createElement('i'));0`
		hidden = `<script>customElements.define('x-box',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'closed'}).innerHTML='<button>Inner</button>'}})</script>`
		host   = `document.body.append(document.createElement('x-box'));0`
	)
	for _, c := range []struct {
		page, act, role, name string
		asked                 []string
	}{
		{late, listen, "generic", "Open", []string{"__bd.now().pendingListeners()", "DOMDebugger.getEventListeners", "DOM.resolveNode"}},
		{hidden, host, "button", "Inner", []string{"__bd.now().closedRootHosts()", "Runtime.getProperties", "DOM.describeNode", "DOM.resolveNode", "__bd.addClosedRoot("}},
	} {
		for _, asked := range c.asked {
			t.Run(c.name+" "+asked, func(t *testing.T) {
				v, away, _ := openLeft(t, map[string]string{"/a": c.page})
				v.look()
				v.eval(c.act)
				ctx, cancel := context.WithCancel(limit(t, 20*time.Second))
				over := make(chan struct{})
				away.meanwhile(asked, func() {
					cancel()
					<-over
				})
				_, err := v.c.Capture(ctx, snapshot.DefaultOptions(), v.refs)
				close(over)
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("nobody gave up: %v", err)
				}
				v.look()
				if !slices.ContainsFunc(v.seen, func(n snapshot.Node) bool { return n.Name == c.name && n.Role == c.role }) {
					t.Errorf("%s %s is not seen: %v", c.role, c.name, v.seen)
				}
			})
		}
	}
}

// listenerAnswers counts the answers about listeners, and what Chromium holds for them.
type listenerAnswers struct {
	cdp.Transport
	mu            sync.Mutex
	asked         map[int64]bool
	answers, held int
}

func (l *listenerAnswers) Write(ctx context.Context, m *cdp.Message) error {
	l.mu.Lock()
	if m.Method == "DOMDebugger.getEventListeners" {
		l.asked[m.ID] = true
	}
	l.mu.Unlock()
	return l.Transport.Write(ctx, m)
}

func (l *listenerAnswers) Read(ctx context.Context, m *cdp.Message) error {
	err := l.Transport.Read(ctx, m)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked[m.ID] {
		l.answers++
		l.held += strings.Count(string(m.Result), `"objectId"`)
	}
	return err
}

// However often a page is looked at, Chromium holds nothing of it for browserd: the functions of
// its listeners would take 40 MB in 1,000 snapshots of a page that has 100.
func TestListenersAreNotHeld(t *testing.T) {
	t.Parallel()
	l := &listenerAnswers{asked: map[int64]bool{}}
	b := stageOver(t, func(transport cdp.Transport) cdp.Transport {
		l.Transport = transport
		return l
	})
	v := newStageIn(t, b).open(t, latecomer+`<script>listen()</script>`)
	for end := time.Now().Add(10 * time.Second); ; v.look() {
		l.mu.Lock()
		answers, held := l.answers, l.held
		l.mu.Unlock()
		if held != 0 {
			t.Fatalf("%d answers, which hold %d objects", answers, held)
		}
		if answers >= 3 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d answers", answers)
		}
	}
	if !v.clickable("Open") {
		t.Fatalf("it is not clickable: %v", v.seen)
	}
}
