package e2e_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

// shownPages serve a search that is sent by GET, a login whose form is sent by its script alone, and pages that keep
// or repeat what they were sent, in every place that JavaScript can read and in none that a reader sees.
func shownPages(t *testing.T) *pageServer {
	w := newPageServer(t)
	w.serve("/search", `<!doctype html><title>Search</title><form action=/found><label>Search <input name=q></label></form>`, "")
	w.serve("/login", `<!doctype html><title>Log in</title><form><label>Password <input type=password name=pw></label><button>Send</button></form><script src=/app.js></script>`, "")
	w.serve("/app.js", `document.querySelector('form').addEventListener('submit', e => e.preventDefault())`, "text/javascript")
	w.serve("/odd", `<!doctype html><title>Odd</title><p>Nothing`, "")
	places := map[string]string{
		"address": ``,
		"text":    `<p>You searched for %s`,
		"field":   `<input value="%s">`,
		"hidden":  `<input type=hidden value="%s">`,
		"comment": `<!-- %s -->`,
		"shadow":  `<div><template shadowrootmode=open><p title="%s">x</template></div>`,
		"frame":   `<iframe srcdoc="<p hidden>%s"></iframe>`,
		"storage": `<i data-v="%s"></i><script>localStorage.draft = document.querySelector('i').dataset.v; document.querySelector('i').remove()</script>`,
		"tab":     `<i data-v="%s"></i><script>sessionStorage.draft = document.querySelector('i').dataset.v; document.querySelector('i').remove()</script>`,
		"state":   `<i data-v="%s"></i><script>history.replaceState({v: document.querySelector('i').dataset.v}, ''); document.querySelector('i').remove()</script>`,
		"name":    `<i data-v="%s"></i><script>window.name = document.querySelector('i').dataset.v; document.querySelector('i').remove()</script>`,
	}
	for place, content := range places {
		w.mux.HandleFunc("/said/"+place, func(rw http.ResponseWriter, r *http.Request) {
			if place == "address" {
				fmt.Fprint(rw, `<!doctype html><title>Said</title>`)
				return
			}
			fmt.Fprintf(rw, "<!doctype html><title>Said</title>"+content+`<script>history.replaceState(history.state, '', '/said')</script>`, html.EscapeString(r.FormValue("q")))
		})
		w.serve("/ask/"+place, `<!doctype html><title>Ask</title><form method=`+map[bool]string{true: "get", false: "post"}[place == "address"]+` action="/said/`+place+`"><label>Search <input name=q></label></form>`, "")
	}
	return w
}

// saidPlaces are the places of shownPages, and whether the next page of the site, in the same tab, has the value too.
var saidPlaces = map[string]bool{
	"address": true, "text": false, "field": false, "hidden": false, "comment": false, "shadow": false, "frame": false,
	"storage": true, "tab": true, "state": false, "name": true,
}

// The document after the field's may have the secret, in its address or wherever the site puts it: JavaScript of the
// agent's does not run there, nor at that origin while a tab's history or the storage has it.
func TestNoJavaScriptWhereASecretIsShown(t *testing.T) {
	aboutOneProcess(t, "secrets of its own")
	t.Parallel()
	w := shownPages(t)
	other := shownPages(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests"}})
	secretSetter(t, d)(password, "shop", "--origin", w.URL)
	a := newAgent(t, d)
	runs := func() {
		t.Helper()
		if r, err := a.try("eval", params{"expression": "location.href"}); err != nil {
			t.Errorf("eval: %v, %v", r, err)
		}
	}
	for place, stays := range saidPlaces {
		t.Log(place)
		a.do("session_open", nil)
		a.open(w.URL + "/ask/" + place)
		a.do("type", params{"ref": "label=Search", "text": "{{secret:shop}}", "submit": true})
		a.do("wait", params{"url": "/said"})
		for _, p := range []params{{"expression": "[...location.search].reverse().join('')"}, {"ref": "css=title", "expression": "element.textContent"}} {
			a.scriptDenied("shown", "eval", p)
		}
		if r, err := a.try("run", params{"code": "return await page.evaluate(() => 1)"}); err == nil || !strings.Contains(err.Error(), "JavaScript could read it") {
			t.Errorf("run: %v, %v", r, err)
		}
		a.scriptDenied("given", "init_script", params{"script": "1"})
		a.scriptDenied("given", "route", params{"pattern": "*", "action": "answer", "body": "1"})
		a.scriptDenied("shown", "wait", params{"expression": "true"})
		a.open(w.URL + "/odd")
		if stays {
			a.scriptDenied("shown", "eval", params{"expression": "[...JSON.stringify([navigation.entries().map(e => e.url), localStorage, sessionStorage, name])].reverse().join('')"})
		} else {
			runs()
		}
		a.do("tab_new", params{"url": other.URL + "/odd"})
		runs() // the other origin has nothing of it
		a.do("session_close", nil)
	}

	// Another session of the agent, in which the person who owns the account is logged in too.
	a.do("session_open", nil)
	a.open(w.URL + "/said/text?q=" + url.QueryEscape(password))
	a.scriptDenied("shown", "eval", params{"expression": "1"})
	a.open(w.URL + "/said/text?q=other")
	a.do("tab_new", params{"url": w.URL + "/odd"})
	a.do("tab_close", params{"tab": "t1"})
	runs()
	a.do("session_close", nil)
}

// The form that a script would send is sent by its address where the agent has blocked the script: the address shows
// the secret then, in a tab's history too.
func TestNoJavaScriptWhereAFormsScriptWasBlocked(t *testing.T) {
	aboutOneProcess(t, "secrets of its own")
	t.Parallel()
	w := shownPages(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests"}})
	secretSetter(t, d)(password, "shop", "--origin", w.URL)
	a := newAgent(t, d)
	a.do("route", params{"pattern": "*", "kind": "script"})
	a.open(w.URL + "/login")
	a.do("type", params{"ref": "label=Password", "text": "{{secret:shop}}", "submit": true})
	a.do("wait", params{"url": "pw="})
	a.do("route", params{"pattern": "*", "action": "remove"})
	a.scriptDenied("shown", "eval", params{"expression": "[...location.search].reverse().join('')"})
	a.open(w.URL + "/odd")
	a.scriptDenied("shown", "eval", params{"expression": "navigation.entries().map(e => [...e.url].reverse().join(''))"})
}
