package form

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/browserd/browserd/protocol"
)

// document parses a page; its first form is the one that the tests send.
func document(t testing.TB, page string) (*Controls, *html.Node) {
	t.Helper()
	root, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	c := NewControls(t.Context(), root)
	if len(c.forms) == 0 {
		return c, nil
	}
	return c, c.forms[0]
}

// What is sent, as far as e2e does not compare it with Chromium already.
func TestSubmit(t *testing.T) {
	for _, c := range []struct{ page, submitter, want string }{
		{`<form><input name=a value="b c"></form>`, "", "GET ?a=b+c"},
		{`<form method=dialog><input name=a></form>`, "", "DIALOG ?"},
		{`<form method=POST target=_blank><input name=a value=1></form>`, "", "POST a=1"},
		{`<form><button id=s name=s value=1 command=show-modal commandfor=d>Open</button></form>`, "", "GET ?"},
		{`<form id=f></form><button id=s form=f name=s value=1 formmethod=post>Go</button>`, "s", "POST s=1"},
		{`<form method=post><select name=s><option value=1>x<optgroup><option selected>  a
b </select></form>`, "", "POST s=a+b"},
	} {
		controls, form := document(t, c.page)
		s := controls.Submit(form, controls.ByID(c.submitter), Point{}, "utf-8")
		got := s.Method + " ?" + s.Query
		if s.Method == "POST" {
			got = s.Method + " " + string(s.Body)
		}
		if got != c.want {
			t.Errorf("%s\ngot %q, want %q", c.page, got, c.want)
		}
	}
}

// Each constraint, and the nearest value that keeps it.
func TestInvalids(t *testing.T) {
	for _, c := range []struct{ control, want string }{
		{`<input required>`, "valueMissing"},
		{`<input required value=" ">`, ""},
		{`<input required readonly>`, ""},
		{`<input required disabled>`, ""},
		{`<input type=hidden required>`, ""},
		{`<fieldset disabled><input required></fieldset>`, ""},
		{`<textarea required></textarea>`, "valueMissing"},
		{`<input type=checkbox required>`, "valueMissing"},
		{`<input type=checkbox required checked>`, ""},
		{`<input type=radio name=r required><input type=radio name=r>`, "valueMissing"},
		{`<input type=radio name=r required><input type=radio name=r checked>`, ""},
		{`<input type=file required>`, "valueMissing"},
		{`<input type=range required><input type=color required>`, ""},
		{`<select required><option value="">Choose<option>a</select>`, "valueMissing"},
		{`<select required><option value="">Choose<option selected>a</select>`, ""},
		{`<select required size=2><option value="" selected>None</select>`, ""},
		{`<select required multiple><option>a</select>`, "valueMissing"},
		{`<input type=email value=a@b>`, ""},
		{`<input type=email value=a@>`, "typeMismatch"},
		{`<input type=email value="a@b, c@d">`, "typeMismatch"},
		{`<input type=email multiple value="a@b, c@d">`, ""},
		{`<input type=url value=https://a.b/c>`, ""},
		{`<input type=url value=a.b/c>`, "typeMismatch"},
		{`<input pattern="[a-z]+\d" value=ab1>`, ""},
		{`<input pattern="[a-z]+\d" value=ab12>`, "patternMismatch"},
		{`<input pattern="a|b" value=ab>`, "patternMismatch"},
		{`<input pattern="\u{e9}\u00e9" value=éé>`, ""},
		{`<input pattern="(?=x)y" value=z>`, ""}, // what Go cannot read is the server's
		{`<input pattern=x value="">`, ""},
		{`<input maxlength=1 value=abc>`, ""}, // not typed
		{`<input type=number min=3 value=2>`, "rangeUnderflow"},
		{`<input type=number min=3 max=5 value=5>`, ""},
		{`<input type=number max=5 value=5.5>`, "rangeOverflow"},
		{`<input type=number value=1.5>`, ""}, // its own value is the base
		{`<input type=number min=0 value=1.5>`, "stepMismatch"},
		{`<input type=number min=0 step=.1 value=.3>`, ""},
		{`<input type=number min=0 step=any value=1.234>`, ""},
		{`<input type=date min=2026-01-02 value=2026-01-01>`, "rangeUnderflow"},
		{`<input type=date min=2026-01-01 step=7 value=2026-01-08>`, ""},
		{`<input type=date min=2026-01-01 step=7 value=2026-01-09>`, "stepMismatch"},
		{`<input type=month max=2026-01 value=2026-02>`, "rangeOverflow"},
		{`<input type=week min=2026-W02 value=2026-W01>`, "rangeUnderflow"},
		{`<input type=time min=09:00 max=17:00 value=18:00>`, "rangeOverflow"},
		{`<input type=time min=22:00 max=06:00 value=23:00>`, ""},
		{`<input type=time min=22:00 max=06:00 value=12:00>`, "rangeUnderflow"},
		{`<input type=time min=09:00 step=900 value=09:20>`, "stepMismatch"},
		{`<input type=datetime-local min=2026-01-01T00:00 value=2025-12-31T23:59>`, "rangeUnderflow"},
	} {
		controls, form := document(t, "<form>"+c.control+"</form>")
		var got []string
		for _, i := range controls.Invalids(form) {
			got = append(got, i.Problem)
			if i.Why == "" {
				t.Errorf("%s: %s says nothing", c.control, i.Problem)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %q", c.control, got, c.want)
		}
	}
}

func TestTypedLengthsAreChecked(t *testing.T) {
	controls, form := document(t, `<form><input id=i minlength=3 maxlength=4></form>`)
	var got []string
	for _, v := range []string{"ab", "abc", "a😀b", "a😀😀", ""} {
		controls.SetValue(controls.ByID("i"), v)
		problem := ""
		for _, i := range controls.Invalids(form) {
			problem = i.Problem
		}
		got = append(got, problem)
	}
	if d := cmp.Diff([]string{"tooShort", "", "", "tooLong", ""}, got); d != "" {
		t.Error(d)
	}
}

func TestDisabled(t *testing.T) {
	controls, _ := document(t, `<fieldset disabled><legend><input id=in></legend><legend><input id=second></legend><input id=out><fieldset><legend><input id=deep></legend></fieldset></fieldset><select><optgroup disabled><option id=o></select>`)
	for id, want := range map[string]bool{"in": false, "second": true, "out": true, "deep": true, "o": true} {
		if got := Disabled(controls.ByID(id)); got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
}

// What a document held is given back to the same HTML, but for passwords.
func TestStateIsRestored(t *testing.T) {
	page := `<form><input id=a value=1><input id=p type=password><input type=checkbox id=c><input type=radio name=r id=r1 checked><input type=radio name=r id=r2><select id=s><option>x<option id=y>y</select><input type=file id=f></form>`
	was, _ := document(t, page)
	was.SetValue(was.ByID("a"), "2")
	was.SetValue(was.ByID("p"), "secret")
	was.SetChecked(was.ByID("c"), true)
	was.SetChecked(was.ByID("r2"), true)
	was.Choose(was.ByID("s"), []*html.Node{was.ByID("y")})
	was.SetFiles(was.ByID("f"), []protocol.File{{Name: "n"}})
	now, _ := document(t, page)
	now.Restore(was.State())
	var got []string
	for _, id := range []string{"a", "p", "s", "f"} {
		v, _ := now.Value(now.ByID(id))
		got = append(got, v)
	}
	for _, id := range []string{"c", "r1", "r2"} {
		on, _ := now.Checked(now.ByID(id))
		got = append(got, map[bool]string{true: "on", false: "off"}[on])
	}
	if d := cmp.Diff([]string{"2", "", "y", "n", "on", "off", "on"}, got); d != "" {
		t.Error(d)
	}
}

// Whatever a page is, its forms can be checked, sent and reset.
func FuzzForms(f *testing.F) {
	f.Add(`<form method=post enctype=multipart/form-data><input type=number min=1 step=.1 value=1e300><input type=week value=0001-W01><input type=range min=1e308 max=-1 step=1e-300><select multiple size=99999999999><option></select></form>`, "windows-1252")
	f.Add(`<table><form><tr><td><input type=image form=x><textarea maxlength=-1 dirname>`, "utf-16")
	f.Fuzz(func(t *testing.T, page, charset string) {
		if len(page) > 1<<14 {
			return
		}
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			return
		}
		c := NewControls(t.Context(), root)
		for _, form := range c.forms {
			c.Invalids(form)
			s := c.Submit(form, c.Default(form), Point{1, 2}, charset)
			if strings.ContainsAny(s.ContentType, "\r\n") {
				t.Errorf("content type %q", s.ContentType)
			}
			c.Restore(c.State())
			c.Reset(form)
		}
		for _, n := range c.list {
			c.SetValue(n, page)
			c.Labelled(n)
		}
	})
}
