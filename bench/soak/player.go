package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"regexp"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// player browses: it opens a session, takes so many steps in it, and closes
// it, or leaves it to expire.
type player struct {
	*game
	name string
	rand *rand.Rand
	dial func(ctx context.Context, d *testdaemon.Daemon) (transport, error)
}

// visit is one session of a player.
type visit struct {
	*player
	conn    transport
	session string
	seen    string // the last snapshot
}

// anyTime are the codes that any command of a session may answer while
// renderers and browsers are killed under it and its pages change by themselves.
var anyTime = []protocol.Code{
	protocol.PageCrashed, protocol.BrowserLost, protocol.StaleRef, protocol.RefChanged, protocol.NotActionable, protocol.DialogOpen,
}

// play visits until ctx ends.
func (p *player) play(ctx context.Context) {
	for p.enter(ctx) {
		err := p.visit(ctx)
		if err != nil && ctx.Err() == nil {
			p.tally.fault("%s: %v", p.name, err)
		}
		p.leave()
	}
}

func (p *player) visit(ctx context.Context) error {
	conn, err := p.dial(ctx, p.daemon)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer conn.close()
	v := &visit{player: p, conn: conn}
	opening := map[string]any{"downloads": p.rand.IntN(3) == 0}
	if p.rand.IntN(3) == 0 {
		opening["viewport"] = map[string]any{"width": 400 + p.rand.IntN(1200), "height": 300 + p.rand.IntN(900)}
		opening["locale"] = "de-DE"
	}
	if p.rand.IntN(12) == 0 {
		opening["source"] = "http"
	}
	var opened struct{ Session string }
	if err := v.call(ctx, "session_open", opening, &opened); err != nil {
		return nil // it is in the tally
	}
	v.session = opened.Session
	v.open(ctx)
	static := opening["source"] == "http"
	for range 4 + p.rand.IntN(24) {
		if ctx.Err() != nil {
			break
		}
		v.step(ctx, static)
		pause(ctx, time.Duration(p.rand.IntN(60))*time.Millisecond) // an agent thinks
	}
	if p.rand.IntN(8) == 0 && ctx.Err() == nil {
		p.tally.count("sessions left to expire")
		return nil
	}
	v.call(context.WithoutCancel(ctx), "session_close", nil, nil)
	return nil
}

// call sends one command of the session and notes its answer. more are the
// codes that this one may answer beyond anyTime.
func (v *visit) call(ctx context.Context, method string, params map[string]any, result any, more ...protocol.Code) error {
	if params == nil {
		params = map[string]any{}
	}
	if v.session != "" {
		params["session"] = v.session
	}
	limited, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	began := time.Now()
	err := v.conn.call(limited, method, params, result)
	if ctx.Err() != nil {
		return err // the soak's own end
	}
	v.tally.answered(method, err, time.Since(began), params, append(more, anyTime...)...)
	return err
}

// answerWithin is how long any command may take: the largest timeout that a
// player asks for is the default one, and a second is the protocol's own.
const answerWithin = 32 * time.Second

func (v *visit) open(ctx context.Context) {
	var r struct{ Snapshot struct{ Text string } }
	if v.call(ctx, "open", map[string]any{"url": v.site + v.path()}, &r) == nil {
		v.seen = r.Snapshot.Text
	}
}

func (v *visit) path() string { return paths[v.rand.IntN(len(paths))] }

var refLine = regexp.MustCompile(`(@e\d+) \[(\w+)`)

// ref is a ref of one of the roles in the last snapshot; empty where there is none.
func (v *visit) ref(roles ...string) string {
	var refs []string
	for _, m := range refLine.FindAllStringSubmatch(v.seen, -1) {
		for _, r := range roles {
			if m[2] == r {
				refs = append(refs, m[1])
			}
		}
	}
	if len(refs) == 0 {
		return ""
	}
	return refs[v.rand.IntN(len(refs))]
}

// step is one command at random. Those of most use come most often.
func (v *visit) step(ctx context.Context, static bool) {
	at := v.rand.IntN(len(steps))
	if static {
		at = v.rand.IntN(staticSteps)
	}
	steps[at](ctx, v)
}

// staticSteps is how many of the first steps work without Chromium.
const staticSteps = 13

var steps = []func(ctx context.Context, v *visit){
	func(ctx context.Context, v *visit) { v.open(ctx) },
	func(ctx context.Context, v *visit) { v.snapshot(ctx, nil) },
	func(ctx context.Context, v *visit) { v.snapshot(ctx, map[string]any{"interactive_only": false}) },
	func(ctx context.Context, v *visit) { v.act(ctx, "click", nil, "link") },
	func(ctx context.Context, v *visit) { v.act(ctx, "type", map[string]any{"text": "gold"}, "textbox") },
	func(ctx context.Context, v *visit) { v.act(ctx, "check", nil, "checkbox") },
	func(ctx context.Context, v *visit) {
		v.act(ctx, "select", map[string]any{"values": []string{"Large"}}, "combobox")
	},
	func(ctx context.Context, v *visit) { v.call(ctx, "read", map[string]any{"kind": "markdown"}, nil) },
	func(ctx context.Context, v *visit) { v.call(ctx, "find", map[string]any{"text": "Thing"}, nil) },
	func(ctx context.Context, v *visit) { v.call(ctx, "back", nil, nil, protocol.NavigationFailed) },
	func(ctx context.Context, v *visit) {
		v.call(ctx, "cookies_set", map[string]any{"cookies": []any{map[string]any{"name": "n", "value": "v", "url": v.site}}}, nil)
	},
	func(ctx context.Context, v *visit) { v.call(ctx, "cookies_get", nil, nil) },
	func(ctx context.Context, v *visit) {
		if ref := v.ref("textbox"); ref != "" {
			v.call(ctx, "fill", map[string]any{"fields": []any{map[string]any{"ref": ref, "value": "silver"}}}, nil)
		}
	},
	// With Chromium alone:
	func(ctx context.Context, v *visit) { v.snapshot(ctx, map[string]any{"delta": true}) },
	func(ctx context.Context, v *visit) { v.act(ctx, "click", nil, "button") },
	func(ctx context.Context, v *visit) { v.act(ctx, "click", nil, "button") },
	func(ctx context.Context, v *visit) { v.act(ctx, "click", nil, "button", "link", "checkbox") },
	func(ctx context.Context, v *visit) { v.call(ctx, "reload", nil, nil, protocol.NavigationFailed) },
	func(ctx context.Context, v *visit) {
		v.act(ctx, "type", map[string]any{"text": "silver", "mode": "keys"}, "textbox")
	},
	func(ctx context.Context, v *visit) { v.act(ctx, "hover", nil, "button", "link") },
	func(ctx context.Context, v *visit) { v.call(ctx, "press", map[string]any{"key": "Tab"}, nil) },
	func(ctx context.Context, v *visit) {
		v.call(ctx, "scroll", map[string]any{"direction": "down", "pixels": 400}, nil)
	},
	func(ctx context.Context, v *visit) {
		v.call(ctx, "eval", map[string]any{"expression": "document.title"}, nil)
	},
	func(ctx context.Context, v *visit) {
		v.call(ctx, "screenshot", map[string]any{"format": "jpeg", "annotate": v.rand.IntN(2) == 0}, nil)
	},
	func(ctx context.Context, v *visit) {
		if v.rand.IntN(4) == 0 {
			v.call(ctx, "pdf", nil, nil)
		}
	},
	func(ctx context.Context, v *visit) {
		v.call(ctx, "tab_new", map[string]any{"url": v.site + v.path()}, nil, protocol.SessionLimit, protocol.NavigationFailed)
	},
	func(ctx context.Context, v *visit) { v.otherTab(ctx, "tab_select") },
	func(ctx context.Context, v *visit) { v.otherTab(ctx, "tab_close") },
	func(ctx context.Context, v *visit) { v.call(ctx, "console", nil, nil) },
	func(ctx context.Context, v *visit) { v.call(ctx, "network", nil, nil) },
	func(ctx context.Context, v *visit) { v.download(ctx) },
	func(ctx context.Context, v *visit) { v.talk(ctx) },
	func(ctx context.Context, v *visit) { v.upload(ctx) },
	func(ctx context.Context, v *visit) {
		v.call(ctx, "emulate", map[string]any{"color_scheme": "dark", "timezone": "Europe/Oslo"}, nil)
	},
	func(ctx context.Context, v *visit) {
		v.call(ctx, "route", map[string]any{"pattern": "*/data", "action": "answer", "body": `{"now": "then"}`}, nil)
	},
	func(ctx context.Context, v *visit) { v.call(ctx, "wait", map[string]any{"state": "load"}, nil) },
	func(ctx context.Context, v *visit) {
		v.call(ctx, "wait", map[string]any{"text": "never said", "timeout_ms": 200}, nil, protocol.Timeout)
	},
	func(ctx context.Context, v *visit) {
		v.call(ctx, "batch", map[string]any{"commands": []any{
			map[string]any{"method": "snapshot", "params": map[string]any{}}, map[string]any{"method": "read", "params": map[string]any{}},
		}}, nil)
	},
	func(ctx context.Context, v *visit) { v.stuck(ctx) },
	func(ctx context.Context, v *visit) { v.web(ctx) },
}

func (v *visit) snapshot(ctx context.Context, params map[string]any) {
	var r struct{ Snapshot struct{ Text string } }
	if v.call(ctx, "snapshot", params, &r) == nil && r.Snapshot.Text != "" {
		v.seen = r.Snapshot.Text
	}
}

// act acts on an element of one of the roles, where the last snapshot has one.
// The page may have gone somewhere meanwhile, or go where nothing answers.
func (v *visit) act(ctx context.Context, method string, params map[string]any, roles ...string) {
	ref := v.ref(roles...)
	if ref == "" {
		v.snapshot(ctx, nil)
		return
	}
	if params == nil {
		params = map[string]any{}
	}
	params["ref"] = ref
	var r struct{ Snapshot struct{ Text string } }
	if v.call(ctx, method, params, &r, protocol.NavigationFailed, protocol.UnknownRef, protocol.InvalidParams) == nil && r.Snapshot.Text != "" {
		v.seen = r.Snapshot.Text
	}
}

func (v *visit) otherTab(ctx context.Context, method string) {
	var r struct{ Tabs []struct{ Tab string } }
	if v.call(ctx, "tab_list", nil, &r) != nil || len(r.Tabs) == 0 {
		return
	}
	tab := r.Tabs[v.rand.IntN(len(r.Tabs))].Tab
	v.call(ctx, method, map[string]any{"tab": tab}, nil, protocol.InvalidParams) // it may have closed itself
}

func (v *visit) download(ctx context.Context) {
	if v.call(ctx, "open", map[string]any{"url": v.site + "/files"}, nil) != nil {
		return
	}
	v.snapshot(ctx, nil)
	v.act(ctx, "click", nil, "link")
	v.call(ctx, "downloads", map[string]any{"wait": true}, nil)
}

// talk lets a dialog open, looks at it, and answers it, or does not.
func (v *visit) talk(ctx context.Context) {
	if v.call(ctx, "open", map[string]any{"url": v.site + "/talk"}, nil) != nil {
		return
	}
	v.snapshot(ctx, nil)
	v.act(ctx, "click", nil, "button")
	if v.rand.IntN(2) == 0 {
		v.call(ctx, "dialog", map[string]any{"accept": true, "text": "me"}, nil, protocol.InvalidParams, protocol.InvalidRequest)
	}
}

func (v *visit) upload(ctx context.Context) {
	if v.call(ctx, "open", map[string]any{"url": v.site + "/form"}, nil) != nil {
		return
	}
	var found struct{ Nodes []struct{ Ref string } }
	if v.call(ctx, "find", map[string]any{"name": "File"}, &found) != nil || len(found.Nodes) == 0 {
		return
	}
	file := map[string]any{"name": "a.txt", "base64": base64.StdEncoding.EncodeToString([]byte("contents"))}
	v.call(ctx, "upload", map[string]any{"ref": found.Nodes[0].Ref, "files": []any{file}}, nil, protocol.InvalidParams)
}

// stuck gives the page a script that keeps it busy, or one that never ends. What
// comes next must get through.
func (v *visit) stuck(ctx context.Context) {
	if v.call(ctx, "open", map[string]any{"url": v.site + "/stuck"}, nil) != nil {
		return
	}
	if v.rand.IntN(2) == 0 {
		v.call(ctx, "eval", map[string]any{"expression": "for (;;);", "timeout_ms": 400}, nil, protocol.Timeout)
	} else {
		v.snapshot(ctx, nil)
		if ref := v.ref("button"); ref != "" {
			v.call(ctx, "click", map[string]any{"ref": ref, "timeout_ms": 400}, nil, protocol.Timeout)
		}
	}
	v.open(ctx)
}

// web uses the tools that need no page.
func (v *visit) web(ctx context.Context) {
	v.call(ctx, "web_fetch", map[string]any{"url": v.site + "/list", "format": "markdown"}, nil)
	v.call(ctx, "http_request", map[string]any{"url": v.site + "/data"}, nil)
	v.call(ctx, "session_list", nil, nil)
	v.call(ctx, "status", nil, nil)
}

// pause waits, or returns earlier where ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
