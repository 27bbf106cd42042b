package snapshot

import "testing"

// A line of which only the focus is another is written, and is no change of the page.
func TestTheFocusIsNoChange(t *testing.T) {
	for _, c := range []struct {
		name, was, now string
		want           int
	}{
		{"it comes", `@e1 [button] "Go"`, `@e1 [button focused] "Go"`, 0},
		{"it goes", `@e1 [textbox focused value="a"] "N"`, `@e1 [textbox value="a"] "N"`, 0},
		{"among others", `@e1 [textbox required focused value="a"] "N"`, `@e1 [textbox required value="a"] "N"`, 0},
		{"with a value", `@e1 [textbox value="a"] "N"`, `@e1 [textbox focused value="b"] "N"`, 1},
		{"with a state", `@e1 [checkbox focused] "N"`, `@e1 [checkbox checked focused] "N"`, 1},
		{"in a name", `@e1 [button] "is focused"`, `@e1 [button] "is"`, 1},
		{"in a value", `@e1 [textbox value="a focused b"] "N"`, `@e1 [textbox value="a b"] "N"`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := func(line string) Baseline {
				return Baseline{lines: []shownLine{{ref: 1, text: line}}, chars: len(line) + 100}
			}
			d, _, _ := Diff(list(c.was), list(c.now), DefaultOptions())
			if d.Text != "~ "+c.now || d.Changes != c.want {
				t.Errorf("%q counts %d changes, want %d", d.Text, d.Changes, c.want)
			}
		})
	}
}
