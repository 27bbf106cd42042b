package browser

import (
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

const colours = `<option value=b>Blue<option value=g>Green<optgroup label=Warm><option value=r>Red<option value=y disabled>Yellow</optgroup>`

// Options are selected by label or value, all that are named or none.
func TestSelect(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct {
		name, page, role string
		values           []string
		want, log        string
	}{
		{"by label", `<select aria-label=C oninput="report('input')" onchange="report(this.value)">` + colours + `</select>`, "combobox", []string{"Green"}, `[["Green"],{"hit":"@e1","changed":true,"focused":"@e1"}]`, "input g"},
		{"by value, in a group", `<select aria-label=C onchange="report(this.value)">` + colours + `</select>`, "combobox", []string{"r"}, `[["Red"],{"hit":"@e1","changed":true,"focused":"@e1"}]`, "r"},
		{"several", `<select aria-label=C multiple onchange="report([...this.selectedOptions].map(o=>o.value))">` + colours + `</select>`, "listbox", []string{"Red", "b"}, `[["Blue","Red"],{"hit":"@e1","changed":true,"focused":"@e1"}]`, "b,r"},
		{"what is selected already", `<select aria-label=C onchange="report(this.value)">` + colours + `</select>`, "combobox", []string{"Blue"}, `[["Blue"],{"hit":"@e1","focused":"@e1"}]`, ""},
		{"appearance: base-select", `<style>select,::picker(select){appearance:base-select}</style><select aria-label=C onchange="report(this.value)">` + colours + `</select>`, "combobox", []string{"Green"}, `[["Green"],{"hit":"@e1","changed":true,"focused":"@e1"}]`, "g"},
		{"enabled later", `<select id=s disabled aria-label=C onchange="report(this.value)">` + colours + `</select><script>setTimeout(()=>s.disabled=false,400)</script>`, "combobox", []string{"Red"}, `[["Red"],{"hit":"@e1","changed":true,"focused":"@e1"}]`, "r"},
		{"an option that comes later", `<select id=s aria-label=C onchange="report(this.value)"><option>Loading</select><script>setTimeout(()=>s.innerHTML='<option>Oslo<option>Bergen',600)</script>`, "combobox", []string{"Bergen"}, `[["Bergen"],{"hit":"@e1","changed":true,"focused":"@e1"}]`, "Bergen"},
		{"options that come with the focus", `<select id=s aria-label=C onfocus="setTimeout(()=>s.innerHTML='<option>Oslo<option>Bergen',50)" onchange="report(this.value)"><option>Choose</select>`, "combobox", []string{"Bergen"}, `[["Bergen"],{"hit":"@e1","changed":true,"focused":"@e1"}]`, "Bergen"},
		{"an option that is enabled later", `<select id=s aria-label=C onchange="report(this.value)"><option>Oslo<option disabled>Bergen</select><script>setTimeout(()=>s[1].disabled=false,600)</script>`, "combobox", []string{"Bergen"}, `[["Bergen"],{"hit":"@e1","changed":true,"focused":"@e1"}]`, "Bergen"},
		{"by the name of an option", `<select aria-label=C onchange="report(this.value)"><option value=0>-<option value=1 aria-label="Number one">1</select>`, "combobox", []string{"Number one"}, `[["1"],{"hit":"@e1","changed":true,"focused":"@e1"}]`, "1"},
		{"missing", `<select aria-label=C onchange="report(this.value)">` + colours + `</select>`, "combobox", []string{"Zed"}, `invalid_params: values: @e1 combobox "C" has no option "Zed" {"count":4,"options":["Blue","Green","Red","Yellow"],"parameter":"values"}`, ""},
		{"one of two missing", `<select aria-label=C multiple onchange="report(1)">` + colours + `</select>`, "listbox", []string{"Red", "Zed"}, `invalid_params: values: @e1 listbox "C" has no option "Zed" {"count":4,"options":["Blue","Green","Red","Yellow"],"parameter":"values"}`, ""},
		{"disabled option", `<select aria-label=C onchange="report(1)">` + colours + `</select>`, "combobox", []string{"Yellow"}, `not_actionable: the option "Yellow" of @e1 combobox "C" is disabled {"reason":"disabled"}`, ""},
		{"two of one", `<select aria-label=C onchange="report(1)">` + colours + `</select>`, "combobox", []string{"Blue", "Red"}, `invalid_params: values: @e1 combobox "C" accepts one of its options, not 2 {"parameter":"values"}`, ""},
		{"none", `<select aria-label=C multiple oninput="report('input')" onchange="report([...this.selectedOptions].length)"><option selected>Blue<option selected>Red</select>`, "listbox", []string{}, `[[],{"hit":"@e1","changed":true,"focused":"@e1"}]`, "input 0"},
		{"none of none", `<select aria-label=C multiple onchange="report(1)"><option>Blue</select>`, "listbox", []string{}, `[[],{"hit":"@e1","focused":"@e1"}]`, ""},
		{"none of one", `<select aria-label=C onchange="report(1)">` + colours + `</select>`, "combobox", []string{}, `invalid_params: values: @e1 combobox "C" accepts one of its options, not 0 {"parameter":"values"}`, ""},
		{"none of one that shows several", `<select aria-label=C size=3 onchange="report(1)"><option selected>Blue</select>`, "listbox", []string{}, `invalid_params: values: @e1 listbox "C" accepts one of its options, not 0 {"parameter":"values"}`, ""},
		{"not a select", `<div role=listbox aria-label=C><div role=option onclick="report(1)">Blue</div></div>`, "listbox", []string{"Blue"}, `unsupported: @e1 listbox "C" is no select of HTML null`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page)
			done, err := v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Select{Ref: v.ref(c.role, "C"), Values: c.values}})
			equal(t, "answer", answer([]any{done.Selected, done.Effect}, err), c.want)
			equal(t, "log", v.log(), c.log)
		})
	}
}

// Check clicks where the state is another one, and only there.
func TestCheck(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct {
		name, page, role string
		checked          bool
		want, log        string
	}{
		{"a checkbox", `<input type=checkbox aria-label=A onchange="report(this.checked)">`, "checkbox", true, `{"hit":"@e1","changed":true,"focused":"@e1"}`, "true"},
		{"one that is checked", `<input type=checkbox checked aria-label=A onclick="report('click')">`, "checkbox", true, `{"hit":"@e1"}`, ""},
		{"unchecked", `<input type=checkbox checked aria-label=A onchange="report(this.checked)">`, "checkbox", false, `{"hit":"@e1","changed":true,"focused":"@e1"}`, "false"},
		{"hidden behind its label", `<style>input{opacity:0;position:absolute}</style><label style="padding:20px"><input type=checkbox onchange="report(this.checked)">A</label>`, "checkbox", true, `{"hit":"@e1","changed":true,"focused":"@e1"}`, "true"},
		{"a radio button", `<input type=radio name=r aria-label=A onchange="report('a')"><input type=radio name=r checked aria-label=B>`, "radio", true, `{"hit":"@e1","changed":true,"focused":"@e1"}`, "a"},
		{"a radio button cannot be unchecked", `<input type=radio name=r checked aria-label=A onchange="report('a')">`, "radio", false, `invalid_params: checked false: @e1 radio "A" is a radio button, which is unchecked by checking another one {"parameter":"checked"}`, ""},
		{"a switch that answers later", `<div role=switch aria-checked=false tabindex=0 aria-label=A style="width:40px;height:20px" onclick="setTimeout(()=>{this.setAttribute('aria-checked','true');report('on')},120)"></div>`, "switch", true, `{"hit":"@e1","changed":true,"focused":"@e1"}`, "on"},
		{"the page keeps it", `<input type=checkbox aria-label=A onclick="event.preventDefault()">`, "checkbox", true, `not_actionable: @e1 checkbox "A" was clicked, and the page kept it unchecked {"reason":"readonly"}`, ""},
		{"no state", `<button>A</button>`, "button", true, `invalid_params: ref @e1 button "A" can be neither checked nor unchecked {"parameter":"ref"}`, ""},
		{"disabled", `<input type=checkbox disabled aria-label=A>`, "checkbox", true, `not_actionable: @e1 checkbox "A" is disabled {"reason":"disabled"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page)
			equal(t, "answer", v.acts(c.want, protocol.Check{Ref: v.ref(c.role, "A"), Checked: c.checked}), c.want)
			equal(t, "log", v.log(), c.log)
		})
	}
}
