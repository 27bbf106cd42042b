package browser

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// namedObjects keeps every object that an answer of Chromium named, with the command that it answered.
type namedObjects struct {
	cdp.Transport
	mu    sync.Mutex
	sent  map[int64]string  // id of the command → what it was
	named map[string]string // objectId → what it came with
}

func (o *namedObjects) Write(ctx context.Context, m *cdp.Message) error {
	o.mu.Lock()
	o.sent[m.ID] = string(m.Method) + " " + head(string(m.Params), 120)
	o.mu.Unlock()
	return o.Transport.Write(ctx, m)
}

func (o *namedObjects) Read(ctx context.Context, m *cdp.Message) error {
	err := o.Transport.Read(ctx, m)
	o.mu.Lock()
	defer o.mu.Unlock()
	if m.ID != 0 {
		for _, found := range objectIDs.FindAllStringSubmatch(string(m.Result), -1) {
			if !strings.Contains(o.sent[m.ID], `"expression":"document"`) { // once for each document, and goes with it
				o.named[found[1]] = o.sent[m.ID]
			}
		}
		delete(o.sent, m.ID)
	}
	return err
}

var objectIDs = regexp.MustCompile(`"objectId":"([^"]+)"`)

func head(s string, n int) string { return s[:min(n, len(s))] }

// held returns what the objects that Chromium still holds came with, and forgets them.
func (o *namedObjects) held(t *testing.T, s *cdp.Session) []string {
	t.Helper()
	o.mu.Lock()
	named := o.named
	o.named = map[string]string{}
	o.mu.Unlock()
	if len(named) == 0 {
		t.Fatal("no answer named an object")
	}
	var held []string
	for id, what := range named {
		err := s.Call(limit(t, 10*time.Second), "Runtime.getProperties", map[string]any{"objectId": id, "ownProperties": true}, nil)
		if err == nil {
			held = append(held, what)
		} else if !strings.Contains(err.Error(), "Could not find object") {
			t.Fatal(err)
		}
	}
	slices.Sort(held)
	o.mu.Lock()
	o.named = map[string]string{} // what was asked for just now
	o.mu.Unlock()
	return held
}

// What a command asked Chromium for is let go of when it is over: a page could not free an element, or what it
// threw, as long as its document is there.
func TestCommandsHoldNoObjects(t *testing.T) {
	t.Parallel()
	o := &namedObjects{sent: map[int64]string{}, named: map[string]string{}}
	b := stageOver(t, func(transport cdp.Transport) cdp.Transport {
		o.Transport = transport
		return o
	})
	v := newStageIn(t, b).open(t, `<title>Held</title><button onclick="open()">Go</button><label>File <input type=file></label>
<div id=d></div><iframe srcdoc="<button>Inner</button>"></iframe>
<script>customElements.define('x-box', class extends HTMLElement {
	constructor() { super(); this.attachShadow({mode: 'closed'}).innerHTML = '<button>Closed</button>' }
})</script>`)
	v.ref("button", "Inner")
	ctx := limit(t, 60*time.Second)
	expression := func(ref, expression string) func() error {
		return func() error { _, err := v.c.EvalAt(ctx, v.refs, ref, expression, nil); return err }
	}
	screenshot := func(ref string) func() error {
		return func() error {
			_, err := v.c.Screenshot(ctx, v.refs, protocol.Screenshot{Ref: ref, Format: "png"})
			return err
		}
	}
	for what, c := range map[string]struct {
		do     func() error
		thrown string // what the error says; empty: there is none
	}{
		"screenshot of an element": {do: screenshot(v.ref("button", "Go"))},
		"screenshot in a frame":    {do: screenshot(v.ref("button", "Inner"))},
		"upload": {do: func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Upload{Ref: v.ref("button", "File"), Files: []protocol.File{{Name: "a.txt", Content: []byte("a")}}}})
			return err
		}},
		"eval of an object":      {do: expression("", `({a: [1]})`)},
		"eval of a promise":      {do: expression("", `Promise.resolve({a: [1]})`)},
		"eval that throws":       {do: expression("", `null.x`), thrown: "null"},
		"eval of a rejection":    {do: expression("", `Promise.reject(new Error("no"))`), thrown: "no"},
		"eval with an element":   {do: expression(v.ref("button", "Go"), `element.localName`)},
		"eval with one, throws":  {do: expression(v.ref("button", "Go"), `element.x.y`), thrown: "undefined"},
		"eval of one in a frame": {do: expression(v.ref("button", "Inner"), `element.localName`)},
		"wait while it throws": {do: func() error {
			_, err := v.c.Wait(limit(t, 400*time.Millisecond), v.refs, protocol.Wait{Expression: "null.x"}, nil, nil)
			return err
		}, thrown: "null"},
		"a closed root that comes": {do: func() error { v.eval(`d.append(document.createElement('x-box'));0`); v.look(); return nil }},
		"a frame that comes": {do: func() error {
			v.eval(`(() => { const f = document.createElement('iframe'); f.srcdoc = '<button>New</button>'; d.append(f); return new Promise(r => f.onload = () => r(0)) })()`)
			v.look()
			return nil
		}},
		"listeners that come": {do: func() error {
			v.eval(`{ const e = document.createElement('p'); e.textContent = 'Open'; e.onpointerdown = e.onclick = e.onkeydown = () => 0; d.append(e) } 0`)
			v.look()
			return nil
		}},
	} {
		o.mu.Lock()
		clear(o.named)
		o.mu.Unlock()
		if err := c.do(); c.thrown == "" && err != nil || c.thrown != "" && (err == nil || !strings.Contains(err.Error(), c.thrown)) {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if held := o.held(t, v.c.selected.cdp); len(held) > 0 {
			t.Errorf("%s: Chromium holds what came with\n%s", what, strings.Join(held, "\n"))
		}
	}
}
