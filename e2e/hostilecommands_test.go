package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// receiver is the page of a frame that tells the page around it of all trusted input that it gets.
const receiver = `<!doctype html><style>body{margin:0}#pay,#note{display:block;width:300px;height:200px;box-sizing:border-box}</style><button id=pay>Pay</button><input id=note><input type=file hidden id=file>
<script>for (const k of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'auxclick', 'contextmenu', 'keydown', 'keypress', 'keyup', 'beforeinput', 'input', 'paste', 'change', 'dragenter', 'dragover', 'drop'])
addEventListener(k, e => { if (e.isTrusted) top.postMessage(k, '*') }, true);
addEventListener('focus', () => note.focus());
addEventListener('message', () => top.postMessage('that is all', '*'))</script>`

// tricks are how a page brings its frame f between a command and the element in box.
var tricks = map[string]string{
	"frame at pointermove":   `<style>#f{display:none}</style><script>box.onpointermove = () => { f.style.display = 'block' }</script>`,
	"frame at mouseover":     `<style>#f{left:9999px}</style><script>box.onmouseover = () => { f.style.left = 0 }</script>`,
	":hover":                 `<style>#f{visibility:hidden}#box:hover #f{visibility:visible}</style>`,
	"pointer-events":         `<style>#f{pointer-events:none;opacity:.1}</style><script>box.onpointermove = () => { f.style.pointerEvents = 'auto' }</script>`,
	"hover advertisement":    `<style>#f{transform:scale(0)}#box:hover #f{transform:none}</style>`,
	"frame at pointerdown":   `<style>#f{display:none}</style><script>addEventListener('pointerdown', () => { f.style.display = 'block' }, true)</script>`,
	"frame takes the focus":  `<style>#f{left:400px}</style><script>box.addEventListener('focusin', e => { if (e.target !== f) f.focus() })</script>`,
	"frame takes it by time": `<style>#f{left:400px}</style><script>box.addEventListener('focusin', e => { if (e.target !== f) for (const n of [0, 1, 3, 6, 10]) setTimeout(() => f.focus(), n) })</script>`,
}

// Whatever a command types, presses, moves, drags or scrolls comes to its element or to
// nothing, never to a frame that the page brings between; only a command for a point of the
// page may come to the frame there, and then says so. Each trick has one page, on which all
// commands are played.
func TestEveryCommandReachesItsElementOnly(t *testing.T) {
	t.Parallel()
	w := newPageServer(t)
	w.serve("/receiver", receiver, "")
	var named atomic.Int64
	t.Cleanup(func() {
		if n := named.Load(); n < 16 {
			t.Errorf("a frame at a point was named %d times, so this proves little", n)
		}
	})
	n := 0
	for name, trick := range tricks {
		for site, origin := range map[string]string{"same origin": "", "other origin": w.alt()} {
			n++
			path := fmt.Sprint("/trick", n)
			w.serve(path, page("trick", `<style>body{margin:0}#box{position:relative;width:300px;height:300px}#box>*{display:block;width:300px;height:50px;box-sizing:border-box;margin:0}#f{position:absolute;left:0;top:0;width:300px;height:300px !important;border:0}#in{position:absolute;left:0;top:350px}</style>
<div id=box><button id=go draggable=false>Go</button><input aria-label=Name><input type=checkbox aria-label=Tick><select aria-label=Size><option>S<option>L</select><button onclick="files.click()">Attach</button><iframe id=f src="`+origin+`/receiver"></iframe></div>
<input type=file id=files hidden><button id=in>There</button><div style="height:2000px"></div><button>Far</button>
<script>window.framed = []; onmessage = e => { if (typeof e.data === 'string') framed.push(e.data) };
window.received = () => new Promise(done => { addEventListener('message', e => { if (e.data === 'that is all') done(framed.slice(0, -1)) }); f.contentWindow.postMessage(0, '*') });
window.reset = () => { f.removeAttribute('style'); document.activeElement.blur(); scrollTo(0, 0); document.querySelectorAll('input').forEach(i => { if (i.type === 'text') i.value = ''; i.checked = false }); document.querySelector('select').selectedIndex = 0; return true }</script>`+trick), "")
			t.Run(name+", "+site, func(t *testing.T) {
				t.Parallel()
				playTrick(t, w.URL+path, &named)
			})
		}
	}
}

// playTrick plays every command that acts on the page with the trick, and adds to of how often a
// frame received what was for a point, and was named.
func playTrick(t *testing.T, url string, of *atomic.Int64) {
	a := newAgent(t, sharedDaemon(t))
	a.open(url)
	v := a.snapshot()
	refOf := func(role, name string) string { return v.ref(t, role, name) }
	goes, field, tick, size, attach, there := refOf("button", "Go"), refOf("textbox", "Name"), refOf("checkbox", "Tick"), refOf("combobox", "Size"), refOf("button", "Attach"), refOf("button", "There")
	file := []params{{"name": "a.txt", "base64": "eA=="}}
	// A mark of an annotated screenshot: a client clicks it by its ref, or where it is drawn.
	mark := protocol.Marked{}
	for _, m := range ask[pictureAnswer](a, "screenshot", params{"annotate": true}).Refs {
		if m.Ref == attach {
			mark = m
		}
	}
	if mark.Ref == "" {
		t.Fatal("the picture has no mark for Attach")
	}
	x, y := mark.Box[0]+mark.Box[2]/2, mark.Box[1]+mark.Box[3]/2
	type call struct {
		name, method string
		p            params
		point        bool // it is for a point, not for an element
	}
	calls := []call{
		{"click", "click", params{"ref": goes}, false},
		{"double click", "click", params{"ref": goes, "count": 2}, false},
		{"right click", "click", params{"ref": goes, "button": "right"}, false},
		{"hover", "hover", params{"ref": goes}, false},
		{"focus", "focus", params{"ref": field}, false},
		{"check", "check", params{"ref": tick}, false},
		{"select", "select", params{"ref": size, "values": []string{"L"}}, false},
		{"drag", "drag", params{"ref": goes, "to": there}, false},
		{"scroll", "scroll", params{"ref": goes, "direction": "down", "pixels": 50}, false},
		{"type", "type", params{"ref": field, "text": "abc"}, false},
		{"type, clear", "type", params{"ref": field, "text": "abc", "clear": true}, false},
		{"type by keys", "type", params{"ref": field, "text": "abc", "mode": "keys"}, false},
		{"type, submit", "type", params{"ref": field, "text": "abc", "submit": true}, false},
		{"fill", "fill", params{"fields": []params{{"ref": field, "value": "abc"}}}, false},
		{"fill a checkbox", "fill", params{"fields": []params{{"ref": tick, "value": true}}}, false},
		{"fill a select", "fill", params{"fields": []params{{"ref": size, "value": "L"}}}, false},
		{"press", "press", params{"ref": field, "key": "x"}, false},
		{"press Enter", "press", params{"ref": goes, "key": "Enter"}, false},
		{"paste", "press", params{"ref": field, "key": "Control+v"}, false},
		{"upload", "upload", params{"ref": attach, "files": file}, false},
		{"drop files", "upload", params{"ref": goes, "files": file, "drop": true}, false},
		{"click a mark", "click", params{"ref": mark.Ref}, false},
		{"mouse at a mark", "mouse", params{"action": "click", "x": x, "y": y}, true},
		{"mouse", "mouse", params{"action": "click", "x": 150, "y": 25}, true},
		{"mouse, double", "mouse", params{"action": "click", "x": 150, "y": 25, "count": 2}, true},
		{"mouse, down", "mouse", params{"action": "down", "x": 150, "y": 25}, true},
		{"mouse, up", "mouse", params{"action": "up", "x": 700, "y": 25}, true},
		{"mouse, wheel", "mouse", params{"action": "wheel", "x": 150, "y": 25, "dy": 100}, true},
	}
	attempts, through, named, done := 0, 0, 0, 0
	for _, c := range calls {
		a.do("mouse", params{"action": "move", "x": 700, "y": 500, "snapshot": "none"}) // no :hover
		a.do("eval", params{"expression": "reset(), framed = [], true"})
		c.p["snapshot"], c.p["timeout_ms"] = "none", 800
		if c.point {
			c.p["timeout_ms"] = 5000 // it is not tried again
		}
		var got struct {
			Hit *protocol.Hit `json:"hit"`
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := a.c.Call(ctx, c.method, c.p, &got)
		cancel()
		attempts++
		if err == nil {
			done++
		}
		framed := []string{}
		if list, ok := a.do("eval", params{"expression": "received()"}).Value.([]any); ok {
			for _, e := range list {
				framed = append(framed, fmt.Sprint(e))
			}
		}
		if len(framed) == 0 {
			continue
		}
		if c.point && (err != nil || c.name == "mouse, up" || got.Hit != nil && (got.Hit.Role == "iframe" || got.Hit.Name == "Pay" || got.Hit.Tag == "input")) {
			named++
			continue
		}
		if !c.point && slices.Equal(slices.Compact(framed), []string{"keyup"}) {
			framed = append(framed, "of a key that went down in the page")
		}
		through++
		t.Errorf("%s: the frame received %s; hit %+v, error %v", c.name, strings.Join(framed, " "), got.Hit, err)
	}
	t.Logf("%d attempts, %d answered ok, %d times a point's frame was named, %d through", attempts, done, named, through)
	of.Add(int64(named))
	if done < len(calls)/6 {
		t.Error("so few commands were done that this proves little")
	}
}
