package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/protocol"
)

// pooledReady waits until the contexts that are to be ready are.
func pooledReady(t *testing.T, b *Browser) {
	t.Helper()
	eventually(t, 20*time.Second, "contexts ready", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		n := 0
		for _, s := range b.pooled {
			select {
			case <-s.done:
				if s.err != nil {
					t.Fatalf("making a context ready: %v", s.err)
				}
				n++
			default:
			}
		}
		return n == b.pool.Ready+b.coming
	})
}

// keeping is a Browser over a Chromium that runs.
func keeping(t *testing.T, s Pool) *Browser {
	t.Helper()
	b := New(started(t, testConfig(t)), discard())
	t.Cleanup(b.Close)
	b.StartPool(s)
	return b
}

// handed is a context from b, closed at the end.
func handed(t *testing.T, b *Browser, o ContextOptions) *Context {
	t.Helper()
	c, err := b.NewContext(limit(t, 20*time.Second), o, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// asked is the value of an expression in the page's own world.
func asked(t *testing.T, c *Context, expression string) string {
	t.Helper()
	v, err := c.Eval(limit(t, 10*time.Second), nil, "", expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return string(v)
}

// gated is a transport that writes nothing of a new target until the gate opens, and notes the sessions whose pages
// are warmed up.
type gated struct {
	cdp.Transport
	gate   chan struct{}
	mu     sync.Mutex
	warmed []string
}

func (g *gated) Write(ctx context.Context, m *cdp.Message) error {
	if m.Method == target.CommandCreateTarget {
		<-g.gate
	}
	if strings.Contains(string(m.Params), "warmUp(") {
		g.mu.Lock()
		g.warmed = append(g.warmed, string(m.SessionID))
		g.mu.Unlock()
	}
	return g.Transport.Write(ctx, m)
}

// A context that a session waits for is handed out without warming up, the one after it is warmed up.
func TestWhoWaitsDoesNotWaitForTheWarmUp(t *testing.T) {
	g := &gated{gate: make(chan struct{})}
	b := stageOver(t, func(t cdp.Transport) cdp.Transport { g.Transport = t; return g })
	t.Cleanup(b.Close)
	b.StartPool(Pool{Ready: 1, Ahead: true})
	pooled := func(n int) func() bool {
		return func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return len(b.pooled) == n
		}
	}
	eventually(t, 20*time.Second, "a context that is being made", pooled(1))
	waits := make(chan *Context)
	go func() {
		c, err := b.NewContext(t.Context(), ContextOptions{}, quiet)
		if err != nil {
			t.Error(err)
		}
		waits <- c
	}()
	eventually(t, 20*time.Second, "a session that waits for it", pooled(0))
	close(g.gate)
	c := <-waits
	if c == nil {
		return
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	var warmed []string
	eventually(t, 20*time.Second, "the next one is warmed up", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		warmed = slices.Clone(g.warmed)
		return len(warmed) > 0
	})
	if len(warmed) != 1 || warmed[0] == string(c.selected.cdp.ID()) {
		t.Errorf("warmed up are %q, and the session has %s", warmed, c.selected.cdp.ID())
	}
}

// whatPagesSee is what could tell one context from another.
const whatPagesSee = `(async () => ({
  size: [innerWidth, innerHeight, screen.width, screen.height, devicePixelRatio],
  languages: [navigator.language, navigator.languages, Intl.DateTimeFormat().resolvedOptions().locale],
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  agent: navigator.userAgent,
  stored: [location.protocol === 'http:' ? document.cookie + '|' + localStorage.length + '|' + (await indexedDB.databases()).length + '|' + (await caches.keys()).length : ''],
  page: [location.href, document.title, window.name, history.length, document.hasFocus(), document.visibilityState],
  may: await Promise.all(['geolocation', 'notifications', 'camera'].map(async (name) => (await navigator.permissions.query({ name })).state)),
}))()`

// A context that was ready is what one made for its session would have been,
// whatever the session asks for.
func TestReadyContextIsAsGoodAsNew(t *testing.T) {
	var got http.Header
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			got = r.Header
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>site</title>")
	}))
	t.Cleanup(site.Close)
	cookies := []protocol.Cookie{{Name: "kept", Value: "1", URL: site.URL}}
	options := map[string]ContextOptions{
		"ordinary": {},
		"everything": {
			Width: 800, Height: 600, Locale: "fr-FR", Timezone: "Asia/Tokyo", UserAgent: "Me/1.0", Headers: &protocol.Headers{Values: map[string]string{"X-Mine": "1"}, Origins: []string{site.URL}},
			Permissions: []string{"geolocation"}, Downloads: true, MaxTabs: 2,
		},
		"locale": {Locale: "de-DE"},
	}
	fresh := keeping(t, Pool{})
	ready := keeping(t, Pool{Ready: 1})
	handed(t, ready, ContextOptions{}) // the first is made when it is asked for
	// What remains of a session, for another.
	before := handed(t, fresh, ContextOptions{})
	if err := before.SetCookies(limit(t, 5*time.Second), cookies); err != nil {
		t.Fatal(err)
	}
	<-before.cookies.jar.Keep()
	remains := before.Restore()
	remains.Documents = 7
	options["restored"] = ContextOptions{Restore: &remains}
	for name, o := range options {
		t.Run(name, func(t *testing.T) {
			pooledReady(t, ready)
			ready.mu.Lock()
			made := ready.pooled[0].c
			ready.mu.Unlock()
			var seen [2][]string
			for i, b := range []*Browser{fresh, ready} {
				c := handed(t, b, o)
				if b == ready && c != made {
					t.Fatal("it is not the one that was ready")
				}
				seen[i] = append(seen[i], asked(t, c, whatPagesSee), fmt.Sprint(c.State().Document))
				if _, err := c.Open(limit(t, 10*time.Second), site.URL+"/", protocol.WaitLoad); err != nil {
					t.Fatal(err)
				}
				h, _ := json.Marshal(got)
				seen[i] = append(seen[i], asked(t, c, whatPagesSee), string(h), fmt.Sprint(c.State()), fmt.Sprint(len(c.Tabs())))
			}
			if d := cmp.Diff(seen[0], seen[1]); d != "" {
				t.Errorf("made for it, and ready (-made +ready):\n%s", d)
			}
			t.Logf("%s", seen[1])
		})
	}
}

// What one session leaves, no other finds: a context is handed out once.
func TestReadyContextIsNobodysTwice(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
	}))
	t.Cleanup(site.Close)
	b := keeping(t, Pool{Ready: 2})
	ids := map[cdproto.BrowserContextID]bool{}
	for i := range 6 {
		c := handed(t, b, ContextOptions{})
		if ids[c.id] {
			t.Fatalf("context %s was somebody's before", c.id)
		}
		ids[c.id] = true
		if _, err := c.Open(limit(t, 10*time.Second), site.URL, protocol.WaitLoad); err != nil {
			t.Fatal(err)
		}
		if got := asked(t, c, "document.cookie + localStorage.length"); got != `"0"` {
			t.Errorf("session %d finds %s", i, got)
		}
		asked(t, c, "document.cookie = 'a=1', localStorage.setItem('a', '1')")
		if err := c.Close(limit(t, 5*time.Second)); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			pooledReady(t, b)
		}
	}
}

// A browser that is lost takes the ready contexts with it; the next session
// gets a new one, and others are made ready.
func TestReadyContextsOfALostBrowser(t *testing.T) {
	b := keeping(t, Pool{Ready: 1})
	first := handed(t, b, ContextOptions{})
	pooledReady(t, b)
	b.mu.Lock()
	ready := b.pooled[0].c
	b.mu.Unlock()
	if p, err := os.FindProcess(b.chromium.Info().PID); err != nil || p.Signal(syscall.SIGKILL) != nil {
		t.Fatal("Chromium cannot be killed")
	}
	<-first.Done()
	<-ready.Done()
	second := handed(t, b, ContextOptions{})
	if second == ready || asked(t, second, "1+1") != "2" {
		t.Error("a session got a context of a browser that was lost")
	}
	pooledReady(t, b)
	if n := b.chromium.Info().Generation; n != 2 {
		t.Errorf("%d launches, want 2", n)
	}
}

// Nobody keeps Chromium running: when no session has used it for a while it
// goes, with what was ready, and comes back with the next session.
func TestIdleChromiumGoes(t *testing.T) {
	b := keeping(t, Pool{Ready: 1, Idle: 300 * time.Millisecond})
	c := handed(t, b, ContextOptions{})
	pooledReady(t, b)
	pid := b.chromium.Info().PID
	time.Sleep(600 * time.Millisecond) // there is no event for what does not happen
	if !b.chromium.Info().Running {
		t.Fatal("Chromium went although a session uses it")
	}
	c.Close(context.Background())
	eventually(t, 10*time.Second, "Chromium gone", func() bool { return !b.chromium.Info().Running && syscall.Kill(pid, 0) != nil })
	if again := handed(t, b, ContextOptions{}); asked(t, again, "1+1") != "2" {
		t.Error("it did not come back")
	}
}

// A Chromium that is there only when whoever asked for it has given up goes too.
func TestAChromiumThatNobodyAwaitsGoes(t *testing.T) {
	supervisor := chromium.Start(t.Context(), testConfig(t), discard())
	t.Cleanup(func() { supervisor.Close(context.Background()) })
	b := New(supervisor, discard())
	t.Cleanup(b.Close)
	b.StartPool(Pool{Idle: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.NewContext(ctx, ContextOptions{}, quiet); err == nil {
		t.Fatal("a context for somebody who has given up")
	}
	eventually(t, 10*time.Second, "Chromium was launched and has gone", func() bool {
		i := b.chromium.Info()
		return i.Generation == 1 && !i.Running
	})
}

// What was to be made ready when Chromium went is not made: it would launch Chromium
// again, which nobody would let go.
func TestNothingIsMadeReadyAfterwards(t *testing.T) {
	b := keeping(t, Pool{Ready: 1, Idle: time.Hour})
	c := handed(t, b, ContextOptions{})
	pooledReady(t, b)
	c.Close(context.Background())
	eventually(t, 10*time.Second, "no session", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.inUse == 0
	})
	b.mu.Lock()
	b.refill = time.AfterFunc(time.Hour, b.refillPool)
	pending := b.refill
	b.mu.Unlock()
	b.stopIdle()
	if pending.Stop() {
		t.Error("contexts are still to be made ready")
	}
	b.refillPool() // which had begun already, and waited for stopIdle
	b.mu.Lock()
	if len(b.pooled) > 0 || b.refill != nil {
		t.Error("a context is made ready in a Chromium that goes")
	}
	b.mu.Unlock()
	b.work.Wait()
	if b.chromium.Running() || b.chromium.Info().Generation != 1 {
		t.Errorf("Chromium was launched again: %+v", b.chromium.Info())
	}
	again := handed(t, b, ContextOptions{})
	pooledReady(t, b)
	if asked(t, again, "1+1") != "2" {
		t.Error("it did not come back")
	}
}

// Asked for ahead, Chromium and the contexts are there before any session, and
// again after a loss.
func TestReadyAhead(t *testing.T) {
	supervisor := chromium.Start(t.Context(), testConfig(t), discard())
	b := New(supervisor, discard())
	t.Cleanup(func() {
		b.Close()
		supervisor.Close(context.Background())
	})
	b.StartPool(Pool{Ready: 1, Idle: time.Millisecond, Ahead: true})
	for generation := 1; generation <= 2; generation++ {
		pooledReady(t, b)
		i := supervisor.Info()
		if !i.Running || i.Generation != generation {
			t.Fatalf("%+v, want generation %d", i, generation)
		}
		handed(t, b, ContextOptions{}).Close(context.Background())
		pooledReady(t, b)
		if generation == 1 {
			lost := b.pooled[0].c.Done()
			syscall.Kill(i.PID, syscall.SIGKILL)
			<-lost
			eventually(t, 20*time.Second, "another", func() bool { return supervisor.Info().Generation == 2 })
		}
	}
}

// Contexts are made for sessions that are about to come, without any session before. Each takes one; those that
// nobody took are closed when nobody comes any more, and Chromium with them.
func TestContextsForSessionsThatCome(t *testing.T) {
	b := keeping(t, Pool{Ready: 1, Idle: 300 * time.Millisecond})
	count := func() (pooled, contexts int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.host.mu.Lock()
		defer b.host.mu.Unlock()
		return len(b.pooled), len(b.host.contexts)
	}
	b.Expect(3)
	pooledReady(t, b)
	if pooled, contexts := count(); pooled != 4 || contexts != 4 {
		t.Fatalf("%d ready of %d, want 4 of 4", pooled, contexts)
	}
	came := []*Context{handed(t, b, ContextOptions{}), handed(t, b, ContextOptions{})}
	pooledReady(t, b)
	if pooled, contexts := count(); pooled != 2 || contexts != 4 {
		t.Errorf("after two sessions %d ready of %d, want 2 of 4", pooled, contexts)
	}
	b.Expect(0)
	eventually(t, 10*time.Second, "what is too many closed", func() bool { pooled, contexts := count(); return pooled == 1 && contexts == 3 })
	for _, c := range came {
		c.Close(context.Background())
	}
	eventually(t, 10*time.Second, "Chromium gone", func() bool { return !b.chromium.Info().Running })

	b.Expect(1)
	pooledReady(t, b)
	b.Expect(0)
	eventually(t, 10*time.Second, "Chromium gone where nobody came", func() bool { return !b.chromium.Info().Running })

	none := keeping(t, Pool{})
	none.Expect(3)
	if len(none.pooled) > 0 {
		t.Error("contexts are made where none are to be ready")
	}
}

// What is wrong with a session's options costs no context.
func TestReadyContextIsKeptFromBadOptions(t *testing.T) {
	b := keeping(t, Pool{Ready: 1})
	handed(t, b, ContextOptions{})
	pooledReady(t, b)
	b.mu.Lock()
	ready := b.pooled[0]
	b.mu.Unlock()
	_, err := b.NewContext(t.Context(), ContextOptions{Permissions: []string{"everything"}}, quiet)
	if protocol.CodeOf(err) != protocol.InvalidParams {
		t.Errorf("%v, want invalid_params", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pooled) != 1 || b.pooled[0] != ready {
		t.Error("the ready context is gone")
	}
}

// A Chromium that is stopped while a context is being made holds up neither who
// asked for it nor the daemon's end.
func TestAStoppedChromiumHoldsNobodyUp(t *testing.T) {
	cfg := testConfig(t)
	c := started(t, cfg)
	b := New(c, discard())
	first, err := b.NewContext(limit(t, 20*time.Second), ContextOptions{}, func(string, map[string]any) {})
	if err != nil {
		t.Fatal(err)
	}
	known := func() int {
		first.host.mu.Lock()
		defer first.host.mu.Unlock()
		return len(first.host.contexts)
	}
	signal := func(s syscall.Signal) { syscall.Kill(-c.Info().PID, s) }
	t.Cleanup(func() { signal(syscall.SIGCONT) })
	for try := 0; ; try++ {
		before := known()
		ctx, cancel := context.WithCancel(t.Context())
		made := make(chan error, 1)
		go func() {
			_, err := b.NewContext(ctx, ContextOptions{}, func(string, map[string]any) {})
			made <- err
		}()
		eventually(t, 20*time.Second, "a context", func() bool { return known() > before })
		signal(syscall.SIGSTOP) // its page is still to come
		cancel()
		select {
		case err := <-made:
			if err == nil && try < 20 { // it had come
				signal(syscall.SIGCONT)
				continue
			}
			if err == nil {
				t.Fatal("a context is always made before Chromium can be stopped")
			}
		case <-time.After(10 * time.Second):
			t.Fatal("who asked for a context still waits for one")
		}
		break
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.Close()
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the end waits for Chromium")
	}
}

// Who gives up while Chromium makes a context for it leaves no context that nobody
// knows of, and that Chromium would keep for as long as it lives.
func TestAContextThatIsGivenUpIsDisposedOf(t *testing.T) {
	c := started(t, testConfig(t))
	b := New(c, discard())
	t.Cleanup(b.Close)
	first := handed(t, b, ContextOptions{})
	conn := first.host.conn
	asked := func() bool {
		return slices.Contains(conn.Pending(), target.CreateBrowserContext.Method)
	}
	signal := func(s syscall.Signal) { syscall.Kill(-c.Info().PID, s) }
	signal(syscall.SIGSTOP) // it answers when it has been given up
	t.Cleanup(func() { signal(syscall.SIGCONT) })
	ctx, cancel := context.WithCancel(t.Context())
	opened := make(chan error, 1)
	go func() {
		_, err := b.NewContext(ctx, ContextOptions{}, quiet)
		opened <- err
	}()
	eventually(t, 20*time.Second, "Chromium asked for a context", asked)
	cancel()
	if err := <-opened; !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want that it was given up", err)
	}
	signal(syscall.SIGCONT)
	// Chromium answers in the order in which it is asked: the first answer knows of
	// the context already.
	var left target.GetBrowserContextsResult
	eventually(t, 20*time.Second, "the context gone", func() bool {
		var err error
		if left, err = cdproto.Call(limit(t, 20*time.Second), first.host.root, target.GetBrowserContexts, cdproto.Empty{}); err != nil {
			t.Fatal(err)
		}
		return len(left.BrowserContextIDs) == 1
	})
	if left.BrowserContextIDs[0] != first.id {
		t.Errorf("%v is left, want the one that is open, %s", left.BrowserContextIDs, first.id)
	}
}
