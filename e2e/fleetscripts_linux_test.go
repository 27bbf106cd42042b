package e2e_test

import (
	"strings"
	"testing"
)

// Where JavaScript of the agent has run goes with its session to another node, and with its profile: there a person is
// warned, and no secret is given.
func TestWhereJavaScriptRanGoesToAnotherNode(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{"BROWSERD_AUTH__TOKENS": `[{"agent":"ann","token":"` + ann + `"},{"agent":"bob","token":"` + bob + `"}]`})
	w := newPageServer(t)
	w.serve("/login", `<!doctype html><title>Log in</title><label>Password <input type=password></label>`, "")
	a, b := as(t, f.nodes[0], ann), as(t, f.nodes[0], bob)
	a.do("session_open", params{"name": "work", "profile": "shop"})
	b.do("session_open", params{"name": "plain"})
	for _, agent := range []*agent{a, b} {
		agent.open(w.URL + "/login")
	}
	a.do("eval", params{"expression": "1"})
	b.do("init_script", params{"script": "1"})
	warned := func(a *agent, session, when string) {
		t.Helper()
		link := ask[struct{ URL string }](a, "view", params{"session": session}).URL
		v := opens(t, f.nodes[2], strings.Replace(link, "http://"+f.Addr, f.nodes[2].URL(), 1))
		if got := v.first("scripts"); got != "true" {
			t.Errorf("%s: the view of %s: scripts %s", when, session, got)
		}
	}
	warned(a, "work", "before")
	warned(b, "plain", "before")
	for _, n := range []int{0, 1} { // to the third
		if _, err := f.nodes[n].Command("drain"); err != nil {
			t.Fatal(err)
		}
	}
	a, b = as(t, f.nodes[2], ann), as(t, f.nodes[2], bob)
	a.do("read", params{"session": "work"})
	b.do("read", params{"session": "plain"})
	warned(a, "work", "after")
	warned(b, "plain", "after")
	secretSetter(t, f.nodes[2])("hunter2 correct horse", "shop", "--origin", w.URL)
	fill := params{"ref": "label=Password", "text": "{{secret:shop}}"}
	a.scriptDenied("script", "type", fill)
	b.scriptDenied("script", "type", fill)
	a.do("session_close", nil)
	a.do("session_open", params{"profile": "shop"})
	a.open(w.URL + "/login")
	if details := a.scriptDenied("script", "type", fill); details["profile"] != "shop" {
		t.Errorf("%v", details)
	}
}
