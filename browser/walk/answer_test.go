package walk

import (
	"strings"
	"testing"
)

// TestReadAnswer puts together what an answer says and what it leaves out of the last one.
func TestReadAnswer(t *testing.T) {
	had := Answer{lines: "one\ntwo\nthree", count: 3}
	for _, c := range []struct{ raw, want string }{
		{`{"k":[3,0]}`, "one\ntwo\nthree"},
		{`{"k":[1,2]}`, "one\ntwo\nthree"},
		{`{"k":[0,0]}` + "\nnew", "new"},
		{`{"k":[0,0]}`, ""},
		{`{}`, ""}, // who leaves nothing out need not say so
		{`{"k":[1,1]}` + "\nother\nand", "one\nother\nand\nthree"},
		{`{"k":[1,1]}`, "one\nthree"},
		{`{"k":[2,0]}`, "one\ntwo"},
		{`{"k":[0,2]}`, "two\nthree"},
		{`{"k":[0,3]}` + "\nfirst", "first\none\ntwo\nthree"},
		{`{"k":[3,0]}` + "\nlast", "one\ntwo\nthree\nlast"},
	} {
		got, err := readAnswer(had, c.raw)
		count := 0
		if c.want != "" {
			count = strings.Count(c.want, "\n") + 1
		}
		if err != nil || got.lines != c.want || got.count != count {
			t.Errorf("%q: %+v, %v", c.raw, got, err)
		}
	}
	for _, raw := range []string{`{"k":[4,0]}`, `{"k":[0,4]}`, `{"k":[2,2]}`, `{"k":[-1,0]}`, `{"k":[0,-1]}`, `{"k":[9223372036854775807,1]}`, `{"k":[1.5,0]}`, ""} {
		if got, err := readAnswer(had, raw); err == nil {
			t.Errorf("%q: %+v", raw, got)
		}
	}
}
