package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// password is a secret of the tests: with what JSON, URLs and HTML escape.
const password = `hunter2 &"correct\horse"`

// secretPages serves a login, and pages that show what they were sent in every way.
func secretPages(t *testing.T) (w *pageServer, sent func() []string) {
	w = newPageServer(t)
	var mu sync.Mutex
	var got []string
	w.mux.HandleFunc("/login", func(rw http.ResponseWriter, r *http.Request) {
		io.WriteString(rw, `<!doctype html><title>Log in</title><form method=post action=/echo>
			<label>User <input name=user></label><label>Password <input type=password name=pw></label><label>Search <input name=q></label>
			<button>Send</button></form><button id=switch onclick="document.querySelector('[name=pw]').type = 'text'">Show</button><iframe title=inner src="`+r.URL.Query().Get("frame")+`"></iframe>
			<script>document.querySelector('[name=q]').addEventListener('input', e => { p.textContent = e.target.value; e.target.title = e.target.value; console.log('typed ' + e.target.value); });</script><p id=p>`)
	})
	w.mux.HandleFunc("/odd", func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, `<!doctype html><input type=date id=date><input type=number id=number><input type=color id=color><select id=select><option>One<option>Two</select>
			<input type=checkbox id=check><button id=button>Go</button>`)
	})
	w.mux.HandleFunc("/field", func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, `<!doctype html><label>Field <input type=password></label>`)
	})
	w.mux.HandleFunc("/echo", func(rw http.ResponseWriter, r *http.Request) {
		pw := r.FormValue("pw") + r.FormValue("q")
		mu.Lock()
		got = append(got, pw)
		mu.Unlock()
		quoted, _ := json.Marshal(pw)
		rw.Header().Set("X-Echo", url.QueryEscape(pw))
		http.SetCookie(rw, &http.Cookie{Name: "echo", Value: base64.URLEncoding.EncodeToString([]byte(pw))})
		fmt.Fprintf(rw, `<!doctype html><title>Echo</title><p id=p></p><a id=a>link</a><button id=b>Say</button><input id=i><textarea id=t></textarea>
			<a id=d download>Save</a><script>const pw = %s;
			document.title = pw; p.textContent = 'It is ' + pw; a.href = '/x?q=' + encodeURIComponent(pw); b.setAttribute('aria-label', pw); i.value = pw; t.value = pw;
			d.href = URL.createObjectURL(new Blob([pw])); d.download = 'file.txt';
			console.log('console', pw, {pw}); localStorage.pw = pw; sessionStorage.b64 = btoa(unescape(encodeURIComponent(pw)));
			history.replaceState(null, '', '/echo?pw=' + encodeURIComponent(pw) + '#' + encodeURIComponent(pw));
			fetch('/missing/' + encodeURIComponent(pw), {method: 'POST', body: pw});
			b.onclick = () => { alert('alert ' + pw); };</script>`, quoted)
	})
	w.mux.HandleFunc("/api", func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, r.Header.Get("X-Key")+"|"+string(body))
		mu.Unlock()
		rw.Header().Set("X-Echo", r.Header.Get("X-Key"))
		fmt.Fprintf(rw, "you sent %s with %s", body, r.Header.Get("X-Key"))
	})
	return w, func() []string { mu.Lock(); defer mu.Unlock(); return append([]string(nil), got...) }
}

// leaks returns the encodings of the password that content holds.
func leaks(content []byte) (found []string) {
	quoted, _ := json.Marshal(password)
	twice, _ := json.Marshal(string(quoted))
	small := strings.ToLower(string(content))
	for name, form := range map[string]string{
		"itself": password, "JSON": string(quoted[1 : len(quoted)-1]), "JSON in JSON": string(twice[3 : len(twice)-3]), "query": url.QueryEscape(password), "path": url.PathEscape(password),
		"base64": base64.StdEncoding.EncodeToString([]byte(password))[:24], "hex": hex.EncodeToString([]byte(password)), "its beginning": "hunter2", "its end": "horse",
	} {
		if strings.Contains(small, strings.ToLower(form)) {
			found = append(found, name)
		}
	}
	return found
}

// An agent uses a password and is never shown it: neither by the field, nor by a page that
// says it in every way, nor over any command; and the trail, the logs and the events do not
// have it.
func TestSecrets(t *testing.T) {
	aboutOneProcess(t, "a ledger in a file")
	t.Parallel()
	w, sent := secretPages(t)
	other, _ := secretPages(t)
	logs := filepath.Join(t.TempDir(), "actions")
	env := map[string]string{
		"BROWSERD_STATE__KEY": "a passphrase of the tests", "BROWSERD_LOG__LEVEL": "debug", "BROWSERD_ACTION_LOG__DIR": logs,
		"BROWSERD_LEDGER__DSN": filepath.Join(t.TempDir(), "ledger.db"),
	}
	d := testdaemon.Start(t, testdaemon.Options{Env: env})
	operator := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.Command(d.Binary(), append([]string{"secret"}, args...)...)
		cmd.Env, cmd.Dir, cmd.Stdin = d.Environ(), d.Home, strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "hunter2") {
			t.Fatalf("browserd secret %v: %v: %s", args, err, out)
		}
	}
	operator(password+"\n", "set", "shop", "--origin", w.URL)
	operator("", "set", "program", "--origin", w.URL, "--", "printf", "%s", password)
	operator("otpauth://totp/x?secret=JBSWY3DPEHPK3PXP", "set", "code", "--totp", "--origin", w.URL)
	operator("not for this agent", "set", "hidden", "--origin", w.URL, "--agent", "somebody-else")
	if out, err := d.Command("secret", "list"); err != nil || !strings.Contains(out, "somebody-else") || !strings.Contains(out, "program printf") {
		t.Errorf("browserd secret list: %v: %s", err, out)
	}
	operator("gone", "set", "gone", "--origin", w.URL)
	operator("", "rm", "gone")

	a := newAgent(t, d)
	// raw sends a command and returns all that the agent is sent for it.
	raw := func(method string, p params) ([]byte, error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var answer json.RawMessage
		err := a.c.Call(ctx, method, p, &answer)
		if e := (*protocol.Error)(nil); errors.As(err, &e) {
			answer, _ = json.Marshal([]any{e.Message, e.Data()})
		} else if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		if found := leaks(answer); found != nil {
			t.Errorf("%s %v shows the password (%v): %s", method, p, found, answer)
		}
		return answer, err
	}
	denied := func(reason, method string, p params) {
		t.Helper()
		answer, err := raw(method, p)
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != protocol.SecretDenied || e.Details["reason"] != reason {
			t.Errorf("%s %v: %v %s, want secret_denied with reason %s", method, p, err, answer, reason)
		}
	}
	list, _ := raw("secret_list", params{})
	if want := fmt.Sprintf(`{"secrets":[{"name":"code","kind":"totp","origins":["%[1]s"]},{"name":"program","kind":"text","origins":["%[1]s"]},{"name":"shop","kind":"text","origins":["%[1]s"]}]}`, w.URL); string(list) != want {
		t.Errorf("secret_list: %s, want %s", list, want)
	}

	// Where it is not given, and nothing is written.
	a.open(other.URL + "/login?frame=" + url.QueryEscape(w.URL+"/field"))
	denied("origin", "type", params{"ref": "label=Password", "text": "{{secret:shop}}"})
	a.open(w.URL + "/login?frame=" + url.QueryEscape(other.URL+"/field"))
	denied("unknown", "type", params{"ref": "label=Password", "text": "{{secret:hidden}}"})
	denied("unknown", "type", params{"ref": "label=Password", "text": "{{secret:gone}}"})
	denied("frame", "type", params{"ref": `role=iframe[name="inner"]`, "text": "{{secret:shop}}"})
	denied("origin", "type", params{"ref": "label=Field", "text": "{{secret:shop}}"})
	denied("origin", "fill", params{"fields": []params{{"ref": "label=Field", "value": "{{secret:shop}}"}}})
	denied("origin", "http_request", params{"url": other.URL + "/api", "method": "POST", "body": "{{secret:shop}}"})

	a.do("trace", params{"action": "start"})
	// An element that does not take it does not say it, and nor does the view of the sessions.
	operator(strings.Repeat("hunter2 & more of it ", 9), "set", "long", "--origin", w.URL)
	a.open(w.URL + "/odd")
	for _, ref := range []string{"css=#date", "css=#number", "css=#color", "css=#select", "css=#check", "css=#button"} {
		raw("type", params{"ref": ref, "text": "{{secret:long}}"})
		raw("fill", params{"fields": []params{{"ref": ref, "value": "{{secret:long}}"}}})
	}
	operator("", "rm", "long")

	// Into a field that is no password field, whose text the page repeats as it is typed.
	a.open(w.URL + "/login")
	raw("type", params{"ref": "label=Search", "text": "{{secret:shop}}", "snapshot": "full"})
	raw("read", params{"ref": "label=Search", "kind": "value"})
	if attrs, _ := raw("read", params{"ref": "label=Search", "kind": "attrs"}); !strings.Contains(string(attrs), "text-security: disc") {
		t.Errorf("pictures would show the password: %s", attrs)
	}
	raw("read", params{"ref": "label=Search", "kind": "html"})
	raw("read", params{})
	for i := range 40 { // no part of it either
		raw("read", params{"offset": i, "max_chars": 9})
	}
	denied("held", "eval", params{"expression": "document.querySelector('[name=q]').value.split('').reverse().join('')"})
	denied("held", "wait", params{"expression": "document.querySelector('[name=q]').value[0] === 'h'"})
	denied("held", "init_script", params{"script": "1"})
	denied("held", "route", params{"pattern": "*", "action": "answer", "body": "<script>1</script>"})
	if _, err := raw("run", params{"code": "return page.evaluate(() => document.querySelector('[name=q]').value.split('').reverse().join(''))"}); protocol.CodeOf(err) != protocol.ScriptError {
		t.Errorf("a script evaluated where a secret is: %v", err)
	}
	raw("run", params{"code": "const s = await page.locator('#p').textContent(); return [s.split('').reverse().join(''), s.length]"})
	raw("type", params{"ref": "label=Password", "text": "{{secret:shop}}"})
	raw("fill", params{"fields": []params{{"ref": "label=User", "value": "ann"}, {"ref": "label=Password", "value": "{{secret:program}}"}}})
	a.do("subscribe", params{"events": protocol.EventTypes, "sessions": "all"})
	raw("click", params{"ref": `role=button[name="Send"]`, "snapshot": "full"})
	if got := sent(); len(got) != 1 || got[0] != password+password {
		t.Fatalf("the site was sent %q", got)
	}

	// The page says it in every way.
	for _, c := range []struct {
		method string
		params params
	}{
		{"snapshot", everything}, {"snapshot", params{}}, {"read", params{}}, {"read", params{"kind": "html"}}, {"read", params{"kind": "markdown"}}, {"find", params{"text": "It is"}},
		{"console", params{}}, {"network", params{}}, {"network", params{"format": "har", "body": true}}, {"network", params{"id": 1, "body": true, "max_chars": 700}}, {"cookies_get", params{}}, {"tab_list", params{}},
		{"state_save", params{"name": "shop"}}, {"downloads", params{"allow": true}}, {"click", params{"ref": "text=Save"}}, {"downloads", params{"wait": true}}, {"downloads", params{"name": "file.txt"}},
		{"downloads", params{"name": "file.txt", "offset": 3}}, {"downloads", params{"name": "file.txt", "offset": 20, "max_chars": 9}}, {"click", params{"ref": "css=#b"}}, {"dialog", params{"accept": true}}, {"click", params{"ref": "css=#nowhere"}}, {"session_list", params{}}, {"status", params{}},
		{"read", params{"kind": "markdown", "ref": "css=#p"}}, {"select", params{"ref": "css=#i", "values": []string{"x"}}}, {"back", params{}}, {"forward", params{}}, {"batch", params{"commands": []params{{"method": "read"}}}}, {"run", params{"code": "console.log(await page.title()); return [page.url(), await page.content()]"}},
		{"run", params{"code": "throw new Error(await page.title())"}}, {"web_fetch", params{"url": w.URL + "/echo?pw=" + url.QueryEscape("x")}}, {"open", params{"url": w.URL + "/echo"}},
	} {
		raw(c.method, c.params)
	}

	// A trace of all of that does not hold it.
	stopped, err := raw("trace", params{"action": "stop"})
	if err != nil {
		t.Fatal(err)
	}
	var traced struct {
		Actions   int                   `json:"actions"`
		Recording struct{ Name string } `json:"recording"`
	}
	json.Unmarshal(stopped, &traced)
	for name, text := range unzipped(t, a.recorded(d, traced.Recording.Name)) {
		if found := leaks([]byte(text)); found != nil || traced.Actions < 80 {
			t.Errorf("%s of a trace of %d actions shows the password: %v", name, traced.Actions, found)
		}
	}

	resp, err := http.DefaultClient.Do(func() *http.Request {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+"/", nil)
		r.Header.Set("Authorization", "Bearer "+d.Token)
		return r
	}())
	if err != nil {
		t.Fatal(err)
	}
	view, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if found := leaks(view); found != nil || !strings.Contains(string(view), "/echo") {
		t.Errorf("the view of the sessions shows the password (%v): %s", found, view)
	}

	// It is not taken to a document where the agent's JavaScript could read it.
	a.open(other.URL + "/login")
	raw("eval", params{"expression": "document.querySelector('[name=q]').addEventListener('input', e => { document.title = [...e.target.value].reverse().join('') })"})
	for _, field := range []string{"label=Search", "label=Password", "label=Password|css=#switch"} {
		field, button, shown := strings.Cut(field, "|")
		a.do("tab_new", params{"url": w.URL + "/login"})
		raw("type", params{"ref": field, "text": "{{secret:shop}}"})
		if shown {
			raw("click", params{"ref": button})
		}
		for _, key := range []string{"Control+a", "Control+c", "Control+a", "Control+Insert", "Control+a", "Control+x", "Control+a", "Shift+Delete"} {
			raw("press", params{"ref": field, "key": key})
		}
		a.do("tab_select", params{"tab": "t1"})
		raw("press", params{"ref": "label=Search", "key": "Control+v"})
		if title := a.do("snapshot", nil).Page.Title; strings.ContainsAny(title, "hunter2") && title != "Log in" {
			t.Errorf("what was copied out of %s is %q in another document", field, title)
		}
	}

	// Over HTTP, in a header and in a body; redirects and answers do not bring it out.
	raw("http_request", params{"url": w.URL + "/api", "method": "POST", "headers": params{"X-Key": "{{secret:program}}"}, "body": params{"k": "{{secret:shop}}"}})
	quoted, _ := json.Marshal(map[string]string{"k": password})
	if got := sent(); got[len(got)-1] != password+"|"+string(quoted) {
		t.Errorf("the site was sent %q", got[len(got)-1])
	}

	// Where the agent's JavaScript has run it is not given any more, elsewhere and in a new session it is.
	a.open(w.URL + "/login")
	denied("held", "eval", params{"expression": "1"}) // by the other tabs
	for _, tab := range a.do("tab_list", nil).Tabs {
		if !tab.Selected {
			a.do("tab_close", params{"tab": tab.Tab})
		}
	}
	raw("eval", params{"expression": "1"})
	denied("script", "type", params{"ref": "label=Password", "text": "{{secret:shop}}"})
	a.do("session_open", params{"name": "second"})
	a.open(w.URL + "/login")
	raw("type", params{"ref": "label=Password", "text": "{{secret:code}}"})
	a.do("session_open", params{"name": "third"})
	a.do("init_script", params{"script": "1"})
	a.open(w.URL + "/login")
	denied("script", "type", params{"ref": "label=Password", "text": "{{secret:shop}}"})

	// Of all events, those of commands among them, none has it.
	a.do("session_close", nil)
	events := 0
	_, err = a.c.Event(t.Context(), func(e protocol.Event) bool {
		text, err := json.Marshal(e)
		if found := leaks(text); err != nil || found != nil {
			t.Errorf("an event shows the password (%v), %v: %s", found, err, text)
		}
		events++
		return e.Type == protocol.EventSessionClosing
	})
	if err != nil || events < 30 {
		t.Errorf("%d events, %v", events, err)
	}

	// Nothing on the machine holds it but the sealed file, which does not in clear, and Chromium's own.
	d.Stop()
	files := 0
	for _, root := range []string{d.Home, logs, filepath.Dir(env["BROWSERD_LEDGER__DSN"])} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !e.Type().IsRegular() {
				return nil
			}
			files++
			content, err := os.ReadFile(path)
			if found := leaks(content); found != nil {
				t.Errorf("%s holds the password (%v)", path, found)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if files < 5 {
		t.Errorf("%d files were looked at", files)
	}
}

// A command whose time is over before its turn has come says where the page is, and not what the page's address says
// of a password.
func TestACommandThatWaitsInVainShowsNoSecret(t *testing.T) {
	aboutOneProcess(t, "secrets of its own")
	t.Parallel()
	w, _ := secretPages(t)
	w.serve("/ask", `<!doctype html><form action=/echo><label>Search <input name=q></label><button>Send</button></form>`, "")
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests"}})
	secretSetter(t, d)(password, "shop", "--origin", w.URL)
	a := newAgent(t, d)
	a.open(w.URL + "/ask")
	a.do("type", params{"ref": "label=Search", "text": "{{secret:shop}}"})
	a.do("click", params{"ref": "role=button"})
	held := make(chan error, 1)
	go func() {
		_, err := a.try("wait", params{"text": "never", "timeout_ms": 3000})
		held <- err
	}()
	for seen := false; !seen; {
		select {
		case err := <-held:
			t.Fatalf("no command has waited for this one: %v", err)
		default:
		}
		_, err := a.try("click", params{"ref": "@e1", "timeout_ms": 60})
		var e *protocol.Error
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		said, _ := json.Marshal(e)
		if found := leaks(said); found != nil {
			t.Fatalf("the error shows the password (%v): %s", found, said)
		}
		seen = e.Code == protocol.Timeout && strings.Contains(string(said), "/echo")
	}
	<-held
}

// Of secrets that are set and removed at once, each is there or gone afterwards: whoever writes the
// file has read what the others wrote.
func TestSecretsSetAtOnce(t *testing.T) {
	t.Parallel()
	bin, err := testdaemon.PlainBinary() // each seals the file with a key of 600,000 rounds, one after the other
	if err != nil {
		t.Fatal(err)
	}
	d := testdaemon.Start(t, testdaemon.Options{Binary: bin, Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests", "BROWSERD_BROWSER__DISABLED": "true"}})
	set := secretSetter(t, d)
	set("hunter2", "old", "--origin", "https://shop.example")
	var all sync.WaitGroup
	want := []string{}
	for i := range 4 {
		name := fmt.Sprintf("shop-%d", i)
		want = append(want, name)
		all.Go(func() { set("hunter2", name, "--origin", "https://shop.example") })
	}
	all.Go(func() {
		if out, err := d.Command("secret", "rm", "old"); err != nil {
			t.Errorf("browserd secret rm: %v: %s", err, out)
		}
	})
	all.Wait()
	a := newAgent(t, d)
	got := []string{}
	for _, s := range ask[struct{ Secrets []struct{ Name string } }](a, "secret_list", nil).Secrets {
		got = append(got, s.Name)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got before want:\n%s", diff)
	}
}
