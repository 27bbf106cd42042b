package input

import (
	"testing"

	"github.com/browserd/browserd/protocol"
)

// A chord names its key as KeyboardEvent does, by an alias, by its code or by the
// character that it types, and has its modifiers before it.
func TestParseChord(t *testing.T) {
	for _, c := range []struct {
		chord, name, code string
		modifiers         int64
	}{
		{"Enter", "Enter", "Enter", 0},
		{"esc", "Escape", "Escape", 0},
		{"a", "a", "KeyA", 0},
		{"A", "A", "KeyA", shiftKey},
		{"Shift+a", "A", "KeyA", shiftKey},
		{"KeyB", "b", "KeyB", 0},
		{"Control+a", "a", "KeyA", controlKey},
		{"Ctrl+Shift+Tab", "Tab", "Tab", controlKey | shiftKey},
		{"Control+A", "a", "KeyA", controlKey},
		{"Control+Shift+A", "A", "KeyA", controlKey | shiftKey},
		{"Shift+A", "A", "KeyA", shiftKey},
		{"Control++", "+", "Equal", controlKey | shiftKey},
		{"Cmd+Option+F5", "F5", "F5", metaKey | altKey},
		{"é", "é", "", 0},
	} {
		got, err := ParseChord(c.chord)
		if err != nil || got.key.name != c.name || got.key.code != c.code || got.modifiers != c.modifiers {
			t.Errorf("%s: got %+v %v, want key %q %q with modifiers %d", c.chord, got, err, c.name, c.code, c.modifiers)
		}
	}
	for _, chord := range []string{"", "Control+Entr", "Hyper+a", "\x01"} {
		if _, err := ParseChord(chord); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("%q: got %v, want %s", chord, err, protocol.InvalidParams)
		}
	}
}

// A key is pressed with the modifiers that are down already: Shift makes the other character of it.
func TestHold(t *testing.T) {
	for _, key := range []string{"a", "KeyA", "A"} {
		var p Pointer
		p.Hold(MustChord("Shift").Only("down"))
		if got, _ := p.Hold(MustChord(key)); got.key.text != "A" || got.held != shiftKey {
			t.Errorf("%s with Shift down: got %+v, want A", key, got)
		}
		p.Hold(MustChord("Shift").Only("up"))
		if got, _ := p.Hold(MustChord("a")); got.key.text != "a" || got.held != 0 {
			t.Errorf("a with Shift up again: got %+v, want a", got)
		}
	}
}

// Keys that copy, cut or paste are refused where the clipboard is a person's, also where the modifier
// went down before; all others are pressed.
func TestThePersonsClipboard(t *testing.T) {
	of := func(persons bool) *Pointer { return (&Mouse{PersonsClipboard: persons}).Over(nil) }
	for _, key := range []string{"Control+c", "Ctrl+X", "Control+v", "Control+Shift+v", "Control+Alt+v", "Meta+c", "Cmd+V", "CmdOrCtrl+KeyX", "Shift+Insert", "Control+Insert", "Control+Ins", "Shift+Delete"} {
		if _, err := of(false).Hold(MustChord(key)); err != nil {
			t.Errorf("%s in a Chromium of the daemon's: %v", key, err)
		}
		for _, action := range []string{"press", "down"} {
			if _, err := of(true).Hold(MustChord(key).Only(action)); protocol.CodeOf(err) != protocol.Unsupported {
				t.Errorf("%s, %s: %v", key, action, err)
			}
		}
	}
	p := of(true)
	for _, key := range []string{"c", "Shift+x", "V", "Alt+v", "Control+a", "Control+z", "Control+Enter", "Insert", "Delete", "Control+Delete", "Shift+End"} {
		if _, err := p.Hold(MustChord(key)); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	p.Hold(MustChord("Control").Only("down"))
	if _, err := p.Hold(MustChord("v")); protocol.CodeOf(err) != protocol.Unsupported {
		t.Errorf("v with Control down: %v", err)
	}
	if _, err := p.Hold(MustChord("Control+v").Only("up")); err != nil {
		t.Errorf("up: %v", err)
	}
	if _, err := p.Hold(MustChord("v")); err != nil {
		t.Errorf("v with Control up again: %v", err)
	}
}

// A press is one of three buttons, at most three times, with modifier keys.
func TestParsePress(t *testing.T) {
	got, err := ParsePress("", 0, []string{"Alt", "Shift"})
	if want := (Press{"left", 1, altKey | shiftKey}); got != want || err != nil {
		t.Errorf("got %+v %v, want %+v", got, err, want)
	}
	for _, c := range []struct {
		button    string
		count     int
		modifiers []string
	}{{"thumb", 1, nil}, {"left", 4, nil}, {"left", 1, []string{"Hyper"}}} {
		if _, err := ParsePress(c.button, c.count, c.modifiers); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("%+v: got %v, want %s", c, err, protocol.InvalidParams)
		}
	}
}

// A drag ends a little beyond the middle that it goes to, unless it is there already.
func TestDragEndsPastTheMiddle(t *testing.T) {
	for _, c := range [][3]float64{{0, 100, 102}, {100, 0, -2}, {0, 8, 8}, {0, -8, -8}} {
		if got := past(c[0], c[1]); got != c[2] {
			t.Errorf("from %g to %g: ends at %g, want %g", c[0], c[1], got, c[2])
		}
	}
}
