package browser

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Keys have the codes of a US keyboard and do what they do in a browser.
func TestPress(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct {
		name, page string
		keys       []string
		js, holds  string
	}{
		{"codes", `<input id=i onkeydown="report(event.key+'/'+event.code+'/'+event.keyCode)">`, []string{"ArrowDown", "a", "A", "Enter", "F5", "Control+Shift+K", "Escape", "1", "!", "Control++"},
			`log.join(' ')`, "ArrowDown/ArrowDown/40 a/KeyA/65 Shift/ShiftLeft/16 A/KeyA/65 Enter/Enter/13 F5/F5/116 Control/ControlLeft/17 Shift/ShiftLeft/16 K/KeyK/75 Escape/Escape/27 1/Digit1/49 Shift/ShiftLeft/16 !/Digit1/49 Control/ControlLeft/17 Shift/ShiftLeft/16 +/Equal/187"},
		{"other names", `<input id=i onkeydown="report(event.key)">`, []string{"esc", "Return", "Up", "Ctrl+c", "Space", "KeyB", "Digit3", "pagedown", "é"}, `log.join('|')`, "Escape|Enter|ArrowUp|Control|c| |b|3|PageDown|é"},
		{"select all and delete", `<textarea id=i>some text</textarea>`, []string{"Control+a", "Backspace"}, `i.value`, ""},
		{"the caret", `<input id=i value=ab>`, []string{"Home", "ArrowRight", "X"}, `i.value`, "aXb"},
		{"selecting with Shift", `<input id=i value=abc>`, []string{"End", "Shift+ArrowLeft", "Shift+ArrowLeft", "z"}, `i.value`, "az"},
		{"Tab", `<input id=i><input id=j onfocus="report('j')">`, []string{"Tab"}, `log.join()`, "j"},
		{"Shift and Tab", `<input id=j onfocus="report('j')"><input id=i>`, []string{"Shift+Tab"}, `log.join()`, "j"},
		{"Enter sends a form", `<form onsubmit="report('sent');return false"><input id=i></form>`, []string{"Enter"}, `log.join()`, "sent"},
		{"Space checks", `<input type=checkbox id=i>`, []string{"Space"}, `i.checked+''`, "true"},
		{"undo", `<input id=i>`, []string{"a", "Control+z"}, `i.value`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page)
			v.eval(`i.focus()`)
			for _, k := range c.keys {
				if _, err := v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Press{Key: k}}); err != nil {
					t.Fatal(err)
				}
			}
			equal(t, "holds", v.text(c.js), c.holds)
		})
	}
	t.Run("on a ref", func(t *testing.T) {
		v := s.open(t, `<input aria-label=A><button onclick="report(1)">Go</button>`)
		got := answer(v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Press{Ref: v.ref("button", "Go"), Key: "Enter"}}))
		equal(t, "answer", got, `{"hit":"@e2","focused":"@e2"}`)
		equal(t, "log", v.log(), "1")
	})
	t.Run("no such key", func(t *testing.T) {
		v := s.open(t, `<button>Go</button>`)
		got := answer(v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Press{Key: "Control+Entr"}}))
		equal(t, "answer", got, `invalid_params: key "Control+Entr": there is no key "Entr" {"nearest":["Enter","End","Alt"],"parameter":"key"}`)
	})
	t.Run("no focus", func(t *testing.T) {
		v := s.open(t, `<h1>Title</h1>`)
		got := answer(v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Focus{Ref: v.ref("heading", "Title")}}))
		equal(t, "answer", got, `not_actionable: @e1 heading "Title" does not take the focus {"because":"not focusable","reason":"disabled"}`)
	})
}

// Where the keys go to while a field keeps the focus is to be seen: the option that the
// field calls the active one.
func TestPressMovesTheActiveOption(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<input role=combobox aria-label=Film aria-expanded=true aria-controls=l onkeydown="setAttribute('aria-activedescendant', event.key === 'ArrowDown' ? 'b' : 'none')"><ul role=listbox id=l><li role=option id=a>Alien<li role=option id=b>Brazil</ul>`)
	focused := func() string {
		v.look()
		var names []string
		for _, n := range v.seen {
			if slices.Contains(n.States, "focused") {
				names = append(names, n.Name)
			}
		}
		return strings.Join(names, " ")
	}
	for _, c := range []struct{ key, want string }{{"ArrowDown", "Film Brazil"}, {"Escape", "Film"}} {
		if _, err := v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Press{Ref: v.ref("combobox", "Film"), Key: c.key}}); err != nil {
			t.Fatal(err)
		}
		equal(t, "focused after "+c.key, focused(), c.want)
	}
}
