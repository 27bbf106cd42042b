package e2e_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/browserd/browserd/protocol"
)

// Each way to name an element without a ref finds the one that is meant, over frames, and
// whatever the source.
func TestLocators(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/locators", page("Locators", `<button>Save</button><button>Save as</button>
<label>Email: * <input name=email></label><label>City <select name=city><option>Oslo<option>Bergen</select></label>
<a href="#x" data-testid='to "x"'>Elsewhere</a><p class=hint>Nothing to see</p><p hidden class=hint>Unseen</p>
<div><b>Twice</b></div><div>Twice</div>`), "")
	a := newAgent(t, d)
	for _, source := range []string{"chromium", "http"} {
		a.do("open", params{"url": w.URL + "/locators", "source": source})
		for _, c := range []struct {
			ref  any
			want string // an attribute or the text of what was found, or the error's code
		}{
			{params{"role": "button", "name": "save"}, "Save"},
			{`role=button[name="Save as"]`, "Save as"},
			{`role=button[name='Save as']`, "Save as"},
			{params{"text": "save  AS"}, "Save as"},
			{"text=Twice", "ambiguous_target"},
			{params{"role": "button"}, "ambiguous_target"},
			{"css=p.hint", "Nothing to see"},
			{params{"css": "p:"}, "invalid_params"},
			{params{"testid": `to "x"`}, "Elsewhere"},
			{"text=Nothing", "not_actionable"},
			{params{"role": "button", "text": "Save"}, "invalid_params"},
			{params{"name": "Save"}, "invalid_params"},
			{params{"roll": "button"}, "invalid_params"},
			{params{}, "invalid_params"},
			{7, "invalid_params"},
			{"@e900", "unknown_ref"},
		} {
			got := ""
			read, err := a.try("read", params{"ref": c.ref, "timeout_ms": 1500})
			if got = strings.TrimSpace(read.Content); err != nil {
				got = string(protocol.CodeOf(err))
			}
			if got != c.want {
				t.Errorf("%s: read %v: %q (%v), want %q", source, c.ref, got, err, c.want)
			}
		}
		a.do("type", params{"ref": params{"label": "email"}, "text": "ola@example.com"})
		filled := ask[struct {
			Fields []struct{ By, Ref string }
		}](a, "fill", params{"fields": []params{{"ref": "label=Email", "value": "kari"}, {"ref": params{"label": "City"}, "value": "Bergen"}}})
		if len(filled.Fields) != 2 || filled.Fields[0].By != "type" || filled.Fields[1].By != "select" {
			t.Errorf("%s: fill: %+v", source, filled)
		}
		for _, c := range []struct{ label, want string }{{"Email", "kari"}, {"City", "Bergen"}} {
			if got := a.do("read", params{"ref": params{"label": c.label}, "kind": "value"}); got.Content != c.want {
				t.Errorf("%s: %s holds %q, want %q", source, c.label, got.Content, c.want)
			}
		}
		if shown := a.do("snapshot", params{"scope": "role=combobox"}).Snapshot.Text; !strings.Contains(shown, `[combobox`) || strings.Contains(shown, "Save") {
			t.Errorf("%s: a snapshot of a locator: %s", source, shown)
		}
		for _, c := range []struct {
			params params
			want   string
		}{
			{params{"ref": "text=Elsewhere"}, "visible"},
			{params{"ref": params{"role": "dialog"}, "gone": true}, "gone"},
		} {
			if got := ask[struct{ Seen params }](a, "wait", c.params).Seen["ref"]; got != c.want {
				t.Errorf("%s: wait %v: %v, want %s", source, c.params, got, c.want)
			}
		}
		for what, code := range map[string]protocol.Code{"role=button": protocol.AmbiguousTarget, "text=Absent": protocol.Timeout} {
			if _, err := a.try("wait", params{"ref": what, "timeout_ms": 1000}); protocol.CodeOf(err) != code {
				t.Errorf("%s: wait for %s: %v, want %s", source, what, err, code)
			}
		}
	}
}

// An error of a ref, a locator or a selector names the parameter that it was sent in, and its message begins with where.
func TestTheParameterOfALocator(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/", page("Parameters", `<button>Save</button><input aria-label=Email>`), "")
	a := newAgent(t, d)
	for _, source := range []string{"chromium", "http"} {
		a.do("open", params{"url": w.URL + "/", "source": source})
		for _, c := range []struct {
			command            string
			params             params
			parameter, message string
		}{
			{"click", params{"ref": "css=p:"}, "ref", `ref: "p:" is no CSS selector`},
			{"click", params{"ref": "txt=Save"}, "ref", `ref: txt=Save: a locator begins with role=, text=, label=, testid= or css=`},
			{"click", params{"ref": "Save"}, "ref", `ref "Save" is not a ref`},
			{"snapshot", params{"scope": "css=p:"}, "scope", `scope: "p:" is no CSS selector`},
			{"snapshot", params{"scope": "id=save"}, "scope", `scope: id=save: a locator begins with role=, text=, label=, testid= or css=`},
			{"drag", params{"ref": "role=button", "to": "css=p:"}, "to", `to: "p:" is no CSS selector`},
			{"drag", params{"ref": "role=button", "to": "role=x["}, "to", `to: role=x[: accepts role=ROLE or role=ROLE[name="NAME"]`},
			{"page_tool", params{"name": "buy", "frame": "css=p:"}, "frame", `frame: "p:" is no CSS selector`},
			{"find", params{"chain": []params{{"css": "p:"}}}, "chain", `chain: one of its steps is no CSS selector, or no XPath`},
			{"find", params{"chain": []params{{"xpath": "//["}}}, "chain", `chain: one of its steps is no CSS selector, or no XPath`},
			{"fill", params{"fields": []params{{"ref": "label=Email", "value": "a"}, {"ref": "css=p:", "value": "b"}}}, "fields", `fields[1].ref: "p:" is no CSS selector`},
			{"fill", params{"fields": []params{{"ref": "label=Email", "value": "a"}, {"ref": "Name", "value": "b"}}}, "fields", `fields[1].ref "Name" is not a ref`},
			{"fill", params{"fields": []params{{"ref": "txt=Email", "value": "a"}}}, "fields", `fields[0].ref: txt=Email: a locator begins with role=, text=, label=, testid= or css=`},
		} {
			if source == "http" && slices.Contains([]string{"drag", "find", "page_tool"}, c.command) && c.message != `to: role=x[: accepts role=ROLE or role=ROLE[name="NAME"]` {
				continue // they need Chromium
			}
			said := a.refused(c.command, c.params, protocol.InvalidParams)
			if said.Details["parameter"] != c.parameter || said.Message != c.message {
				t.Errorf("%s: %s %v: %s, parameter %v; want %s, parameter %s", source, c.command, c.params, said.Message, said.Details["parameter"], c.message, c.parameter)
			}
			if unread := strings.Contains(c.message, "begins with") || strings.Contains(c.message, "not a ref"); unread && !strings.Contains(said.Next, protocol.LocatorForms) {
				t.Errorf("%s: %s %v: next is %q", source, c.command, c.params, said.Next)
			}
		}
	}
}

// An error of a locator shows the lines of the elements that may be meant, with refs that
// can be used.
func TestLocatorsThatFitNothingOrSeveral(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/rows", page("Rows", `<ul><li>Ann <button>Delete</button></li><li>Bob <button>Delete</button></li></ul><button>Delete all</button><p id=out></p>
<script>for (const b of document.querySelectorAll('button')) b.onclick = () => out.textContent = 'deleted ' + b.parentNode.firstChild.data</script>`), "")
	a := newAgent(t, d)
	a.do("open", params{"url": w.URL + "/rows", "snapshot": "none"})
	lines := func(ref, detail string, code protocol.Code) []string {
		t.Helper()
		_, err := a.try("click", params{"ref": ref, "timeout_ms": 4000})
		var said *protocol.Error
		if !errors.As(err, &said) || said.Code != code {
			t.Fatalf("click %s: %v, want %s", ref, err, code)
		}
		list, _ := said.Details[detail].([]any)
		var text []string
		for _, one := range list {
			text = append(text, fmt.Sprint(one))
		}
		return text
	}
	several := lines(`role=button[name="Delete"]`, "candidates", protocol.AmbiguousTarget)
	if len(several) != 2 || !strings.HasSuffix(several[1], `[button] "Delete"`) {
		t.Fatalf("candidates: %q", several)
	}
	ref, _, _ := strings.Cut(several[1], " ")
	if a.do("click", params{"ref": ref}); !strings.Contains(a.held.Text(), "deleted Bob") {
		t.Errorf("a click on a candidate: %s", a.held.Text())
	}
	if near := lines(`role=button[name="all"]`, "nearest", protocol.NotActionable); len(near) != 1 || !strings.HasSuffix(near[0], `"Delete all"`) {
		t.Errorf("nearest: %q", near)
	}
}

// What a locator names is waited for, whether it is not there yet or not rendered; what is
// in a frame is found; a file input need not be rendered.
func TestLocatorsWait(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/inner", page("Inner", `<button onclick="this.textContent = 'Paid'">Pay</button>`), "")
	w.serve("/late", page("Late", `<button id=open onclick="setTimeout(() => later.innerHTML = '<button>Agree</button>', 300); setTimeout(() => { ok.hidden = false; ok.textContent = 'OK' }, 600)">Open</button>
<div id=later></div><button id=ok hidden onclick="this.textContent = 'Thanks'"></button><iframe src="/inner"></iframe>
<label for=f>Choose a file</label><input id=f type=file style="display:none">`), "")
	a := newAgent(t, d)
	a.do("open", params{"url": w.URL + "/late", "snapshot": "none"})
	a.do("click", params{"ref": "text=Open", "snapshot": "none"})
	if got := a.do("click", params{"ref": params{"css": "#ok"}}); !strings.Contains(a.held.Text(), "Thanks") {
		t.Errorf("a click on what is shown later: %+v", got)
	}
	a.do("wait", params{"ref": params{"text": "Agree"}})
	if got := a.do("click", params{"ref": params{"role": "button", "name": "Pay"}}); !strings.Contains(a.held.Text(), "Paid") {
		t.Errorf("a click in a frame: %+v", got)
	}
	a.do("upload", params{"ref": "css=#f", "files": []params{{"name": "a.txt", "base64": "YQ=="}}})
	if got := a.do("eval", params{"ref": "css=#f", "expression": "element.files.length"}); got.Value != 1.0 {
		t.Errorf("the hidden file input holds %v", got.Value)
	}
}
