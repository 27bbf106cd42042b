package browser

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"

	"github.com/browserd/browserd/protocol"
)

// An action that its client gives up while its element cannot be acted on does nothing when it can, and keeps
// nobody's input from anything.
func TestWhatIsGivenUpDoesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct {
		name, page string
		act        func(v *visit) protocol.Action
	}{
		{"select", `<select aria-label=C id=i disabled onchange="report('chosen')"><option>Blue<option>Green</select>`,
			func(v *visit) protocol.Action {
				return protocol.Select{Ref: v.ref("combobox", "C"), Values: []string{"Green"}}
			}},
		{"select an option that comes later", `<select aria-label=C id=i onchange="report('chosen')"><option>Blue</select><script>Object.defineProperty(i, 'disabled', {set() { this.append(new Option('Green')) }})</script>`,
			func(v *visit) protocol.Action {
				return protocol.Select{Ref: v.ref("combobox", "C"), Values: []string{"Green"}}
			}},
		{"type a date", `<input type=date aria-label=D id=i disabled oninput="report('typed')">`,
			func(v *visit) protocol.Action { return protocol.Type{Ref: v.ref("textbox", "D"), Text: "2026-01-02"} }},
		{"click", `<button id=i disabled onclick="report('clicked')">A</button>`,
			func(v *visit) protocol.Action { return protocol.Click{Ref: v.ref("button", "A")} }},
		{"type", `<input id=i aria-label=T disabled onfocus="report('focus')">`,
			func(v *visit) protocol.Action { return protocol.Type{Ref: v.ref("textbox", "T"), Text: "x"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page+`<p><button style="position:fixed;left:300px;top:300px;width:80px;height:40px" onclick="report('other')">Other</button>`)
			v.eval(`log.length = 0`)
			ctx, cancel := context.WithCancel(limit(t, 10*time.Second))
			time.AfterFunc(150*time.Millisecond, cancel)
			if _, err := v.c.Act(ctx, v.refs, protocol.Act{Action: c.act(v)}); err == nil {
				t.Fatal("it was done")
			}
			v.eval(`i.disabled = false; new Promise((then) => setTimeout(then, 400))`) // it looks again each 100 ms
			press := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMousePressed, X: 340, Y: 320, Button: "left", ClickCount: 1}
			release := press
			release.Type = input.DispatchMouseEventTypeMouseReleased
			tab := v.c.selected
			tab.cdp.Send(input.DispatchMouseEvent.Method, press)
			if err := tab.wait(limit(t, 5*time.Second), tab.cdp.Send(input.DispatchMouseEvent.Method, release), nil); err != nil {
				t.Fatal(err)
			}
			equal(t, "log", v.log(), "other")
		})
	}
}

// What a page says once its dialog is answered is told with the answer.
func TestAnAnswerTellsWhatIsSaid(t *testing.T) {
	t.Parallel()
	v := newStage(t).open(t, `<button onclick="if (confirm('Delete it?')) { s.textContent = 'Deleted'; setTimeout(() => i.focus(), 5) }">Delete</button><p role=status id=s></p><input id=i>`)
	equal(t, "click", v.click(v.ref("button", "Delete")), `{"hit":"@e1","dialog":{"kind":"confirm","message":"Delete it?","answer":"open"}}`)
	_, e, settled, err := v.c.Dialog(limit(t, 5*time.Second), v.refs, protocol.DialogAnswer{Accept: true})
	if err != nil {
		t.Fatal(err)
	}
	if !settled || len(e.Announced) != 1 || e.Announced[0] != "Deleted" || e.Focused == "" {
		t.Errorf("settled %v: %s", settled, answer(protocol.Outcome{Effect: e}, nil))
	}
}

// The time of a dialog that has been answered ends no other one.
func TestATimeoutIsOfItsDialog(t *testing.T) {
	t.Parallel()
	v := newStage(t).open(t, `<button onclick="report(confirm('one')); report(confirm('two'))">Ask</button>`)
	v.click(v.ref("button", "Ask"))
	dialogs := &v.c.selected.dialogs
	v.c.mu.Lock()
	first := dialogs.open
	v.c.mu.Unlock()
	if _, _, _, err := v.c.Dialog(limit(t, 5*time.Second), nil, protocol.DialogAnswer{Accept: true}); err != nil {
		t.Fatal(err)
	}
	if err := v.c.selected.until(limit(t, 5*time.Second), func() bool { return dialogs.open != nil && dialogs.open != first }); err != nil {
		t.Fatal(err)
	}
	dialogs.expire(first)
	if d, _, _, err := v.c.Dialog(limit(t, 5*time.Second), nil, protocol.DialogAnswer{Accept: true}); err != nil || d.Message != "two" || d.Answer != "accepted" {
		t.Errorf("%+v, %v", d, err)
	}
	equal(t, "log", v.log(), "true true")
}

// A drag that is given up lets the button go where the mouse is, and drops nothing on its target.
func TestADragThatIsGivenUpIsReleased(t *testing.T) {
	t.Parallel()
	v := newStage(t).open(t, `<style>div{width:80px;height:60px;margin:10px;background:#afa}</style><div role=button aria-label=From onmousedown="report('down')"></div><div style="height:300px"></div><div role=button aria-label=To onmouseup="report('dropped')"></div>
		<script>onmousemove = (e) => { if (e.buttons) for (const until = performance.now() + 150; performance.now() < until;); }; onmouseup = () => report('up')</script>`)
	ctx, cancel := context.WithCancel(limit(t, 20*time.Second))
	go func() {
		for received := 0; received == 0 && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			received, _ = v.c.selected.inputCounts()
		}
		cancel()
	}()
	if _, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Drag{Ref: v.ref("button", "From"), To: v.ref("button", "To")}}); err == nil {
		t.Fatal("it was done")
	}
	v.eval(`new Promise((then) => { const look = () => log.includes('up') ? then() : setTimeout(look, 10); look() })`)
	equal(t, "log", v.log(), "down up")
}
