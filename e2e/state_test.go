package e2e_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

type cookiesAnswer struct {
	Cookies []protocol.Cookie `json:"cookies"`
	Cleared int               `json:"cleared"`
}

type stateAnswer struct {
	Cookies int      `json:"cookies"`
	Origins []string `json:"origins"`
	Refused []string `json:"refused"`
}

func TestCookies(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.mux.HandleFunc("/page", func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "sid", Value: "from the server", Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		fmt.Fprintf(rw, "<!doctype html><title>Cookies</title><p>%s", r.Header.Get("Cookie"))
	})
	a := newAgent(t, d)
	a.open(w.URL + "/page")
	want := []protocol.Cookie{{Name: "sid", Value: "from the server", Domain: "127.0.0.1", Path: "/", HTTPOnly: true, SameSite: "Lax"}}
	want[0].Value = `"from the server"`
	if diff := cmp.Diff(ask[cookiesAnswer](a, "cookies_get", nil).Cookies, want); diff != "" {
		t.Fatalf("got before want:\n%s", diff)
	}
	later := float64(time.Now().Add(time.Hour).Unix())
	a.do("cookies_set", params{"cookies": []params{
		{"name": "theme", "value": "dark"},
		{"name": "wide", "value": "1", "domain": ".example.test", "path": "/p", "expires": later, "secure": true, "same_site": "None"},
		{"name": "__Host-x", "value": "2", "url": "https://host.example.test/", "path": "/", "secure": true},
	}})
	a.do("reload", nil)
	if text := a.do("read", nil).Content; !strings.Contains(text, "theme=dark") || !strings.Contains(text, "sid=") {
		t.Errorf("the server was sent %q", text)
	}
	got := map[string]protocol.Cookie{}
	for _, c := range ask[cookiesAnswer](a, "cookies_get", nil).Cookies {
		got[c.Name] = c
	}
	if diff := cmp.Diff(got["wide"], protocol.Cookie{Name: "wide", Value: "1", Domain: ".example.test", Path: "/p", Expires: later, Secure: true, SameSite: "None"}); diff != "" {
		t.Errorf("got before want:\n%s", diff)
	}
	if c := got["__Host-x"]; c.Domain != "host.example.test" || !c.Secure {
		t.Errorf("%+v", c)
	}
	if one := ask[cookiesAnswer](a, "cookies_get", params{"urls": "https://sub.example.test/p/q"}).Cookies; len(one) != 1 || one[0].Name != "wide" {
		t.Errorf("for one address: %+v", one)
	}
	e := a.refused("cookies_set", params{"cookies": []params{{"name": "__Host-y", "value": "1", "url": "http://host.example.test/", "path": "/"}}}, protocol.InvalidParams)
	if e.Details["parameter"] != "cookies" || !strings.Contains(e.Message, "__Host-y") {
		t.Errorf("%v %v", e, e.Details)
	}
	cleared := ask[cookiesAnswer](a, "cookies_clear", params{"urls": []string{w.URL}})
	if cleared.Cleared != 2 || len(cleared.Cookies) != 2 {
		t.Errorf("%+v", cleared)
	}
	if left := ask[cookiesAnswer](a, "cookies_clear", nil); left.Cleared != 2 || len(left.Cookies) != 0 {
		t.Errorf("%+v", left)
	}
	// Another session of the same daemon has none of it.
	a.do("cookies_set", params{"cookies": []params{{"name": "own", "value": "1"}}})
	b := newAgent(t, d)
	b.open(w.URL + "/page")
	if list := ask[cookiesAnswer](b, "cookies_get", nil).Cookies; len(list) != 1 {
		t.Errorf("another session has %+v", list)
	}
	// Sessions that have opened nothing yet.
	c := newAgent(t, d)
	c.refused("cookies_set", params{"cookies": []params{{"name": "a", "value": "b"}}}, protocol.InvalidParams)
	c.do("cookies_set", params{"cookies": []params{{"name": "a", "value": "b", "url": w.URL}}})
	c.open(w.URL + "/page")
	if text := c.do("read", nil).Content; text != "a=b" {
		t.Errorf("the server was sent %q", text)
	}
}

// loginSite knows who is logged in by a cookie and by what the page keeps in
// its local storage, and counts what its script is asked for.
func loginSite(t *testing.T) (w *pageServer, hits func() int) {
	t.Helper()
	w = newPageServer(t)
	n := make(chan int, 1)
	n <- 0
	w.mux.HandleFunc("/login", func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "sid", Value: "s3cret-cookie", Path: "/", HttpOnly: true, MaxAge: 3600})
		fmt.Fprint(rw, `<!doctype html><title>Login</title><script>localStorage.setItem('user', 'Zoë "quoted" \ud83d\ude00'); localStorage.setItem('token', 's3cret-token')</script>Welcome`)
	})
	w.mux.HandleFunc("/account", func(rw http.ResponseWriter, r *http.Request) {
		who := "nobody"
		if c, err := r.Cookie("sid"); err == nil && c.Value == "s3cret-cookie" {
			who = "the cookie's"
		}
		fmt.Fprintf(rw, `<!doctype html><title>Account</title><p>%s, <span id=s></span><script>s.textContent = localStorage.getItem('user') || 'unknown'</script>`, who)
	})
	w.mux.HandleFunc("/{$}", func(rw http.ResponseWriter, r *http.Request) {
		n <- <-n + 1
		fmt.Fprint(rw, `<!doctype html><script>localStorage.setItem('user', 'the front page ran')</script>`)
	})
	return w, func() int { v := <-n; n <- v; return v }
}

const loggedIn = `the cookie's, Zoë "quoted" 😀`

// A state that one session saved logs another one in, after the daemon has
// been started again, with and without a key; no page is asked for it, and no
// other agent can have it.
func TestStateLogsIn(t *testing.T) {
	aboutOneProcess(t, "it looks at the files of states")
	t.Parallel()
	for _, key := range []string{"", "a passphrase of some length"} {
		t.Run(fmt.Sprintf("key %t", key != ""), func(t *testing.T) {
			w, hits := loginSite(t)
			config := filepath.Join(t.TempDir(), "browserd.yaml")
			const other = "other-token-0123456789abcdef"
			if err := os.WriteFile(config, []byte(fmt.Sprintf("state: {key: %q}\nauth: {tokens: [{agent: other, token: %s}]}\n", key, other)), 0o600); err != nil {
				t.Fatal(err)
			}
			o := testdaemon.Options{Args: []string{"--config", config}}
			d := testdaemon.Start(t, o)
			a := newAgent(t, d)
			a.open(w.URL + "/login")
			a.open(w.alt() + "/login")
			saved := ask[stateAnswer](a, "state_save", params{"name": "work"})
			if diff := cmp.Diff(saved, stateAnswer{Cookies: 2, Origins: []string{w.URL, w.alt()}}); diff != "" {
				t.Fatalf("got before want:\n%s", diff)
			}
			if tabs := a.do("tab_list", nil).Tabs; len(tabs) != 1 || tabs[0].Tab != "t1" || tabs[0].URL != w.alt()+"/login" {
				t.Errorf("saving has left tabs: %+v", tabs)
			}
			d.Stop()
			found := filesWith(t, d.Home, "s3cret-cookie", "s3cret-token")
			if want := map[bool]int{true: 1, false: 0}[key == ""]; len(found) != want {
				t.Errorf("secrets are in %v", found)
			}
			states, _ := filepath.Glob(filepath.Join(d.Home, "state", "browserd", "states", "*", "*.json"))
			if len(states) != 1 {
				t.Fatalf("files of states: %v", states)
			}
			for path, mode := range map[string]fs.FileMode{states[0]: 0o600, filepath.Dir(states[0]): 0o700} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
					t.Errorf("%s: %v, %v", path, info.Mode(), err)
				}
			}

			o.Home = d.Home
			d = testdaemon.Start(t, o)
			b := newAgent(t, d)
			b.do("session_open", params{"state": "work"})
			for _, site := range []string{w.URL, w.alt()} {
				b.open(site + "/account")
				if text := b.do("read", nil).Content; text != loggedIn {
					t.Errorf("on %s: %q", site, text)
				}
			}
			// Into a session that is under way.
			c := newAgent(t, d)
			c.open(w.URL + "/account")
			if text := c.do("read", nil).Content; text != "nobody, unknown" {
				t.Errorf("without a state: %q", text)
			}
			c.do("state_load", params{"name": "work"})
			c.do("reload", nil)
			if text := c.do("read", nil).Content; text != loggedIn {
				t.Errorf("after state_load: %q", text)
			}
			if n := hits(); n != 0 {
				t.Errorf("the sites' front pages were asked for %d times", n)
			}

			ctx := t.Context()
			conn, err := client.Dial(ctx, d.WS(), other)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			stranger := &agent{t: t, c: conn}
			stranger.refused("state_load", params{"name": "work"}, protocol.InvalidParams)
			stranger.refused("session_open", params{"name": "taken", "state": "work"}, protocol.InvalidParams)
			stranger.do("session_open", params{"name": "taken"}) // the refused one has left no session
		})
	}
}

// filesWith lists the files below dir that hold one of the words, logs included.
func filesWith(t *testing.T, dir string, words ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, word := range words {
			if strings.Contains(string(content), word) {
				found = append(found, path)
				break
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A state's name is never a path, and a state that somebody else has written
// is taken for no more than it may be.
func TestHostileStates(t *testing.T) {
	aboutOneProcess(t, "it writes files of states")
	t.Parallel()
	w, hits := loginSite(t)
	d := testdaemon.Start(t, testdaemon.Options{})
	a := newAgent(t, d)
	for _, name := range []string{"../x", "a/b", "..", "", ".x", "x\x00", strings.Repeat("n", 300), "stаte", "Work", "a b", "con:"} {
		for _, command := range []string{"state_save", "state_load"} {
			a.refused(command, params{"name": name}, protocol.InvalidParams)
		}
		if name != "" {
			a.refused("session_open", params{"state": name}, protocol.InvalidParams)
		}
	}
	a.open(w.URL + "/login")
	a.do("state_save", params{"name": "good"})
	states, _ := filepath.Glob(filepath.Join(d.Home, "state", "browserd", "states", "*", "good.json"))
	if len(states) != 1 {
		t.Fatalf("%v", states)
	}
	dir := filepath.Dir(states[0])
	origins := `{"version":1,"saved":"2026-01-01T00:00:00Z","cookies":[],"origins":[%s]}`
	var hostile []string
	for _, o := range []string{"file:///etc", "http://169.254.169.254", "http://10.0.0.1", "javascript:alert(1)", "chrome://settings", w.URL + "/login?x=1", "http://user@" + strings.TrimPrefix(w.URL, "http://"), "data:text/html,x", "", "about:blank"} {
		hostile = append(hostile, fmt.Sprintf(`{"origin":%q,"local_storage":[["a","b"]]}`, o))
	}
	many := strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"origin":%q,"local_storage":[]},`, w.URL), 200), ",")
	for name, content := range map[string]string{
		"not-json": "{", "empty": "", "old": `{"version":0}`, "unknown": `{"version":1,"script":"alert(1)"}`, "types": `{"version":1,"cookies":{"a":1}}`,
		"sealed": "browserd state 1\n" + strings.Repeat("x", 100), "big": `{"version":1,"saved":"` + strings.Repeat(" ", 20<<20),
		"origins": fmt.Sprintf(origins, strings.Join(hostile, ",")), "many": fmt.Sprintf(origins, many),
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"not-json", "empty", "old", "unknown", "types", "sealed"} {
		a.refused("state_load", params{"name": name}, protocol.InvalidParams)
	}
	for _, name := range []string{"big", "many"} {
		a.refused("state_load", params{"name": name}, protocol.TooLarge)
	}
	if _, err := a.try("state_load", params{"name": "link"}); err == nil || strings.Contains(err.Error(), "root:") {
		t.Errorf("a link: %v", err)
	}
	if got := ask[stateAnswer](a, "state_load", params{"name": "origins"}); len(got.Refused) != len(hostile) || len(got.Origins) != 0 {
		t.Errorf("%+v", got)
	}
	if n := hits(); n != 0 {
		t.Errorf("the site was asked for %d times", n)
	}
}

// A session with keep saves its state however it ends, and the next one goes on with it:
// closed by its client, after its idle time, with the daemon.
func TestAKeptState(t *testing.T) {
	aboutOneProcess(t, "it starts again in the home of the first")
	t.Parallel()
	for _, source := range []string{"chromium", "http"} {
		t.Run(source, func(t *testing.T) {
			w, _ := loginSite(t)
			o := testdaemon.Options{Env: map[string]string{"BROWSERD_SESSION__IDLE_TIMEOUT": "5s"}}
			d := testdaemon.Start(t, o)
			keeps := params{"state": "work", "keep": true, "source": source}
			isIn := func(how string, want bool) {
				t.Helper()
				a := newAgent(t, d)
				s := a.do("session_open", keeps).Session
				a.open(w.URL + "/account")
				if text := a.do("read", nil).Content; strings.Contains(text, "the cookie's") != want {
					t.Errorf("%s: the account's page says %q", how, text)
				}
				a.do("session_close", params{"session": s})
			}
			isIn("before", false) // keep does not ask for a state that is there

			a := newAgent(t, d)
			s := a.do("session_open", keeps).Session
			a.open(w.URL + "/login")
			a.do("session_close", params{"session": s})
			isIn("closed", true)

			// With Chromium its cookies are lost: what was kept before stays.
			if source == "chromium" {
				a := newAgent(t, d)
				s := a.do("session_open", keeps).Session
				a.open(w.URL + "/account")
				for _, p := range d.Chromium("browser") {
					p.Kill()
				}
				if got := ask[struct{ Note string }](a, "session_close", params{"session": s}); !strings.HasPrefix(got.Note, "the state was not kept: ") {
					t.Errorf("without Chromium: %q", got.Note)
				}
				isIn("after Chromium was lost", true)
			}

			ended := newAgent(t, d)
			ended.do("session_open", params{"state": "idle", "keep": true, "source": source})
			ended.open(w.URL + "/login")
			asks := newAgent(t, d)
			until(t, 20*time.Second, "the state of a session that nobody uses", func() bool {
				return strings.Contains(string(ask[json.RawMessage](asks, "state_list", nil)), `"idle"`)
			})

			last := newAgent(t, d)
			last.do("session_open", params{"state": "daemon", "keep": true, "source": source})
			last.open(w.URL + "/login")
			d.Stop()
			o.Home = d.Home
			d = testdaemon.Start(t, o)
			for _, name := range []string{"idle", "daemon"} {
				keeps["state"] = name
				isIn(name, true)
			}

			// One that cannot be loaded is not replaced by an empty one.
			b := newAgent(t, d)
			b.refused("session_open", params{"keep": true}, protocol.InvalidParams)
			d.Stop()
			files, _ := filepath.Glob(filepath.Join(d.Home, "state", "browserd", "states", "*", "work.json"))
			if len(files) != 1 {
				t.Fatalf("files of states: %v", files)
			}
			if err := os.WriteFile(files[0], []byte("damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
			d = testdaemon.Start(t, o)
			c := newAgent(t, d)
			keeps["state"] = "work"
			c.refused("session_open", keeps, protocol.InvalidParams)
			if text, err := os.ReadFile(files[0]); err != nil || string(text) != "damaged" {
				t.Errorf("the file is %q now, %v", text, err)
			}
		})
	}
}

// What cannot be kept is said by session_close, and the session is closed all the same.
func TestAStateThatCannotBeKept(t *testing.T) {
	t.Parallel()
	w, _ := loginSite(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__BYTES": "100", "BROWSERD_BROWSER__DISABLED": "true"}})
	a := newAgent(t, d)
	s := a.do("session_open", params{"state": "work", "keep": true}).Session
	a.open(w.URL + "/login")
	closed := ask[struct {
		Closed bool
		Note   string
	}](a, "session_close", params{"session": s})
	if !closed.Closed || !strings.HasPrefix(closed.Note, "the state was not kept: ") {
		t.Errorf("%+v", closed)
	}
	a.refused("snapshot", params{"session": s}, protocol.SessionNotFound)
}

// A login that another tool has saved goes on here.
func TestStateImport(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.mux.HandleFunc("/page", func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, `<!doctype html><p>%s<p id=s><script>s.textContent = 'stored ' + localStorage.theme</script>`, r.Header.Get("Cookie"))
	})
	later := time.Now().Add(time.Hour).Unix()
	type imported struct {
		Name             string
		Cookies          int
		Origins, LeftOut []string
	}
	for _, c := range []struct{ name, content, text string }{
		{"storageState", fmt.Sprintf(`{"cookies": [
			{"name": "sid", "value": "42", "domain": "127.0.0.1", "path": "/", "expires": -1, "httpOnly": true, "secure": false, "sameSite": "Lax"},
			{"name": "far", "value": "7", "domain": "127.0.0.1", "path": "/", "expires": %d.5, "httpOnly": false, "secure": false, "sameSite": "Lax"},
			{"name": "elsewhere", "value": "1", "domain": ".example.test", "path": "/", "expires": -1, "httpOnly": false, "secure": true, "sameSite": "None"}],
			"origins": [{"origin": %q, "localStorage": [{"name": "theme", "value": "dark"}]}]}`, later, w.URL), "sid=42; far=7 stored dark"},
		{"cookies.txt", fmt.Sprintf("# Netscape HTTP Cookie File\n#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t42\n127.0.0.1\tFALSE\t/\tFALSE\t%d\tfar\t7\n", later), "sid=42; far=7 stored undefined"},
	} {
		a := newAgent(t, d)
		ask[imported](a, "state_import", params{"name": "taken-over", "content": c.content})
		a.do("session_open", params{"state": "taken-over"})
		a.open(w.URL + "/page")
		if got := strings.Join(strings.Fields(a.do("read", nil).Content), " "); got != c.text {
			t.Errorf("%s: the page says %q, want %q", c.name, got, c.text)
		}
	}
	a := newAgent(t, d)
	for _, c := range []struct{ content, says string }{
		{"", "content"}, {"{}", "no cookies"}, {"{", "no storageState"}, {"[]", "line 1"}, {`{"cookies": [{"name": "a"}]}`, "cookies[0]"},
		{`{"cookies": [{"name": "a", "domain": "x.test", "sameSite": "lax"}]}`, "cookies[0].sameSite"}, {`{"origins": [{"origin": "x.test", "localStorage": []}]}`, "origins[0].origin"},
		{`{"origins": [{"origin": "file:///etc", "localStorage": []}]}`, "origins[0].origin"}, {"a\tb\tc", "line 1"}, {`{"cookies": 1}`, "no storageState"},
	} {
		if e := a.refused("state_import", params{"name": "bad", "content": c.content}, protocol.InvalidParams); !strings.Contains(e.Message, c.says) {
			t.Errorf("%q: %s, want a word of %s", c.content, e.Message, c.says)
		}
	}
}
