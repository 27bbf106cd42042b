package e2e_test

import (
	"regexp"
	"testing"
)

// A click that opens something and puts the focus into it names what has the focus
// by the ref that the answer shows it with.
func TestFocusOnWhatComes(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/modal", page("modal", `<button onclick="m.innerHTML='<input aria-label=Code>';m.firstChild.focus()">Open</button><div id=m></div>`), "")
	a := newAgent(t, d)
	a.open(w.URL + "/modal")
	a.do("snapshot", params{})
	var got struct {
		Effect struct{ Focused string }
		Delta  struct{ Text string }
	}
	if err := a.c.Call(t.Context(), "click", params{"ref": "@e1"}, &got); err != nil {
		t.Fatal(err)
	}
	field := regexp.MustCompile(`\+ (@e\d+) \[textbox[^\]]* focused\] "Code"`).FindStringSubmatch(got.Delta.Text)
	if field == nil || got.Effect.Focused != field[1] {
		t.Errorf("focused %q, delta:\n%s", got.Effect.Focused, got.Delta.Text)
	}
}
