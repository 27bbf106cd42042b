package browser

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/browser/event"
	"github.com/browserd/browserd/protocol"
)

// workerSite serves a page without content and the scripts of its workers, one
// of them from each path.
func workerSite(t *testing.T) string {
	t.Helper()
	scripts := map[string]string{
		"/plain.js":   `console.log('plain says hello'); fetch('/asked-by-plain').then(r => r.text()).then(text => postMessage('plain ' + text))`,
		"/module.js":  `import {word} from '/word.js'; console.log('module says hello'); postMessage('module ' + word)`,
		"/word.js":    `export const word = 'imported'`,
		"/nested.js":  `console.log('nested says hello'); const w = new Worker('/plain.js'); w.onmessage = e => postMessage('nested ' + e.data)`,
		"/broken.js":  `throw new Error('broken on purpose')`,
		"/shared.js":  `console.log('shared says hello'); onconnect = e => fetch('/asked-by-shared').then(r => r.text()).then(text => e.ports[0].postMessage('shared ' + text))`,
		"/service.js": `console.log('service says hello'); onmessage = e => fetch('/asked-by-service').then(r => r.text()).then(text => e.source.postMessage('service ' + text))`,
		"/audio.js":   `registerProcessor('p', class extends AudioWorkletProcessor { process() { return false } })`,
		"/paint.js":   `registerPaint('p', class { paint() {} })`,
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch script, ok := scripts[r.URL.Path]; {
		case ok:
			w.Header().Set("Content-Type", "text/javascript")
			io.WriteString(w, script)
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<!doctype html><title>workers</title>")
		default:
			io.WriteString(w, "got "+strings.TrimPrefix(r.URL.Path, "/"))
		}
	}))
	t.Cleanup(site.Close)
	return site.URL
}

// openContext opens a context with the page.
func openContext(t *testing.T, cfg chromium.Config, url string) *Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b := New(started(t, cfg), discard())
	c, err := b.NewContext(ctx, ContextOptions{}, func(string, map[string]any) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	if _, err := c.Open(ctx, url, protocol.WaitLoad); err != nil {
		t.Fatal(err)
	}
	return c
}

// Every kind of worker and worklet runs, what it writes is in the console, and
// what it asks for is in the network log.
func TestWorkersRun(t *testing.T) {
	t.Parallel()
	builds(t, workersRun)
}

func workersRun(t *testing.T, cfg chromium.Config) {
	c := openContext(t, cfg, workerSite(t))
	said := `w => new Promise(done => { w.onmessage = e => done(e.data); w.onerror = e => done('error ' + e.message) })`
	for name, run := range map[string]struct {
		expression string // its value is a string, or the promise of one
		want       string
		console    string // an entry of the console, "" for none
		asked      string // path of a request, "" for none
	}{
		"a file":                   {`(` + said + `)(new Worker('/plain.js'))`, "plain got asked-by-plain", "plain says hello", "/asked-by-plain"},
		"a module":                 {`(` + said + `)(new Worker('/module.js', {type: 'module'}))`, "module imported", "module says hello", "/word.js"},
		"a blob":                   {`(` + said + `)(new Worker(URL.createObjectURL(new Blob(["console.log('blob says hello'); postMessage('blob')"]))))`, "blob", "blob says hello", ""},
		"a worker in a worker":     {`(` + said + `)(new Worker('/nested.js'))`, "nested plain got asked-by-plain", "nested says hello", "/asked-by-plain"},
		"one that throws":          {`(` + said + `)(new Worker('/broken.js'))`, "error Uncaught Error: broken on purpose", "broken on purpose", "/broken.js"},
		"a shared worker":          {`(` + said + `)(new SharedWorker('/shared.js').port)`, "shared got asked-by-shared", "shared says hello", "/asked-by-shared"},
		"a service worker":         {`navigator.serviceWorker.register('/service.js').then(() => navigator.serviceWorker.ready).then(r => { const got = (` + said + `)(navigator.serviceWorker); navigator.serviceWorker.startMessages(); r.active.postMessage('go'); return got })`, "service got asked-by-service", "service says hello", "/asked-by-service"},
		"an audio worklet":         {`new OfflineAudioContext(1, 128, 44100).audioWorklet.addModule('/audio.js').then(() => 'added')`, "added", "", "/audio.js"},
		"a paint worklet":          {`CSS.paintWorklet.addModule('/paint.js').then(() => 'added')`, "added", "", "/paint.js"},
		"a worker in a frame":      {`new Promise(done => { const f = document.createElement('iframe'); f.srcdoc = '<script>new Worker("/plain.js").onmessage = e => parent.postMessage("framed " + e.data)</' + 'script>'; onmessage = e => done(e.data); document.body.append(f) })`, "framed plain got asked-by-plain", "plain says hello", "/asked-by-plain"},
		"a worker that is stopped": {`new Promise(done => { const w = new Worker('/plain.js'); w.onmessage = () => { w.terminate(); done('stopped') } })`, "stopped", "plain says hello", ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, since := c.Console(protocol.Watching{})
			got, err := c.Eval(ctx, nil, "", run.expression)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, json.RawMessage(`"`+run.want+`"`)); diff != "" {
				t.Errorf("got before want:\n%s", diff)
			}
			told := func() bool {
				entries, _ := c.Console(protocol.Watching{Since: since})
				requests, _, err := c.Network(ctx, protocol.Watching{Since: since})
				if err != nil {
					t.Fatal(err)
				}
				return (run.console == "" || slices.ContainsFunc(entries, func(e protocol.Console) bool { return strings.Contains(e.Text, run.console) })) &&
					(run.asked == "" || slices.ContainsFunc(requests, func(x protocol.Exchange) bool { return strings.HasSuffix(x.URL, run.asked) && x.Status == 200 }))
			}
			for !told() {
				select {
				case <-ctx.Done():
					entries, _ := c.Console(protocol.Watching{Since: since})
					requests, _, _ := c.Network(context.Background(), protocol.Watching{Since: since})
					t.Fatalf("want %q in the console and %q in the network; got %+v and %+v", run.console, run.asked, entries, requests)
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
}

// lateForWorkers is a transport on which Fetch.enable for the session of a worker reaches Chromium late, as it does on
// a busy machine: when everything that the worker is made of has long arrived.
type lateForWorkers struct {
	cdp.Transport
	workers sync.Map // CDP sessions of shared and service workers
}

func (l *lateForWorkers) Read(ctx context.Context, m *cdp.Message) error {
	err := l.Transport.Read(ctx, m)
	if m.Method == "Target.attachedToTarget" {
		var e event.AttachedToTarget
		if json.Unmarshal(m.Params, &e) == nil && e.TargetInfo.IsWorker() {
			l.workers.Store(e.SessionID, true)
		}
	}
	return err
}

func (l *lateForWorkers) Write(ctx context.Context, m *cdp.Message) error {
	if _, worker := l.workers.Load(m.SessionID); worker && m.Method == "Fetch.enable" {
		time.Sleep(far / 10)
	}
	return l.Transport.Write(ctx, m)
}

// A route answers what a worker asks for from its first request on, as it does for its page, however late it is that
// Chromium is told to pause its requests.
func TestRoutesHoldForWorkers(t *testing.T) {
	t.Parallel()
	builds(t, func(t *testing.T, cfg chromium.Config) {
		cfg.WrapTransport = func(transport cdp.Transport) cdp.Transport { return &lateForWorkers{Transport: transport} }
		c := openContext(t, cfg, workerSite(t))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := c.SetRoutes(ctx, []protocol.Route{{Pattern: "*/asked-by-*", Action: "answer", Body: "the route"}}); err != nil {
			t.Fatal(err)
		}
		for name, expression := range map[string]string{
			"plain":   `new Promise(done => { new Worker('/plain.js').onmessage = e => done(e.data) })`,
			"nested":  `new Promise(done => { new Worker('/nested.js').onmessage = e => done(e.data) })`,
			"shared":  `new Promise(done => { new SharedWorker('/shared.js').port.onmessage = e => done(e.data) })`,
			"module":  `new Promise(done => { new SharedWorker('/shared.js', {name: 'module', type: 'module'}).port.onmessage = e => done(e.data) })`,
			"service": `navigator.serviceWorker.register('/service.js').then(() => navigator.serviceWorker.ready).then(r => new Promise(done => { navigator.serviceWorker.onmessage = e => done(e.data); r.active.postMessage('go') }))`,
		} {
			got, err := c.Eval(ctx, nil, "", expression)
			if err != nil {
				t.Fatal(name, err)
			}
			if !strings.HasSuffix(string(got), ` the route"`) {
				t.Errorf("%s: %s, want the route's answer", name, got)
			}
		}
	})
}

// Scripts of workers are held back for all sessions of a Chromium while one of them has routes, and no longer.
func TestScriptsOfWorkersAreHeldBackWhileThereAreRoutes(t *testing.T) {
	t.Parallel()
	var sent *tap
	cfg := testConfig(t)
	cfg.WrapTransport = func(transport cdp.Transport) cdp.Transport {
		sent = &tap{Transport: transport}
		return sent
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b := New(started(t, cfg), discard())
	routes := []protocol.Route{{Pattern: "*/ads/*", Action: "block"}}
	var contexts [2]*Context
	for i := range contexts {
		c, err := b.NewContext(ctx, ContextOptions{}, func(string, map[string]any) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.Background()) })
		contexts[i] = c
	}
	set := func(c *Context, routes []protocol.Route) func() {
		return func() {
			if err := c.SetRoutes(ctx, routes); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, step := range []struct {
		name string
		do   func()
		want []string // that the browser's own CDP session is sent of the Fetch domain
	}{
		{"the first session has a route", set(contexts[0], routes), []string{"Fetch.enable"}},
		{"the second has one too", set(contexts[1], routes), nil},
		{"the first has none any more", set(contexts[0], nil), nil},
		{"the second has none any more", set(contexts[1], nil), []string{"Fetch.disable"}},
		{"the second has one again", set(contexts[1], routes), []string{"Fetch.enable"}},
		{"the second ends", func() {
			contexts[1].Close(ctx)
			for !sent.has("Fetch.disable") { // what it held is let go beside its closing
				select {
				case <-ctx.Done():
					t.Fatal("scripts are held back for a session that has ended")
				case <-time.After(time.Millisecond):
				}
			}
		}, []string{"Fetch.disable"}},
	} {
		var got []string
		for _, trip := range sent.taken(step.do) {
			for _, m := range trip {
				if m.SessionID == "" && strings.HasPrefix(string(m.Method), "Fetch.") {
					got = append(got, string(m.Method))
				}
			}
		}
		if diff := cmp.Diff(got, step.want); diff != "" {
			t.Errorf("%s: got before want:\n%s", step.name, diff)
		}
	}
}

// A request of a worker that ends before its answer is no longer awaited.
func TestAWorkerThatEndsLeavesNoRequest(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/never" {
			asked <- struct{}{}
			<-r.Context().Done() // the worker that asked has ended
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><title>workers</title>")
	}))
	t.Cleanup(site.Close)
	c := openContext(t, testConfig(t), site.URL)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	run := func(expression string) {
		t.Helper()
		if _, err := c.Eval(ctx, nil, "", expression); err != nil {
			t.Fatal(err)
		}
	}
	run(`void (w = new Worker(URL.createObjectURL(new Blob(["fetch('` + site.URL + `/never')"]))))`)
	<-asked
	tab, err := c.ready(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.until(ctx, func() bool { return tab.requests.InFlight() == 1 }); err != nil {
		t.Fatal("the worker's request is not known:", err)
	}
	run(`w.terminate()`)
	if err := tab.until(ctx, func() bool { return tab.requests.InFlight() == 0 }); err != nil {
		t.Fatal("the request of a worker that has ended is awaited:", err)
	}
}
