package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// databaseSite keeps who is logged in in IndexedDB, and answers with a cookie that ends with the
// browser; a service worker answers /worked.
func databaseSite(t *testing.T) *pageServer {
	w := newPageServer(t)
	const script = `<p id=db>…<p id=sw>…<script>
		const store = (mode, do_) => new Promise((yes, no) => { const r = indexedDB.open('login', 1);
			r.onupgradeneeded = () => r.result.createObjectStore('user'); r.onerror = no;
			r.onsuccess = () => { const tx = r.result.transaction('user', mode), q = do_(tx.objectStore('user')); tx.oncomplete = () => yes(q.result) } });
		const worker = async () => { sw.textContent = 'worker: ' + await (await fetch('/worked')).text() };
	</script>`
	w.mux.HandleFunc("/login", func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "bound", Value: "s3cret-cookie", Path: "/", HttpOnly: true})
		http.SetCookie(rw, &http.Cookie{Name: "lasting", Value: "1", Path: "/", MaxAge: 3600})
		fmt.Fprint(rw, "<!doctype html><title>Login</title>"+script+`<script>
			(async () => { await store('readwrite', s => s.put('s3cret-user', 'name')); sessionStorage.tab = 'kept';
				await navigator.serviceWorker.register('/sw.js'); await navigator.serviceWorker.ready; db.textContent = 'logged in' })()</script>`)
	})
	w.mux.HandleFunc("/sw.js", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(rw, `onfetch = e => { if (e.request.url.endsWith('/worked')) e.respondWith(new Response('answers')) }; oninstall = () => skipWaiting(); onactivate = e => e.waitUntil(clients.claim())`)
	})
	w.mux.HandleFunc("/worked", func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, "is not there") })
	w.mux.HandleFunc("/account", func(rw http.ResponseWriter, r *http.Request) {
		var sent []string
		for _, name := range []string{"bound", "lasting"} {
			if _, err := r.Cookie(name); err == nil {
				sent = append(sent, name)
			}
		}
		fmt.Fprintf(rw, "<!doctype html><title>Account</title><p>cookies: %s"+script+`<script>
			(async () => { await worker(); db.textContent = 'user: ' + (await store('readonly', s => s.get('name')) || 'nobody') + ', tab: ' + (sessionStorage.tab || 'nothing') })()</script>`, strings.Join(sent, " "))
	})
	w.mux.HandleFunc("/fill", func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprint(rw, "<!doctype html><title>Fill</title>"+script+`<script>
			(async () => { for (let i = 0; i < 60; i++) await store('readwrite', s => s.put(crypto.getRandomValues(new Uint8Array(65536)).join(), 'k' + i)); db.textContent = 'full' })()</script>`)
	})
	return w
}

const profileKey = "a passphrase of some length"

func profileDaemon(t *testing.T, home string, more map[string]string) *testdaemon.Daemon {
	env := map[string]string{"BROWSERD_STATE__KEY": profileKey, "BROWSERD_STATE__CHECKPOINT": "1s"}
	for k, v := range more {
		env[k] = v
	}
	return testdaemon.Start(t, testdaemon.Options{Home: home, Env: env, Binary: os.Getenv("BROWSERD_PLAIN_BIN")})
}

// account opens the account's page and returns what it shows, in one line.
func (a *agent) account(w *pageServer) string {
	a.t.Helper()
	a.open(w.URL + "/account")
	a.do("wait", params{"text": "user: "})
	return strings.Join(strings.Fields(a.do("read", nil).Content), " ")
}

func (a *agent) logIn(w *pageServer) {
	a.t.Helper()
	a.open(w.URL + "/login")
	a.do("wait", params{"text": "logged in"})
}

const (
	wholeLogin = "cookies: bound lasting user: s3cret-user, tab: kept worker: answers"
	stateLogin = "cookies: bound lasting user: nobody, tab: kept worker: is not there"
)

// A profile keeps what a state does not, across a restart of the daemon and its death: databases
// and service workers. At rest it is sealed; no other agent has it, and it has one writer.
func TestProfile(t *testing.T) {
	aboutOneProcess(t, "it starts again in the home of the first")
	t.Parallel()
	w := databaseSite(t)
	const other = "other-token-0123456789abcdef"
	config := filepath.Join(t.TempDir(), "browserd.yaml")
	if err := os.WriteFile(config, []byte("auth: {tokens: [{agent: other, token: "+other+"}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	more := map[string]string{"BROWSERD_CONFIG": config}
	d := profileDaemon(t, "", more)
	a := newAgent(t, d)
	own := a.do("session_open", params{"profile": "shop"}).Session
	a.logIn(w)
	if got := a.account(w); got != wholeLogin {
		t.Fatalf("in the first session: %q", got)
	}
	a.do("state_save", params{"name": "shop"})

	b := newAgent(t, d)
	if e := b.refused("session_open", params{"profile": "shop"}, protocol.InUse); e.Details["profile"] != "shop" {
		t.Errorf("%v %v", e, e.Details)
	}
	b.refused("profile_delete", params{"name": "shop"}, protocol.InUse)
	conn, err := client.Dial(t.Context(), d.WS(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stranger := &agent{t: t, c: conn}
	stranger.do("session_open", params{"name": "theirs", "profile": "shop"})
	if got := stranger.account(w); !strings.Contains(got, "nobody") {
		t.Errorf("another agent's profile of that name: %q", got)
	}
	stranger.do("session_close", params{"session": "theirs"})

	if note := ask[struct{ Note string }](a, "session_close", params{"session": own}).Note; note != "" {
		t.Errorf("session_close: %s", note)
	}
	if found := filesWith(t, d.Home, "s3cret-cookie", "s3cret-user"); len(found) != 0 {
		t.Errorf("at rest, secrets are in %v", found)
	}
	d.Stop()

	d = profileDaemon(t, d.Home, more)
	c := newAgent(t, d)
	c.do("session_open", params{"name": "state", "state": "shop"})
	if got := c.account(w); got != stateLogin {
		t.Errorf("with the state: %q", got)
	}
	c.do("session_open", params{"name": "profile", "profile": "shop"})
	if got := c.account(w); got != wholeLogin {
		t.Errorf("with the profile, after a restart: %q", got)
	}
	list := ask[struct {
		Profiles []struct {
			Name  string
			Bytes int64
		}
	}](c, "profile_list", nil).Profiles
	if len(list) != 1 || list[0].Name != "shop" || list[0].Bytes == 0 {
		t.Errorf("%+v", list)
	}

	// The daemon is killed: what was in the clear is sealed by the next, and removed.
	c.do("session_close", params{"session": "profile"})
	c.do("session_open", params{"name": "again", "profile": "new"})
	c.logIn(w)
	since, writes := time.Now(), map[time.Time]bool{} // the first may have been begun before the login
	until(t, 20*time.Second, "a checkpoint that was begun after the login", func() bool {
		c.do("eval", params{"expression": "sessionStorage.setItem('now', performance.now())"}) // what is as it was is not written again
		if found, _ := filepath.Glob(filepath.Join(d.Home, "state", "browserd", "profiles", "*", "new.json")); len(found) == 1 {
			if info, err := os.Stat(found[0]); err == nil && info.ModTime().After(since) {
				writes[info.ModTime()] = true
			}
		}
		return len(writes) == 2
	})
	for _, dir := range d.Profiles() {
		for ; dir != d.Home && !strings.HasPrefix(filepath.Base(dir), "browserd-"); dir = filepath.Dir(dir) {
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	d.Kill()
	d = profileDaemon(t, d.Home, more)
	if found := filesWith(t, d.Home, "s3cret-cookie", "s3cret-user"); len(found) != 0 {
		t.Errorf("after the next daemon's start, secrets are in %v", found)
	}
	e := newAgent(t, d)
	e.do("session_open", params{"profile": "new"})
	if got := e.account(w); got != wholeLogin {
		t.Errorf("after the daemon was killed: %q", got)
	}
	// Chromium's death loses nothing either.
	for _, p := range d.Chromium("browser") {
		p.Kill()
	}
	until(t, 20*time.Second, "another Chromium", func() bool {
		_, err := e.try("open", params{"url": w.URL + "/account"})
		return err == nil
	})
	if got := e.account(w); got != wholeLogin {
		t.Errorf("after Chromium was killed: %q", got)
	}
	for _, name := range []string{"shop"} {
		e.do("profile_delete", params{"name": name})
	}
	e.refused("profile_delete", params{"name": "shop"}, protocol.InvalidParams)
}

// A profile's Chromium is held as the shared one: in a jail where there is one, and its pages to
// what the policy and the session allow.
func TestProfileEgress(t *testing.T) {
	t.Parallel()
	w := databaseSite(t)
	d := profileDaemon(t, "", nil)
	a := newAgent(t, d)
	a.do("session_open", params{"profile": "shop", "allowed_domains": []string{"127.0.0.1"}})
	a.open(w.URL + "/account")
	a.refused("open", params{"url": w.alt() + "/account"}, protocol.PolicyDenied)
	fetched := func(url string) string {
		return fmt.Sprintf(`fetch(%q, {mode: 'no-cors'}).then(() => 'reached', () => 'refused')`, url)
	}
	for url, want := range map[string]string{w.URL + "/worked": "reached", w.alt() + "/worked": "refused", d.URL() + "/healthz": "refused"} {
		if got := ask[struct{ Value string }](a, "eval", params{"expression": fetched(url)}).Value; got != want {
			t.Errorf("fetch of %s: %s, want %s", url, got, want)
		}
	}
	mode := ask[struct{ Egress struct{ Mode string } }](a, "status", nil).Egress.Mode
	for _, p := range d.Chromium("browser") {
		own, err1 := os.Readlink("/proc/self/ns/net")
		its, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", p.PID))
		if mode == "jail" && (own == its || err1 != nil || err2 != nil) {
			t.Errorf("Chromium %d is in no jail: %s, %v, %v", p.PID, its, err1, err2)
		}
	}
	t.Logf("egress.mode %s", mode)
}

// What a profile may not be is refused: names that are paths, one that was tampered with or is
// another's, and too much of it. Without a key there are none.
func TestProfileRefused(t *testing.T) {
	aboutOneProcess(t, "a daemon without state.key")
	t.Parallel()
	w := databaseSite(t)
	plain := testdaemon.Start(t, testdaemon.Options{})
	newAgent(t, plain).refused("session_open", params{"profile": "shop"}, protocol.Unsupported)

	d := profileDaemon(t, "", map[string]string{"BROWSERD_PROFILE__BYTES": "2097152", "BROWSERD_PROFILE__OPEN": "1"})
	a := newAgent(t, d)
	for _, name := range []string{"../x", "a/b", "..", ".x", "x\x00", strings.Repeat("n", 300), "Shop", "con:"} {
		a.refused("session_open", params{"profile": name}, protocol.InvalidParams)
		a.refused("profile_delete", params{"name": name}, protocol.InvalidParams)
	}
	for _, p := range []params{{"profile": "shop", "state": "x"}, {"profile": "shop", "source": "http"}} {
		a.refused("session_open", p, protocol.InvalidParams)
	}
	s := a.do("session_open", params{"profile": "shop"}).Session
	a.refused("session_open", params{"name": "second", "profile": "another"}, protocol.SessionLimit)
	a.do("session_close", params{"session": s})

	// More than the quota, while it runs: its Chromium is ended, and what was sealed stays.
	s = a.do("session_open", params{"profile": "shop"}).Session
	a.logIn(w)
	// A state of its name is not the profile.
	a.do("session_open", params{"name": "keeper", "state": "shop", "keep": true})
	if e := a.refused("state_save", params{"session": s, "name": "shop"}, protocol.InUse); e.Details["state"] != "shop" || !strings.Contains(e.Message, "the state shop is being written by another session or command") {
		t.Errorf("%v %v", e, e.Details)
	}
	a.do("session_close", params{"session": "keeper"})
	a.do("session_close", params{"session": s})
	s = a.do("session_open", params{"profile": "shop"}).Session
	a.open(w.URL + "/fill")
	a.try("wait", params{"text": "full"}) // its Chromium may be ended before
	until(t, 30*time.Second, "the quota", func() bool {
		_, err := a.try("open", params{"url": w.URL + "/account"})
		return protocol.CodeOf(err) == protocol.TooLarge || err != nil && strings.Contains(err.Error(), "profile.bytes")
	})
	a.do("session_close", params{"session": s})
	s = a.do("session_open", params{"profile": "shop"}).Session
	if got := a.account(w); !strings.Contains(got, "user: s3cret-user") {
		t.Errorf("after the quota: %q", got)
	}
	a.do("session_close", params{"session": s})

	sealed, _ := filepath.Glob(filepath.Join(d.Home, "state", "browserd", "profiles", "*", "shop.profile"))
	if len(sealed) != 1 {
		t.Fatalf("%v", sealed)
	}
	if info, err := os.Stat(sealed[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	good, err := os.ReadFile(sealed[0])
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte{}, good...)
	flipped[len(flipped)/2] ^= 1
	for what, content := range map[string][]byte{"a bit": flipped, "cut": good[:len(good)-100], "empty": {}, "plain": []byte("PK\x03\x04"), "longer": append(append([]byte{}, good...), good[60:]...)} {
		if err := os.WriteFile(sealed[0], content, 0o600); err != nil {
			t.Fatal(err)
		}
		if e := a.refused("session_open", params{"profile": "shop"}, protocol.InvalidParams); e.Details["parameter"] != "profile" {
			t.Errorf("%s: %v", what, e)
		}
	}
	// Under another name.
	if err := os.WriteFile(filepath.Join(filepath.Dir(sealed[0]), "moved.profile"), good, 0o600); err != nil {
		t.Fatal(err)
	}
	a.refused("session_open", params{"profile": "moved"}, protocol.InvalidParams)
	if err := os.WriteFile(sealed[0], good, 0o600); err != nil {
		t.Fatal(err)
	}
	s = a.do("session_open", params{"profile": "shop"}).Session
	a.do("session_close", params{"session": s})
	if left := d.Profiles(); len(left) > 1 { // the shared Chromium's, where it runs
		t.Errorf("left in the clear: %v", left)
	}
}

// A profile goes to another daemon, by a file and the command line or by an answer and a request, with all
// that a state has not; a session that has it keeps both commands out.
func TestAProfileIsExportedAndImported(t *testing.T) {
	t.Parallel()
	w := databaseSite(t)
	from, to := profileDaemon(t, "", nil), profileDaemon(t, "", map[string]string{"BROWSERD_STATE__KEY": "the passphrase of another"})
	a, b := newAgent(t, from), newAgent(t, to)
	s := a.do("session_open", params{"profile": "shop"}).Session
	a.logIn(w)
	if got := a.account(w); got != wholeLogin {
		t.Fatalf("logged in: %q", got)
	}
	const passphrase = "correct horse battery staple"
	a.refused("profile_export", params{"name": "shop", "passphrase": passphrase}, protocol.InUse)
	a.do("session_close", params{"session": s})
	a.refused("profile_export", params{"name": "shop", "passphrase": "short"}, protocol.InvalidParams)
	a.refused("profile_export", params{"name": "../shop", "passphrase": passphrase}, protocol.InvalidParams)

	file := filepath.Join(t.TempDir(), "shop.profile")
	if out, err := from.Command("profile_export", "shop", "--passphrase", passphrase, "-o", file); err != nil || strings.TrimSpace(out) != file {
		t.Fatalf("%q, %v", out, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// From standard input, so that no list of processes shows it.
	imports := exec.Command(to.Binary(), "profile_import", "moved", "--passphrase", "-", "--content", file)
	imports.Env, imports.Dir, imports.Stdin = to.Environ(), to.Home, strings.NewReader(passphrase+"\n")
	if out, err := imports.CombinedOutput(); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	content := ask[struct{ Content string }](a, "profile_export", params{"name": "shop", "passphrase": passphrase}).Content
	t.Logf("%d characters", len(content))
	for _, wrong := range []params{
		{"name": "other", "passphrase": passphrase + "r", "content": content}, {"name": "other", "passphrase": passphrase, "content": content[:len(content)-4]},
		{"name": "other", "passphrase": passphrase, "content": "no base64!"}, {"name": "../other", "passphrase": passphrase, "content": content},
	} {
		b.refused("profile_import", wrong, protocol.InvalidParams)
	}
	b.do("profile_import", params{"name": "other", "passphrase": passphrase, "content": content})
	for _, name := range []string{"moved", "other"} {
		b.do("session_open", params{"name": name, "profile": name})
		if got := b.account(w); got != wholeLogin {
			t.Errorf("%s: %q", name, got)
		}
		b.refused("profile_import", params{"name": name, "passphrase": passphrase, "content": content}, protocol.InUse)
	}
	if found := filesWith(t, from.Home, passphrase); len(found) != 0 {
		t.Errorf("the passphrase is in %v", found)
	}
	if found := filesWith(t, to.Home, passphrase); len(found) != 0 {
		t.Errorf("the passphrase is in %v", found)
	}
}

// A profile of 20 MB, which is more than fits into one answer, goes to another daemon over WebSocket, HTTP, MCP and by
// the command line, which has it in one file.
func TestALargeProfileIsExportedAndImported(t *testing.T) {
	t.Parallel()
	w := databaseSite(t)
	w.serve("/large", page("large", `<p id=p>…<script>
		const b = new Uint8Array(20e6); for (let i = 0; i < b.length; i += 65536) crypto.getRandomValues(b.subarray(i, Math.min(i + 65536, b.length)));
		const r = indexedDB.open('large', 1); r.onupgradeneeded = () => r.result.createObjectStore('all');
		const sum = async (a) => [...new Uint8Array(await crypto.subtle.digest('SHA-256', a))].map(x => x.toString(16).padStart(2, '0')).join('');
		r.onsuccess = () => { const tx = r.result.transaction('all', 'readwrite', {durability: 'strict'}), s = tx.objectStore('all');
			if (location.search) { const q = s.get('b'); q.onsuccess = async () => p.textContent = 'has ' + await sum(q.result) }
			else { s.put(b, 'b'); tx.oncomplete = async () => p.textContent = 'has ' + await sum(b) } }
	</script>`), "")
	has := func(a *agent, session, query string) string {
		a.do("open", params{"session": session, "url": w.URL + "/large" + query})
		a.do("wait", params{"session": session, "text": "has "})
		return a.do("read", params{"session": session}).Content
	}
	d := profileDaemon(t, "", nil)
	a := newAgent(t, d)
	a.do("session_open", params{"name": "own", "profile": "shop"})
	want := has(a, "own", "")
	a.do("session_close", params{"session": "own"})

	const passphrase = "correct horse battery staple"
	type sends func(command string, p params) (map[string]any, error)
	export := func(send sends) (whole []byte) {
		t.Helper()
		pieces := 0
		for p := (params{"name": "shop", "passphrase": passphrase}); ; pieces++ {
			r, err := send("profile_export", p)
			if err != nil {
				t.Fatal(err)
			}
			piece, err := base64.StdEncoding.DecodeString(r["content"].(string))
			if err != nil {
				t.Fatal(err)
			}
			whole = append(whole, piece...)
			if r["next_offset"] == nil {
				if pieces < 5 || float64(len(whole)) != r["size"] {
					t.Errorf("%d pieces, %d bytes of %v", pieces+1, len(whole), r["size"])
				}
				return whole
			}
			p["offset"], p["export"] = r["next_offset"], r["export"]
		}
	}
	imports := func(send sends, name string, whole []byte) {
		t.Helper()
		for offset := 0; offset < len(whole); offset += 2e6 {
			piece := whole[offset:min(len(whole), offset+2e6)]
			r, err := send("profile_import", params{"name": name, "passphrase": passphrase, "offset": offset, "more": offset+len(piece) < len(whole), "content": base64.StdEncoding.EncodeToString(piece)})
			if err != nil {
				t.Fatal(err)
			}
			if next := float64(offset + len(piece)); int(next) < len(whole) && r["next_offset"] != next {
				t.Errorf("%v, want next_offset %v", r, next)
			}
		}
	}
	websocket := func(command string, p params) (r map[string]any, err error) {
		return r, a.c.Call(t.Context(), command, p, &r)
	}
	overHTTP := func(command string, p params) (r map[string]any, err error) {
		body, _ := json.Marshal(p)
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+"/v1/"+command, bytes.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+d.Token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, errors.New(resp.Status)
		}
		return r, json.NewDecoder(resp.Body).Decode(&r)
	}
	tools := connect(t, &mcp.StreamableClientTransport{Endpoint: d.URL() + "/mcp?tools=all&structured=true", HTTPClient: &http.Client{Transport: bearer(d.Token)}}, nil)
	overMCP := func(command string, p params) (map[string]any, error) {
		r, err := tools.CallTool(t.Context(), &mcp.CallToolParams{Name: command, Arguments: p})
		if err == nil && r.IsError {
			err = errors.New(textOf(r))
		}
		if err != nil {
			return nil, err
		}
		return r.StructuredContent.(map[string]any), nil
	}
	for name, send := range map[string]sends{"websocket": websocket, "http": overHTTP, "mcp": overMCP} {
		imports(send, name, export(send))
	}
	file := filepath.Join(t.TempDir(), "shop.profile")
	if out, err := d.Command("profile_export", "shop", "--passphrase", passphrase, "-o", file); err != nil {
		t.Fatalf("%q, %v", out, err)
	}
	if out, err := d.Command("profile_import", "line", "--passphrase", passphrase, "--content", file); err != nil {
		t.Fatalf("%q, %v", out, err)
	}
	for _, name := range []string{"websocket", "http", "mcp", "line"} {
		a.do("session_open", params{"name": name, "profile": name})
		if got := has(a, name, "?again"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		a.do("session_close", params{"session": name})
	}
}

// A site offers to bind its session to the device (Device Bound Session Credentials). These builds of
// Chromium have no place for the key and do not answer; the cookie that comes with it ends with the
// browser, and survives in a profile and in a state. Where this fails because Chromium answers by now, a
// profile has to be shown to keep the session, and docs/decisions/sessions.md to be changed.
func TestDeviceBoundSessionsAreNotBegun(t *testing.T) {
	t.Parallel()
	var begun atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/login", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Secure-Session-Registration", `(ES256 RS256);path="/begin";challenge="abc"`)
		http.SetCookie(rw, &http.Cookie{Name: "bound", Value: "yes", Path: "/", Secure: true, HttpOnly: true})
		fmt.Fprint(rw, `<!doctype html><title>Login</title><p>Logged in`)
	})
	mux.HandleFunc("/begin", func(http.ResponseWriter, *http.Request) { begun.Add(1) })
	mux.HandleFunc("/account", func(rw http.ResponseWriter, r *http.Request) {
		who := "nobody"
		if _, err := r.Cookie("bound"); err == nil {
			who = "known"
		}
		fmt.Fprintf(rw, `<!doctype html><title>Account</title><p>You are %s`, who)
	})
	site := httptest.NewTLSServer(mux)
	t.Cleanup(site.Close)
	d := profileDaemon(t, "", map[string]string{"BROWSERD_POLICY__INSECURE_HOSTS": strings.TrimPrefix(site.URL, "https://"), "BROWSERD_POLICY__ALLOW_HOSTS": "127.0.0.1"})
	a := newAgent(t, d)
	s := a.do("session_open", params{"profile": "shop"}).Session
	a.open(site.URL + "/login")
	for range 3 {
		a.open(site.URL + "/account")
	}
	a.do("state_save", params{"name": "shop"})
	a.do("session_close", params{"session": s})
	for _, p := range []params{{"profile": "shop"}, {"state": "shop"}} {
		s := a.do("session_open", p).Session
		a.open(site.URL + "/account")
		if got := a.do("read", nil).Content; !strings.Contains(got, "You are known") {
			t.Errorf("%v: %q", p, got)
		}
		a.do("session_close", params{"session": s})
	}
	if n := begun.Load(); n != 0 {
		t.Errorf("Chromium began %d device-bound sessions: show that a profile keeps them", n)
	}
}
