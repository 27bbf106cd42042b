package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/browserd/browserd/protocol"
)

// A code that is typed into a box for each character goes on in the next box where the page
// moves the focus there. What is no such box gets nothing, and the answer says how much of the
// text is left and where it may go on.
func TestCodeBoxes(t *testing.T) {
	t.Parallel()
	boxes := func(n int, attributes string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `<input class=box aria-label="Digit %d" %s>`, i+1, attributes)
		}
		return b.String()
	}
	const (
		advance = `<script>const list=[...document.querySelectorAll('.box')];list.forEach((b,i)=>b.addEventListener(EVENT,()=>{if(b.value&&list[i+1])list[i+1].focus();else if(b.value&&LAST)b.blur()}))</script>`
		values  = `[...document.querySelectorAll('input')].map(b=>b.value||'-').join('')`
	)
	script := func(event, last string) string {
		return strings.NewReplacer("EVENT", "'"+event+"'", "LAST", last).Replace(advance)
	}
	const one = "maxlength=1 inputmode=numeric"
	const whole = `{"hit":"`
	withheld := func(n, of int, next string) string {
		return fmt.Sprintf(` textbox "Digit 1" lost the focus to |textbox %q while it was typed into; the last %d of %d characters were withheld|"left":%d`, next, n, of, n)
	}
	buildStages(t, func(t *testing.T, s *stage) {
		for _, c := range []struct{ name, page, text, answer, holds string }{
			{"on input", "<form>" + boxes(6, one) + "</form>" + script("input", "false"), "123456", whole, "123456"},
			{"on keyup", "<form>" + boxes(6, one) + "</form>" + script("keyup", "false"), "123456", whole, "123456"},
			{"without a form", boxes(4, one) + script("input", "false"), "1234", whole, "1234"},
			{"numbers for phones", boxes(4, one+" type=tel") + script("input", "false"), "1234", whole, "1234"},
			{"secret", boxes(4, one+" type=password") + script("input", "false"), "1234", whole, "1234"},
			{"the last gives the focus up", boxes(4, one) + script("input", "true"), "1234", whole, "1234"},
			{"pairs", boxes(3, "maxlength=2") + `<script>const list=[...document.querySelectorAll('.box')];list.forEach((b,i)=>b.oninput=()=>{if(b.value.length==2&&list[i+1])list[i+1].focus()})</script>`, "112233", whole, "112233"},
			{"more than boxes", boxes(2, one) + script("input", "false"), "123", `"value":"12"`, "12"},
			{"one field that hands on when all is typed", boxes(1, "") + `<input class=box aria-label=Next>` + `<script>document.querySelector('.box').oninput=e=>{if(e.target.value.length==4)document.querySelectorAll('.box')[1].focus()}</script>`, "1234", whole, "1234-"},
			{"no length", boxes(3, "") + script("input", "false"), "123", withheld(2, 3, "Digit 2"), "1--"},
			{"another form", `<form>` + boxes(1, one) + `</form><form><input class=box maxlength=1 aria-label=Other></form>` + script("input", "false"), "12", withheld(1, 2, "Other"), "1-"},
			{"another kind", boxes(1, one+" type=password") + `<input class=box maxlength=1 aria-label=Other>` + script("input", "false"), "12", withheld(1, 2, "Other"), "1-"},
			{"another length", boxes(1, one) + `<input class=box maxlength=4 aria-label=Other>` + script("input", "false"), "12", withheld(1, 2, "Other"), "1-"},
			{"one that is full", boxes(1, one) + `<input class=box maxlength=1 value=9 aria-label=Other>` + script("input", "false"), "12", withheld(1, 2, "Other"), "19"},
			{"one that is before", `<input maxlength=1 aria-label=Other id=o>` + boxes(1, one) + `<script>document.querySelector('.box').oninput=()=>o.focus()</script>`, "12", `"by":{"name":"Other"|"left":1`, "-1"},
			{"before the box is full", boxes(2, "maxlength=2") + script("input", "false"), "1122", withheld(3, 4, "Digit 2"), "1-"},
		} {
			for _, mode := range []string{"", "keys"} {
				t.Run(c.name+" "+mode, func(t *testing.T) {
					v := s.open(t, c.page)
					got := v.write(v.ref("textbox", "Digit 1"), protocol.Type{Text: c.text, Mode: mode})
					for part := range strings.SplitSeq(c.answer, "|") {
						if !strings.Contains(got, part) {
							t.Errorf("answer %s, want %s in it", got, part)
						}
					}
					if c.answer == whole && strings.Contains(got, `"value"`) {
						t.Errorf("answer %s, want no value in it", got)
					}
					equal(t, "the boxes", v.text(values), c.holds)
				})
			}
		}
	})
}
