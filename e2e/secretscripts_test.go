package e2e_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// backwards is JavaScript that reads what the fields of a page hold in a form that nothing hides.
const backwards = `[...document.querySelectorAll('input')].map(e => [...e.value].reverse().join('')).join()`

// scriptDenied sends a command that is to be refused for a secret, and returns the error's details.
func (a *agent) scriptDenied(reason, method string, p params) map[string]any {
	a.t.Helper()
	r, err := a.try(method, p)
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.SecretDenied || e.Details["reason"] != reason {
		a.t.Errorf("%s %v: %v, %v, want secret_denied with the reason %s", method, p, r.Value, err, reason)
		return nil
	}
	if reason == "held" && !strings.HasPrefix(e.Message, method+": ") {
		a.t.Errorf("%s is refused with %q", method, e.Message)
	}
	return e.Details
}

func (a *agent) given(session string) {
	a.t.Helper()
	if _, err := a.try("type", params{"session": session, "ref": "label=Password", "text": "{{secret:shop}}"}); err != nil {
		a.t.Errorf("%s: %v", session, err)
	}
}

// A document that holds a secret counts while it lives, wherever the agent looks meanwhile: JavaScript does not run at
// its origin. When it has been left it does not count.
func TestASecretStaysHeld(t *testing.T) {
	aboutOneProcess(t, "secrets of its own")
	t.Parallel()
	w, _ := secretPages(t)
	other, _ := secretPages(t)
	w.serve("/asks", `<!doctype html><title>Asks</title><label>Password <input type=password></label><button onclick="setTimeout(() => confirm('Stay?'), 10)">Ask</button>`, "")
	var many strings.Builder
	for i := range 18_000 {
		fmt.Fprintf(&many, "<button>%d</button>", i)
	}
	other.serve("/many", "<!doctype html><title>Many</title>"+many.String(), "")
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests", "BROWSERD_SESSION__DIALOG_TIMEOUT": "1m"}})
	set := secretSetter(t, d)
	set(password, "shop", "--origin", w.URL)
	a := newAgent(t, d)
	runs := func() {
		t.Helper()
		for _, method := range []string{"eval", "wait"} {
			if _, err := a.try(method, params{"expression": "1"}); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
	}
	held := func() {
		t.Helper()
		a.scriptDenied("held", "eval", params{"expression": backwards})
		a.scriptDenied("held", "wait", params{"expression": "true"})
	}
	for _, c := range []struct {
		name, path, field string
		looks             func() // somewhere else; afterwards t1 is selected
	}{
		{"another tab", "/login", "label=Password", func() {
			a.do("tab_new", nil)
			runs()
			a.scriptDenied("held", "init_script", params{"script": "1"})
			a.scriptDenied("held", "route", params{"pattern": "*", "action": "answer", "body": "1"})
			a.do("tab_select", params{"tab": "t1"})
		}},
		{"another site", "/login", "label=Search", func() {
			a.do("tab_new", params{"url": other.URL + "/login"})
			runs()
			a.do("tab_select", params{"tab": "t1"})
		}},
		{"another tab of the site", "/login", "label=Password", func() {
			a.do("tab_new", params{"url": w.URL + "/odd"})
			held()
			a.do("tab_select", params{"tab": "t1"})
		}},
		{"from a frame", "/login?frame=" + url.QueryEscape("/field"), "label=Field", func() {
			a.do("tab_new", nil)
			runs()
			a.do("tab_select", params{"tab": "t1"})
		}},
		{"with a dialog", "/asks", "label=Password", func() {
			a.do("click", params{"ref": "role=button"})
			until(t, 20*time.Second, "the dialog", func() bool {
				_, err := a.try("snapshot", nil)
				return protocol.CodeOf(err) == protocol.DialogOpen
			})
			a.scriptDenied("held", "init_script", params{"script": "1", "timeout_ms": 3000})
			a.do("tab_new", nil)
			runs()
			a.do("tab_select", params{"tab": "t1"})
			a.do("dialog", params{"accept": true})
		}},
		{"with its ref evicted", "/login", "label=Password", func() {
			ref := a.snapshot().ref(t, "textbox", "Password")
			for range 3 {
				a.do("tab_new", params{"url": other.URL + "/many"})
				a.do("snapshot", params{"max_nodes": 100_000, "max_chars": 1_000_000})
			}
			a.do("tab_new", params{"url": other.URL + "/odd"})
			a.do("snapshot", nil)
			runs()
			a.do("tab_select", params{"tab": "t1"})
			if e := a.refused("read", params{"ref": ref, "kind": "value"}, protocol.StaleRef); e.Details["tab"] != nil {
				t.Errorf("the ref is not evicted: %v", e)
			}
		}},
		{"with the secret removed", "/login", "label=Password", func() {
			if out, err := d.Command("secret", "rm", "shop"); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			held()
			set(password, "shop", "--origin", w.URL)
		}},
	} {
		t.Log(c.name)
		a.do("session_open", nil)
		a.open(w.URL + c.path)
		a.do("type", params{"ref": c.field, "text": "{{secret:shop}}"})
		held()
		c.looks()
		held()
		a.open(w.URL + "/odd")
		runs()
		a.do("session_close", nil)
	}

	// Its tab is closed, or its process dies.
	a.do("session_open", nil)
	a.open(w.URL + "/odd")
	a.do("tab_new", params{"url": w.URL + "/login"})
	a.given("")
	a.do("tab_select", params{"tab": "t1"})
	held()
	a.do("tab_close", params{"tab": "t2"})
	runs()
	a.do("session_close", nil)
	a.do("session_open", nil)
	a.open(w.URL + "/login")
	a.given("")
	held()
	for _, p := range d.Chromium("renderer") {
		p.Kill()
	}
	until(t, 20*time.Second, "JavaScript to run after the crash", func() bool {
		_, err := a.try("eval", params{"expression": "1"})
		return err == nil
	})
}

// JavaScript that ran before the agent had any secret counts as what runs afterwards does: a secret is not given where
// it has run, and elsewhere it is.
func TestJavaScriptBeforeTheFirstSecret(t *testing.T) {
	aboutOneProcess(t, "secrets of its own")
	t.Parallel()
	w, _ := secretPages(t)
	other, _ := secretPages(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests"}})
	a := newAgent(t, d)
	const tells = `document.addEventListener('input', e => { document.title = [...e.target.value].reverse().join('') }, true)`
	ways := []struct {
		name, method string
		params       params
		denied       bool
	}{
		{"eval", "eval", params{"expression": tells}, true},
		{"of-an-element", "eval", params{"ref": "label=User", "expression": "1"}, true},
		{"wait", "wait", params{"expression": "true"}, true},
		{"wait-with-a-frame", "wait", params{"ref": "label=Field", "expression": "true"}, true}, // which runs in the page
		{"init", "init_script", params{"script": tells}, true},
		{"route", "route", params{"pattern": "*/app.js", "action": "answer", "body": tells}, true},
		{"run", "run", params{"code": "return page.evaluate(() => 1)"}, true},
		{"batch", "batch", params{"commands": []params{{"method": "eval", "params": params{"expression": "1"}}}}, true},
		{"thrown", "eval", params{"expression": "throw 1"}, true},
		{"none", "read", nil, false},
		{"blocks", "route", params{"pattern": "*/app.js", "action": "block"}, false},
		{"in-a-frame-of-another-site", "eval", params{"ref": "label=Field", "expression": "1"}, false},
	}
	for _, c := range ways {
		a.do("session_open", params{"name": c.name})
		a.open(w.URL + "/login?frame=" + url.QueryEscape(other.URL+"/field"))
		if _, err := a.try(c.method, c.params); err != nil && c.name != "thrown" {
			t.Fatalf("%s: %v", c.name, err)
		}
	}
	a.do("session_open", params{"name": "elsewhere"})
	a.do("eval", params{"expression": "1"}) // in the empty document
	a.open(other.URL + "/login")
	a.do("eval", params{"expression": tells})
	a.do("wait", params{"expression": "true"})
	a.open(w.URL + "/login")
	a.do("session_open", params{"name": "waits"}) // from one origin into the next
	a.open(other.URL + "/login")
	a.do("wait", params{"expression": fmt.Sprintf("origin == %q || void (location = %q)", w.URL, w.URL+"/login")})
	a.do("wait", params{"text": "Password"})
	secretSetter(t, d)(password, "shop", "--origin", w.URL)
	a.given("elsewhere")
	a.scriptDenied("script", "type", params{"session": "waits", "ref": "label=Password", "text": "{{secret:shop}}"})
	for _, c := range ways {
		if c.denied {
			a.scriptDenied("script", "type", params{"session": c.name, "ref": "label=Password", "text": "{{secret:shop}}"})
		} else {
			a.given(c.name)
		}
	}
}

// A profile says where JavaScript of the agent has run in it: what that left there, such as an answer in a cache, runs
// in later sessions. Nobody knows it of a profile that was imported.
func TestAProfileKeepsWhereJavaScriptRan(t *testing.T) {
	aboutOneProcess(t, "it starts again in the home of the first")
	t.Parallel()
	w, other := newPageServer(t), newPageServer(t)
	for _, on := range []*pageServer{w, other} {
		on.serve("/login", `<!doctype html><title>Log in</title><label>Password <input type=password></label>`, "")
		on.serve("/sw.js", `onfetch = e => e.respondWith(caches.match(e.request).then(r => r || fetch(e.request))); oninstall = () => skipWaiting(); onactivate = e => e.waitUntil(clients.claim())`, "text/javascript")
		on.serve("/app", `<!doctype html><title>App</title><p id=p>…<script>navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready).then(() => { p.textContent = 'works offline' })</script>`, "")
	}
	const inCache = `caches.open('own').then(c => c.put('/login', new Response('<!doctype html><title>Of the cache</title><label>Password <input type=password oninput="document.title = [...value].reverse().join(String())"></label>', {headers: {'Content-Type': 'text/html'}}))).then(() => 1)`
	d := profileDaemon(t, "", nil)
	secretSetter(t, d)("hunter2 correct horse", "shop", "--origin", w.URL, "--origin", other.URL)
	a := newAgent(t, d)
	withProfile := func(profile string) (session string) {
		t.Helper()
		return a.do("session_open", params{"profile": profile}).Session
	}
	warns := func(session, want string) {
		t.Helper()
		if got := opens(t, d, ask[struct{ URL string }](a, "view", params{"session": session}).URL).first("scripts"); got != want {
			t.Errorf("the view of %s: scripts %s, want %s", session, got, want)
		}
	}
	denied := func(profile string) {
		t.Helper()
		if details := a.scriptDenied("script", "type", params{"ref": "label=Password", "text": "{{secret:shop}}"}); details["profile"] != profile {
			t.Errorf("%v", details)
		}
	}

	// Two sessions, of which the first runs JavaScript at one of two sites.
	s := withProfile("shop")
	for _, on := range []*pageServer{w, other} {
		a.open(on.URL + "/app")
		a.do("wait", params{"text": "works offline"})
	}
	a.open(w.URL + "/app")
	warns(s, "false")
	a.do("eval", params{"expression": inCache})
	warns(s, "true")
	a.do("session_close", params{"session": s})
	s = withProfile("shop")
	warns(s, "true")
	a.open(w.URL + "/login")
	if title := a.do("snapshot", nil).Page.Title; title != "Of the cache" {
		t.Errorf("the page is %q: the first session left nothing that runs", title)
	}
	denied("shop")
	a.open(other.URL + "/login")
	a.given("")
	a.do("session_close", params{"session": s})

	// One without JavaScript of the agent's.
	s = withProfile("clean")
	a.open(w.URL + "/app")
	a.do("wait", params{"text": "works offline"})
	a.givenAt(w)
	a.do("session_close", params{"session": s})
	s = withProfile("clean")
	warns(s, "false")
	a.givenAt(w)
	a.do("session_close", params{"session": s})

	// The daemon is killed right after the JavaScript.
	withProfile("killed")
	a.open(w.URL + "/login")
	a.do("eval", params{"expression": "1"})
	d.Kill()
	d = profileDaemon(t, d.Home, nil)
	a = newAgent(t, d)
	s = withProfile("killed")
	a.open(w.URL + "/login")
	denied("killed")
	a.do("session_close", params{"session": s})

	// Another profile, or the same name anew, is the way out.
	a.do("profile_delete", params{"name": "killed"})
	s = withProfile("killed")
	warns(s, "false")
	a.givenAt(w)
	a.do("session_close", params{"session": s})

	const passphrase = "correct horse battery staple"
	content := ask[struct{ Content string }](a, "profile_export", params{"name": "clean", "passphrase": passphrase}).Content
	for _, name := range []string{"imported", "killed"} {
		a.do("profile_import", params{"name": name, "passphrase": passphrase, "content": content})
		s = withProfile(name)
		warns(s, "true")
		for _, on := range []*pageServer{w, other} {
			a.open(on.URL + "/login")
			denied(name)
		}
		a.do("session_close", params{"session": s})
	}

	// Where all the pages' answers may be the agent's own, that is kept too.
	s = withProfile("routed")
	a.do("route", params{"pattern": "*/login", "action": "answer", "body": "1"})
	a.do("session_close", params{"session": s})
	s = withProfile("routed")
	a.open(other.URL + "/login")
	denied("routed")
	a.do("session_close", params{"session": s})
}

// givenAt opens the login of a site and fills in the secret.
func (a *agent) givenAt(w *pageServer) {
	a.t.Helper()
	a.open(w.URL + "/login")
	a.given("")
}

// A command that is refused before it runs has run no JavaScript: the secret is given afterwards, and the profile is
// as good as before.
func TestARefusedCommandMarksNoProfile(t *testing.T) {
	aboutOneProcess(t, "secrets of its own")
	t.Parallel()
	w, _ := secretPages(t)
	d := profileDaemon(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "eval", "BROWSERD_POLICY__CONFIRM_TIMEOUT": "1s"})
	secretSetter(t, d)("hunter2 correct horse", "shop", "--origin", w.URL)
	a := newAgent(t, d)
	for range 2 { // in the session itself, and in a later one with the profile
		s := a.do("session_open", params{"profile": "shop"}).Session
		a.givenAt(w)
		a.open(w.URL + "/odd")
		for method, p := range map[string]params{
			"eval":        {"expression": "1"},
			"wait":        {"expression": "true"},
			"init_script": {"script": "1"},
			"route":       {"pattern": "*", "action": "answer", "body": "1"},
		} {
			if r, err := a.try(method, p); err == nil {
				t.Fatalf("%s was not refused: %v", method, r)
			}
		}
		if got := opens(t, d, ask[struct{ URL string }](a, "view", params{"session": s}).URL).first("scripts"); got != "false" {
			t.Errorf("the view: scripts %s", got)
		}
		a.givenAt(w)
		a.do("session_close", params{"session": s})
	}
}

// A state says where JavaScript of the agent has run, as a profile does: what that left in the storage of a site may be
// run by the site. Of a state that was imported each origin with storage counts.
func TestAStateKeepsWhereJavaScriptRan(t *testing.T) {
	aboutOneProcess(t, "secrets of its own")
	t.Parallel()
	w, other := newPageServer(t), newPageServer(t)
	for _, on := range []*pageServer{w, other} {
		on.serve("/login", `<!doctype html><title>Log in</title><label>Password <input type=password></label><script>localStorage.visited = 1; eval(localStorage.code)</script>`, "")
	}
	const code = `document.title = 'Of the storage'`
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests"}})
	secretSetter(t, d)("hunter2 correct horse", "shop", "--origin", w.URL, "--origin", other.URL)
	a := newAgent(t, d)
	loads := func(what string, how params, ran map[*pageServer]bool) {
		t.Helper()
		t.Log(what)
		var s string
		if how["name"] != nil {
			s = a.do("session_open", nil).Session
			a.do("state_load", how)
		} else {
			s = a.do("session_open", how).Session
		}
		want := "false"
		for on, denied := range ran {
			a.open(on.URL + "/login")
			if denied {
				want = "true"
				a.scriptDenied("script", "type", params{"ref": "label=Password", "text": "{{secret:shop}}"})
			} else {
				a.given("")
			}
		}
		if got := opens(t, d, ask[struct{ URL string }](a, "view", params{"session": s}).URL).first("scripts"); got != want {
			t.Errorf("the view: scripts %s, want %s", got, want)
		}
		a.do("session_close", nil)
	}
	here, none := map[*pageServer]bool{w: true, other: false}, map[*pageServer]bool{w: false, other: false}

	a.do("session_open", params{"state": "kept", "keep": true})
	a.open(other.URL + "/login")
	a.open(w.URL + "/login")
	a.do("state_save", params{"name": "clean"})
	a.do("eval", params{"expression": "localStorage.code = `" + code + "`"})
	a.do("state_save", params{"name": "ran"})
	a.do("session_close", nil)
	a.do("session_open", params{"state": "ran"})
	a.open(w.URL + "/login")
	if title := a.do("snapshot", nil).Page.Title; title != "Of the storage" {
		t.Errorf("the page is %q: the first session left nothing that runs", title)
	}
	a.do("state_save", params{"name": "again"})
	a.do("session_close", nil)
	for _, name := range []string{"ran", "kept", "again"} {
		loads(name, params{"name": name}, here)
		loads(name+" at the start", params{"state": name}, here)
	}
	loads("clean", params{"name": "clean"}, none)
	loads("clean, kept", params{"state": "clean", "keep": true}, none)
	loads("clean, kept before", params{"state": "clean"}, none)

	a.do("state_import", params{"name": "imported", "content": `{"cookies": [], "origins": [{"origin": "` + w.URL + `", "localStorage": [{"name": "code", "value": "1"}]}]}`})
	loads("imported", params{"name": "imported"}, here)

	// None such is loaded while a document holds a secret.
	a.do("session_open", nil)
	a.givenAt(other)
	a.scriptDenied("held", "state_load", params{"name": "imported"})
	a.open(w.URL + "/login")
	a.do("state_load", params{"name": "imported"})
}
