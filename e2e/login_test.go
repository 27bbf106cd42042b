package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// What opens the accounts of the login pages.
const (
	loginName = "ann@shop.example"
	loginCode = "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP&period=10"
)

// loginPages serves the common kinds of logins.
func loginPages(t *testing.T) *pageServer {
	w := newPageServer(t)
	html := func(path, body string) { w.serve(path, `<!doctype html><meta charset=utf-8>`+body, "") }
	home := `<title>Home</title><h1>Hello Ann</h1><form><label>Your e-mail for our newsletter <input type=email name=mail></label><button>Subscribe</button></form>`
	html("/home", home)
	// check answers a form: /check?again=PAGE&then=PAGE
	w.mux.HandleFunc("/check", func(rw http.ResponseWriter, r *http.Request) {
		q, right := r.URL.Query(), r.ParseForm() == nil
		for name, want := range map[string]string{"user": loginName, "pw": password} {
			right = right && (!r.Form.Has(name) || r.FormValue(name) == want)
		}
		if right && r.Form.Has("otp") {
			right, _ = totp.ValidateCustom(r.FormValue("otp"), "JBSWY3DPEHPK3PXP", time.Now(), totp.ValidateOpts{Period: 10, Skew: 3, Digits: otp.DigitsSix})
		}
		to := q.Get("then")
		if !right {
			to = q.Get("again")
		}
		http.Redirect(rw, r, to, http.StatusSeeOther)
	})
	html("/one", `<form method=post action="/check?then=/home&again=/one-wrong"><h1>Log in</h1><label>E-mail <input name=user type=email></label>
		<label>Password <input name=pw type=password></label><button type=button>Show password</button><a href=/forgot>Forgot?</a><button>Log in</button></form><button>Sign in with Google</button>`)
	html("/one-wrong", `<p>The password is wrong. Try again.</p><form method=post action="/check?then=/home&again=/one-wrong"><input name=user autocomplete=username><input name=pw type=password autocomplete=current-password><button>Log in</button></form>`)
	html("/silent", `<form method=post action="/silent"><input name=user autocomplete=username><input name=pw type=password><button>Log in</button></form>`)
	html("/two", `<form method=post action="/check?then=/two-pw&again=/two"><input type=email name=user autocomplete=username><button>Next</button></form><footer><form><input type=email placeholder="Newsletter"><button>Subscribe</button></form></footer>`)
	html("/two-pw", `<form method=post action="/check?then=/home&again=/two-pw"><input readonly value="`+loginName+`"><input type=password name=pw><button>Sign in</button></form>`)
	html("/mfa", `<form method=post action="/check?then=/code&again=/mfa"><input name=user autocomplete=username><input type=password name=pw><button>Log in</button></form>`)
	html("/code", `<form method=post action="/check?then=/home&again=/code"><label>6-digit code from your app <input name=otp inputmode=numeric maxlength=6></label><button>Verify</button></form><button>Resend</button>`)
	html("/push", `<form method=post action="/check?then=/phone&again=/push"><input name=user autocomplete=username><input type=password name=pw><button>Log in</button></form>`)
	html("/phone", `<h1>Almost there</h1><p>Approve the sign-in on your phone.</p>`)
	html("/captcha", `<form method=post action="/check?then=/home&again=/captcha"><input name=user autocomplete=username><input type=password name=pw>
		<div class="g-recaptcha" style="width:300px;height:70px"><iframe title=reCAPTCHA src="/recaptcha/api2/anchor"></iframe><textarea name=g-recaptcha-response style="display:none"></textarea></div><button>Log in</button></form>`)
	html("/recaptcha/api2/anchor", `<input type=checkbox> I'm not a robot`)
	html("/solved", `<form method=post action="/check?then=/home&again=/solved"><input name=user autocomplete=username><input type=password name=pw>
		<div class="g-recaptcha" style="width:300px;height:70px"><iframe title=reCAPTCHA src="/recaptcha/api2/anchor"></iframe><textarea name=g-recaptcha-response style="display:none">token</textarea></div><button>Log in</button></form>`)
	html("/robot", `<form method=post action="/check?then=/wall&again=/robot"><input name=user autocomplete=username><input type=password name=pw><button>Log in</button></form>`)
	html("/wall", `<h1>One more step</h1><p>Verify you are human by completing the action below.</p>`)
	html("/picture", `<form method=post action="/check?then=/home&again=/picture"><input name=user autocomplete=username><input type=password name=pw><img src="/captcha.png" width=100 height=30 alt=""><label>Zeichen aus dem Bild <input name=letters></label><button>Log in</button></form>`)
	html("/deutsch", `<title>Anmeldung</title><form method=post action="/check?then=/home&again=/deutsch"><label for=a>Benutzername oder Kundennummer</label><input id=a name=user><label for=b>Kennwort</label><input id=b name=pw type=password>
		<button type=button>Abbrechen</button><button type=button onclick="this.form.submit()">Anmelden</button></form><form><h2>Neu hier?</h2><label>E-Mail <input name=e></label><label>Passwort <input type=password></label><label>Passwort wiederholen <input type=password></label><button>Registrieren</button></form>`)
	html("/signup-first", `<form action=/bad><label>E-mail <input name=e></label><label>Password <input type=password name=x></label><label>Repeat password <input type=password></label><button>Create account</button></form>
		<form method=post action="/check?then=/home&again=/deutsch"><label>User name <input name=user></label><label>Password <input name=pw type=password></label><button>Log in</button></form>`)
	html("/home-de", `<h1>Willkommen</h1>`)
	// A single page that makes its fields anew after they were typed into, and answers after a while.
	html("/spa", `<title>App</title><main id=app></main><script>
		const s = {step: 'user', user: '', pw: '', error: ''};
		const draw = () => {
			app.innerHTML = s.step === 'user' ? '<label>Email or phone <input id=user></label><div role=button tabindex=0 id=go>Continue</div>' :
				s.step === 'pw' ? '<p role=alert>' + s.error + '</p><label>Password <input id=pw type=password></label><div role=button tabindex=0 id=go>Continue</div>' :
				s.step === 'wait' ? '<p>Loading…</p>' : '<h1>Hello</h1><button>Log out</button>';
			const f = app.querySelector('input');
			if (f) { f.value = s[f.id]; f.oninput = () => { s[f.id] = f.value; clearTimeout(s.later); s.later = setTimeout(draw, 100); }; }
			if (app.querySelector('#go')) go.onclick = async () => {
				if (s.step === 'user') { s.step = 'wait'; draw(); await fetch('/slowly?ms=300'); s.step = 'pw'; draw(); return; }
				const pw = s.pw; s.step = 'wait'; draw(); const r = await fetch('/slowly?ms=300', {method: 'POST', body: pw});
				s.step = await r.text(); if (s.step === 'pw') { s.pw = ''; s.error = 'That password is not correct.'; } draw();
			};
		};
		draw();</script>`)
	w.mux.HandleFunc("/slowly", func(rw http.ResponseWriter, r *http.Request) {
		time.Sleep(300 * time.Millisecond) // a server that takes its time
		if body, _ := io.ReadAll(r.Body); string(body) == password {
			io.WriteString(rw, "in")
			return
		}
		io.WriteString(rw, "pw")
	})
	w.mux.HandleFunc("/framed", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Security-Policy", "")
		fmt.Fprintf(rw, `<!doctype html><title>Shop</title><h1>Shop</h1><iframe src="%s/one" width=600 height=400></iframe>`, r.URL.Query().Get("at"))
	})
	html("/nothing", `<title>News</title><h1>News</h1><p>It rains.</p><form role=search><input type=search name=q><button>Search</button></form>`)
	html("/in-already", `<title>Shop</title><h1>Shop</h1><a href="/logout">Log out</a>`)
	return w
}

type loginAnswer struct {
	result
	Outcome string   `json:"outcome"`
	Message string   `json:"message"`
	Filled  []string `json:"filled"`
	Saved   string   `json:"saved"`
	Note    string   `json:"note"`
}

// secretSetter returns what runs browserd secret set, as the operator does.
func secretSetter(t testing.TB, d *testdaemon.Daemon) func(value string, args ...string) {
	return func(value string, args ...string) {
		t.Helper()
		cmd := exec.Command(d.Binary(), append([]string{"secret", "set"}, args...)...)
		cmd.Env, cmd.Dir, cmd.Stdin = d.Environ(), d.Home, strings.NewReader(value)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("browserd secret set %v: %v: %s", args, err, out)
		}
	}
}

// login sends the command and returns its answer, which shows no password.
func (a *agent) login(p params) (loginAnswer, error) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 62*time.Second)
	defer cancel()
	p["timeout_ms"] = 60_000
	var raw json.RawMessage
	err := a.c.Call(ctx, "login", p, &raw)
	if found := leaks(raw); found != nil {
		a.t.Errorf("login %v shows the password (%v): %s", p, found, raw)
	}
	var r loginAnswer
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	return r, err
}

// login fills in what a page asks for, and says what came of it.
func TestLogin(t *testing.T) {
	t.Parallel()
	w := loginPages(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests"}})
	set := secretSetter(t, d)
	set(password, "shop", "--origin", w.URL)
	set(loginName, "shop-name", "--username", "--origin", w.URL)
	a := newAgent(t, d)
	for i, c := range []struct{ page, outcome, message, filled string }{
		{"/one", "logged_in", "", "username password"},
		{"/two", "logged_in", "", "username password"},
		{"/mfa", "second_factor", "", "username password"},
		{"/push", "second_factor", "Approve the sign-in on your phone.", "username password"},
		{"/captcha", "captcha", "", "username password"},
		{"/solved", "logged_in", "", "username password"},
		{"/robot", "captcha", "Verify you are human by completing the action below.", "username password"},
		{"/picture", "captcha", "", "username password"},
		{"/deutsch", "logged_in", "", "username password"},
		{"/signup-first", "logged_in", "", "username password"},
		{"/spa", "logged_in", "", "username password"},
		{"/silent", "unchanged", "", "username password"},
		{"/nothing", "no_form", "", ""},
		{"/in-already", "logged_in", "", ""},
		{"/framed?at=" + w.URL, "logged_in", "", "username password"},
	} {
		a.do("session_open", params{"name": fmt.Sprint("case", i)})
		got, err := a.login(params{"url": w.URL + c.page})
		if err != nil || got.Outcome != c.outcome || got.Message != c.message || strings.Join(got.Filled, " ") != c.filled || (got.Note == "") != (c.outcome == "logged_in") {
			t.Errorf("%s: %v %+v, want %s %q %s; the page is %s", c.page, err, got, c.outcome, c.message, c.filled, a.do("snapshot", nil).Snapshot.Text)
		}
		a.do("session_close", nil)
	}

	// A form in a frame of another site gets nothing.
	a.do("session_open", params{"name": "frame"})
	_, err := a.login(params{"url": w.URL + "/framed?at=" + w.alt()})
	if protocol.CodeOf(err) != protocol.InvalidParams || !strings.Contains(err.Error(), w.alt()) {
		t.Errorf("in a frame of another site: %v", err)
	}
	_, err = a.login(params{"url": w.URL + "/framed?at=" + w.alt(), "username": loginName, "password": "shop"})
	if protocol.CodeOf(err) != protocol.SecretDenied {
		t.Errorf("in a frame of another site, with the secret named: %v", err)
	}

	// With a secret that makes codes, the second factor too; once it is kept, by name alone.
	set(loginCode, "shop-code", "--totp", "--origin", w.URL)
	if got, err := a.login(params{"name": "shop", "url": w.URL + "/mfa"}); err != nil || got.Outcome != "logged_in" || got.Saved != "shop" || len(got.Filled) != 3 {
		t.Errorf("with a code: %v %+v", err, got)
	}
	var list struct {
		Logins []struct{ Name string }
	}
	if err := a.c.Call(t.Context(), "login_list", params{}, &list); err != nil || len(list.Logins) != 1 || list.Logins[0].Name != "shop" {
		t.Errorf("login_list: %v %+v", err, list)
	}
	a.do("session_open", params{"name": "again"})
	if got, err := a.login(params{"name": "shop"}); err != nil || got.Outcome != "logged_in" || len(got.Filled) != 3 {
		t.Errorf("by name: %v %+v", err, got)
	}

	// A script in the place of fields.
	a.do("run", params{"save": "in", "code": "await page.goto('" + w.URL + "/one'); await page.locator('[name=user]').fill('{{secret:shop-name}}'); await page.locator('[name=pw]').fill('{{secret:shop}}'); await page.getByRole('button', {name: 'Log in'}).click();"})
	if got, err := a.login(params{"name": "scripted", "script": "in"}); err != nil || got.Outcome != "logged_in" || got.Saved != "scripted" {
		t.Errorf("with a script: %v %+v", err, got)
	}
	if got, err := a.login(params{"name": "scripted"}); err != nil || got.Outcome != "logged_in" {
		t.Errorf("with a script, by name: %v %+v", err, got)
	}
	a.do("login_delete", params{"name": "scripted"})

	// What is wrong is said: the password, and which of two secrets.
	set("another one", "wrong", "--origin", w.URL)
	a.do("session_open", params{"name": "wrong"})
	for page, message := range map[string]string{"/one": "The password is wrong. Try again.", "/spa": "That password is not correct."} {
		got, err := a.login(params{"name": "never", "url": w.URL + page, "password": "wrong"})
		if err != nil || got.Outcome != "rejected" || got.Message != message || got.Saved != "" {
			t.Errorf("%s with a wrong password: %v %+v", page, err, got)
		}
	}
	if _, err := a.login(params{"url": w.URL + "/one"}); protocol.CodeOf(err) != protocol.InvalidParams || !strings.Contains(err.Error(), "shop, wrong") {
		t.Errorf("with two secrets: %v", err)
	}
	if _, err := a.login(params{"name": "never", "url": w.URL + "/one", "password": "nobody"}); protocol.CodeOf(err) != protocol.SecretDenied {
		t.Errorf("with an unknown secret: %v", err)
	}
	if _, err := a.login(params{"script": "nothing"}); protocol.CodeOf(err) != protocol.InvalidParams {
		t.Errorf("with an unknown script: %v", err)
	}
	a.refused("batch", params{"commands": []params{{"method": "login"}}}, protocol.InvalidParams)
}

// An operator is asked about a login, and remembered for its address or its name; an agent that
// only reads may not log in; the trail has it.
func TestLoginIsGoverned(t *testing.T) {
	t.Parallel()
	w := loginPages(t)
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_STATE__KEY": "a passphrase of the tests"})
	set := secretSetter(t, d)
	set(password, "shop", "--origin", w.URL)
	set(loginName, "shop-name", "--username", "--origin", w.URL)
	a, o := as(t, d, ann), as(t, d, olga)
	for _, c := range []struct {
		params       params
		host, answer string
		outcome      string
	}{
		{params{"name": "shop", "url": w.URL + "/one"}, strings.TrimPrefix(w.URL, "http://"), "no", ""},
		{params{"name": "shop", "url": w.URL + "/one"}, strings.TrimPrefix(w.URL, "http://"), "once", "logged_in"},
		{params{"name": "shop"}, "login shop", "session", "logged_in"},
		{params{"name": "shop"}, "", "", "logged_in"},
	} {
		sent := a.send("login", c.params)
		if c.host != "" {
			q := o.asked()
			if q["command"] != "login" || q["host"] != c.host {
				t.Errorf("login %v: the operator is asked %v", c.params, q)
			}
			answer := params{"id": q["id"], "allow": c.answer != "no"}
			if c.answer == "session" {
				answer["remember"] = c.answer
			}
			o.do("confirm", answer)
		}
		var r loginAnswer
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		err := sent.Wait(ctx, &r)
		cancel()
		if c.outcome == "" && protocol.CodeOf(err) != protocol.ConfirmationDenied || c.outcome != "" && (err != nil || r.Outcome != c.outcome) {
			t.Errorf("login %v: %v %+v", c.params, err, r)
		}
	}
	sent := a.send("login", params{"name": "other"}) // another name is another question
	if q := o.asked(); q["host"] != "login other" {
		t.Errorf("the operator is asked %v", q)
	} else {
		o.do("confirm", params{"id": q["id"], "allow": false})
	}
	if _, err := a.wait(sent); protocol.CodeOf(err) != protocol.ConfirmationDenied {
		t.Errorf("another login: %v", err)
	}
	as(t, d, bob).refused("login", params{"name": "shop"}, protocol.PolicyDenied)
}
