package browser

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// A page that opens one dialog after the other is cut off after 20: no more are
// told of, whatever opens them, and the page can be used again, with its next
// dialog as with its first.
func TestDialogsAreCutOff(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct {
		name, flood string
		most        int  // dialogs that the page has opened when it is cut off
		goes        bool // the flood goes on with the next command, and is cut off again
	}{
		{"alert in a loop", `function say() { alert(n++) } while (n < 1000) say()`, 30, false},
		{"alert in a loop, of something to be written", `while (n < 1000) alert({ toString: () => n++ })`, 30, false},
		{"confirm", `const ask = () => confirm(n++); while (n < 1000) ask()`, 30, false},
		{"confirm until it is agreed to", `const ask = () => confirm(n++); while (ask() || n > 0);`, 30, false},
		{"prompt", `const ask = () => prompt(n++); while (n < 1000) ask()`, 30, false},
		{"timers", `const f = () => { alert(n++); setTimeout(f) }; f()`, 30, true},
		{"timers that are set first", `const f = () => { setTimeout(f); alert(n++) }; f()`, 30, true},
		{"timers with prompt", `const f = () => { setTimeout(f); prompt(n++) }; f()`, 30, true},
		{"an interval", `window.timer = setInterval(() => alert(n++), 1)`, 30, true},
		{"promises", `(async () => { for (;;) { alert(n++); await new Promise(done => setTimeout(done)) } })()`, 30, true},
		// V8 looks whether it is to end a script where a function is called, and in a
		// loop that calls none now and then.
		{"alert in a loop without a call", `while (n < 40) alert(n++)`, 40, false},
		{"onbeforeunload", `onbeforeunload = () => 'stay'; setInterval(() => { n++; location = '/204' }, 20)`, 30, true},
		{"beforeunload", `addEventListener('beforeunload', e => e.preventDefault()); setInterval(() => { n++; location = '/204' }, 20)`, 30, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, `<script>let n = 0; function go() { `+c.flood+` }</script>
				<button onclick="go()">Flood</button><button onclick="clearInterval(window.timer); this.textContent = confirm('sure?')">Ask</button>`)
			var told atomic.Int32
			emit := func(typ string, _ map[string]any) {
				if typ == protocol.EventDialog {
					told.Add(1)
				}
			}
			v.c.emitter.Store(&emit)
			v.c.mu.Lock()
			v.c.o.Dialogs = "accept"
			v.c.mu.Unlock()
			opened := func() int {
				v.c.mu.Lock()
				defer v.c.mu.Unlock()
				return v.c.dialogs
			}
			v.click(v.ref("button", "Flood"))
			tab := v.c.selected
			if err := tab.until(limit(t, 10*time.Second), func() bool { return v.c.dialogs > maxDialogs }); err != nil {
				t.Fatalf("%v: %d dialogs", err, v.c.dialogs)
			}
			for before := -1; before != opened() && opened() <= c.most; {
				before = opened()
				v.eval(`new Promise(done => setTimeout(done, 100))`)
			}
			if n := opened(); n > c.most {
				t.Errorf("the page opened %d dialogs", n)
			}
			equal(t, "events", told.Load(), int32(maxDialogs))

			v.look()
			var e protocol.Effect
			got := v.click(v.ref("button", "Ask"))
			if json.Unmarshal([]byte(got), &e) != nil || e.Dialog == nil || !c.goes && v.text(`document.querySelectorAll('button')[1].textContent`) != "true" {
				t.Errorf("the next dialog: %s", got)
			}
		})
	}
}

// An action tells of each dialog that it opened once: of the last by itself, and of those before.
func TestDialogsOfOneAction(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct{ name, js, want string }{
		{"one", `alert('n0')`, `{"hit":"@e1","dialog":{"kind":"alert","message":"n0","answer":"accepted"},"focused":"@e1"}`},
		{"three", `for(let i=0;i<3;i++)alert('n'+i)`, `{"hit":"@e1","dialog":{"kind":"alert","message":"n2","answer":"accepted"},"dialogs":[` +
			`{"kind":"alert","message":"n0","answer":"accepted"},{"kind":"alert","message":"n1","answer":"accepted"}],"focused":"@e1"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, `<button onclick="`+c.js+`">Ask</button>`)
			equal(t, "answer", v.click(v.ref("button", "Ask")), c.want)
		})
	}
}
