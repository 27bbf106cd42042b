package protocol

import "testing"

// A locator is read from what it is written as, and from what a shell leaves of that.
func TestParseLocator(t *testing.T) {
	for text, want := range map[string]Locator{
		`role=button[name="Save"]`:             {Role: "button", Name: "Save"},
		`role=button[name='Save']`:             {Role: "button", Name: "Save"},
		`role=button[name=Save all]`:           {Role: "button", Name: "Save all"},
		` role = button [ name= "a \"b\"]" ] `: {Role: "button", Name: `a "b"]`},
		`role=main`:                            {Role: "main"},
		`text=a=b`:                             {Text: "a=b"},
		`css=[name="x"]`:                       {CSS: `[name="x"]`},
	} {
		l, ok, err := ParseLocator(text)
		if err != nil || !ok || l != want {
			t.Errorf("%s: %+v, %v, %v", text, l, ok, err)
		}
		if again, _, err := ParseLocator(l.String()); err != nil || again != l {
			t.Errorf("%s: written as %s, read as %+v, %v", text, l, again, err)
		}
	}
	for _, text := range []string{`role=button[name=]`, `role=button[name="Save]`, `role=button[name=Save"]`, `role=button[name='Save]`, `role=button[name=Save`, `role=button[Save]`, `role=`, "name=Save", "txt=Save", "data-testid=save", "XPATH = //a"} {
		if l, ok, err := ParseLocator(text); err == nil || !ok {
			t.Errorf("%s: %+v, %v", text, l, ok)
		}
	}
	for _, text := range []string{"@e1", "Save", "ref=@e1", "#save", "a[href=x]", "2 = 2", "=", ""} {
		if l, ok, err := ParseLocator(text); err != nil || ok {
			t.Errorf("%s: %+v, %v, %v", text, l, ok, err)
		}
	}
}
