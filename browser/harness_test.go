package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"
)

// testPage is a page in a Chromium of its own, with the scripts of js/ in the
// isolated world of its main frame.
type testPage struct {
	t       testing.TB
	url     string
	html    atomic.Value // string
	in      io.Writer
	out     *bufio.Reader
	id      int
	session string
	frame   string
	world   int // the isolated world of the document that is loaded
	loaded  bool
}

// openTestPage opens a page with that HTML and waits until it is loaded.
func openTestPage(t testing.TB, html string) *testPage {
	t.Helper()
	p := launchTestPage(t)
	p.load(html)
	return p
}

// load loads another page in the place of the one that is open.
func (p *testPage) load(html string) {
	p.t.Helper()
	p.html.Store(html)
	p.loaded, p.world = false, 0
	p.call("Page.navigate", map[string]any{"url": p.url}, nil)
	for !p.loaded || p.world == 0 {
		p.next()
	}
}

// run evaluates a script in the page's own world.
func (p *testPage) run(script string) {
	p.t.Helper()
	p.evaluate(script, 0)
}

// ask evaluates an expression in the isolated world; the answer is a string.
func (p *testPage) ask(expression string) string {
	p.t.Helper()
	return p.evaluate(expression, p.world)
}

// walk walks the page as one document numbered 1.
func (p *testPage) walk(o walkOptions) walked {
	p.t.Helper()
	w, err := decodeWalk(1, []byte(p.ask("__bd.walk("+o.encode()+")")))
	if err != nil {
		p.t.Fatal(err)
	}
	return w
}

func (p *testPage) evaluate(expression string, world int) string {
	p.t.Helper()
	params := map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}
	if world != 0 {
		params["contextId"] = world
	}
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	p.call("Runtime.evaluate", params, &r)
	if r.ExceptionDetails != nil {
		p.t.Fatalf("%.200s: %s", expression, r.ExceptionDetails.Exception.Description)
	}
	return fmt.Sprint(r.Result.Value)
}

func launchTestPage(t testing.TB) *testPage {
	t.Helper()
	const chromium = "/usr/lib/chromium/chromium-headless-shell"
	if _, err := os.Stat(chromium); errors.Is(err, os.ErrNotExist) {
		t.Skip("no chromium-headless-shell here")
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(chromium, "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--window-size=1280,800",
		"--enable-blink-features=ComputedAccessibilityInfo", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{childIn, childOut}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	childIn.Close()
	childOut.Close()
	p := &testPage{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		html := p.html.Load().(string)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if len(html) > 5 && html[:5] == "<?xml" {
			w.Header().Set("Content-Type", "application/xhtml+xml")
		}
		io.WriteString(w, html)
	}))
	p.url = site.URL
	t.Cleanup(func() {
		p.call("Browser.close", nil, nil)
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Log(err)
		}
		out.Close()
		site.Close()
	})

	var target struct{ TargetID string }
	p.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p.session, p.frame = attached.SessionID, target.TargetID
	for _, m := range []string{"Page.enable", "Runtime.enable", "Accessibility.enable"} {
		p.call(m, nil, nil)
	}
	p.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": walkScripts(t), "worldName": "browserd"}, nil)
	return p
}

// walkScripts joins the scripts that a walk needs.
func walkScripts(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("(() => { 'use strict';\n")
	for _, name := range []string{"core", "role", "name", "walk"} {
		js, err := os.ReadFile("js/" + name + ".js")
		if err != nil {
			t.Fatal(err)
		}
		b.Write(js)
	}
	b.WriteString("})();")
	return b.String()
}

type testMessage struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

func (p *testPage) call(method string, params map[string]any, result any) {
	p.t.Helper()
	p.id++
	message := map[string]any{"id": p.id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if p.session != "" && method != "Browser.close" {
		message["sessionId"] = p.session
	}
	b, err := json.Marshal(message)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.in.Write(append(b, 0)); err != nil {
		p.t.Fatal(err)
	}
	for {
		m := p.next()
		if m.ID != p.id {
			continue
		}
		if m.Error != nil {
			p.t.Fatalf("%s: %s", method, m.Error)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				p.t.Fatal(err)
			}
		}
		return
	}
}

// next reads one message and takes note of what the page did.
func (p *testPage) next() testMessage {
	p.t.Helper()
	type read struct {
		b   []byte
		err error
	}
	done := make(chan read, 1) // so that the reader ends though nobody waits any more
	go func() {
		b, err := p.out.ReadBytes(0)
		done <- read{b, err}
	}()
	var r read
	select {
	case r = <-done:
	case <-time.After(20 * time.Second):
		p.t.Fatal("Chromium says nothing")
	}
	if r.err != nil {
		p.t.Fatal(r.err)
	}
	var m testMessage
	if err := json.Unmarshal(bytes.TrimSuffix(r.b, []byte{0}), &m); err != nil {
		p.t.Fatal(err)
	}
	switch m.Method {
	case "Page.loadEventFired":
		p.loaded = true
	case "Runtime.executionContextCreated":
		var e struct {
			Context struct {
				ID      int
				Name    string
				AuxData struct{ FrameID string }
			}
		}
		if err := json.Unmarshal(m.Params, &e); err != nil {
			p.t.Fatal(err)
		}
		if e.Context.Name == "browserd" && e.Context.AuxData.FrameID == p.frame {
			p.world = e.Context.ID
		}
	}
	return m
}
