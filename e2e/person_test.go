package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
)

// tee is a proxy in front of a daemon that keeps what passes in both directions: all
// that the agent's side of the protocol says.
type tee struct {
	addr string
	mu   sync.Mutex
	all  bytes.Buffer
}

func record(t *testing.T, to func() string) *tee {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	w := &tee{addr: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", to())
			if err != nil {
				c.Close()
				return
			}
			pass := func(dst, src net.Conn) {
				io.Copy(io.MultiWriter(dst, w), src)
				dst.Close()
			}
			go pass(c, up)
			go pass(up, c)
		}
	}()
	return w
}

func (w *tee) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.Write(b)
}

const (
	personsPassword = "kingfisher-tortoise-77"
	personsKey      = "JBSWY3DPEHPK3PXP"
)

// bank is a site with a password and a one-time code. Its fields stand at fixed places.
func bank(t *testing.T) (w *pageServer, typed *atomic.Int64) {
	w, typed = newPageServer(t), new(atomic.Int64)
	var mu sync.Mutex
	var last float64
	w.mux.HandleFunc("POST /typed/{n}/{at}", func(_ http.ResponseWriter, r *http.Request) { // how much the field that changed last holds
		n, _ := strconv.Atoi(r.PathValue("n"))
		at, _ := strconv.ParseFloat(r.PathValue("at"), 64)
		mu.Lock()
		defer mu.Unlock()
		if at >= last { // a beacon may overtake the one before it
			last = at
			typed.Store(int64(n))
		}
	})
	const style = `<!doctype html><meta charset=utf-8><title>Bank</title><style>body{margin:0;font:16px sans-serif}h1{position:absolute;left:40px;top:0}
		input,button{position:absolute;left:40px;width:300px;height:40px;font:inherit}#one{top:100px}#two{top:160px}button{top:220px}</style>`
	form := func(rw http.ResponseWriter, fields, action string) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(rw, `%s<h1>Bank</h1><form method=post action=%s>%s<button>Go on</button></form><script>
			for (const i of document.querySelectorAll('input')) i.addEventListener('input', () => { navigator.sendBeacon('/typed/' + i.value.length + '/' + (performance.timeOrigin + performance.now())); });</script>`, style, action, fields)
	}
	w.mux.HandleFunc("GET /login", func(rw http.ResponseWriter, r *http.Request) {
		form(rw, `<input id=one name=user aria-label="User name"><input id=two name=password type=password aria-label="Password">`, "/login")
	})
	w.mux.HandleFunc("POST /login", func(rw http.ResponseWriter, r *http.Request) {
		if r.FormValue("user") != "ann" || r.FormValue("password") != personsPassword {
			http.Error(rw, "wrong: "+r.FormValue("user"), http.StatusForbidden)
			return
		}
		form(rw, `<input id=one name=digits aria-label="Digits from your phone">`, "/code")
	})
	w.mux.HandleFunc("POST /code", func(rw http.ResponseWriter, r *http.Request) {
		if !totp.Validate(r.FormValue("digits"), personsKey) {
			http.Error(rw, "wrong code", http.StatusForbidden)
			return
		}
		http.SetCookie(rw, &http.Cookie{Name: "in", Value: "yes", Path: "/"})
		http.Redirect(rw, r, "/account", http.StatusSeeOther)
	})
	w.mux.HandleFunc("GET /account", func(rw http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("in"); err != nil {
			http.Redirect(rw, r, "/login", http.StatusSeeOther)
			return
		}
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(rw, style+`<h1>Welcome, ann</h1><a href="/account?month=10" style="position:absolute;top:100px;left:40px">October</a>`)
	})
	return w, typed
}

// desk is a person at a browser: real Chromium, in which they open links, click and type.
type desk struct {
	*agent
	t *testing.T
}

func newDesk(t *testing.T) desk {
	d := testdaemon.Start(t, testdaemon.Options{})
	p := desk{newAgent(t, d), t}
	p.do("session_open", params{"name": "desk", "viewport": params{"width": 1400, "height": 1000}})
	return p
}

// presses presses a button of the view.
func (p desk) button(name string) {
	p.t.Helper()
	p.do("click", params{"ref": fmt.Sprintf("role=button[name=%q]", name), "snapshot": "none"})
}

// shows waits until an expression is true in the view's page.
func (p desk) shows(expression string) {
	p.t.Helper()
	p.do("wait", params{"expression": expression, "timeout_ms": 20000})
}

// at clicks a point of the page in the live picture.
func (p desk) at(x, y float64) {
	p.t.Helper()
	r := p.do("eval", params{"expression": fmt.Sprintf(`(() => { const r = document.querySelector('#live canvas').getBoundingClientRect(); return [r.left + %v * r.width / 1280, r.top + %v * r.width / 1280] })()`, x, y)})
	place := r.Value.([]any)
	p.do("mouse", params{"action": "click", "x": place[0], "y": place[1], "snapshot": "none"})
}

func (p desk) types(text string) {
	p.t.Helper()
	for _, c := range text {
		p.do("press", params{"key": string(c), "snapshot": "none"})
	}
}

// holding lists the files below a directory that hold one of the words.
func holding(t *testing.T, dir string, words ...string) []string {
	var found []string
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if text, err := os.ReadFile(path); err == nil {
			for _, word := range words {
				if bytes.Contains(text, []byte(word)) {
					found = append(found, path)
				}
			}
		}
		return nil
	})
	return found
}

// An agent meets a login that it has no password for. A person opens the link in a browser,
// takes over, logs in with password and one-time code, and hands back; the agent goes on
// logged in. Nothing on the daemon's machine, and nothing that the agent was ever sent,
// holds what the person typed.
func TestAPersonLogsIn(t *testing.T) {
	t.Parallel()
	addr := make(chan string, 1) // one address
	tee := record(t, sync.OnceValue(func() string { return <-addr }))
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_SERVER__ALLOWED_HOSTS": tee.addr,
		"BROWSERD_LOG__LEVEL":            "debug", "BROWSERD_ACTION_LOG__PICTURES": "true", "BROWSERD_ACTION_LOG__DIR": filepath.Join(t.TempDir(), "actions"),
	}})
	addr <- d.Addr
	logs := ""
	for _, v := range d.Environ() {
		if dir, ok := strings.CutPrefix(v, "BROWSERD_ACTION_LOG__DIR="); ok {
			logs = dir
		}
	}
	w, typed := bank(t)
	holds := func(n int) {
		t.Helper()
		for began := time.Now(); typed.Load() != int64(n); time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > 20*time.Second {
				t.Fatalf("the field holds %d characters, want %d", typed.Load(), n)
			}
		}
	}
	c, err := client.Dial(t.Context(), "ws://"+tee.addr+"/v1/ws", d.Token)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a := &agent{t: t, c: c}
	ask[struct{}](a, "subscribe", params{"events": []string{"navigated", "dialog", "console_error", "handoff", "command", "download"}})
	a.do("session_open", params{"name": "bank"})
	a.do("open", params{"url": w.URL + "/account"})
	asked := a.handsOff(params{"reason": "please log in", "minutes": 5})

	p := newDesk(t)
	p.open(asked.URL)
	p.shows(`document.body.innerText.includes("please log in")`)
	p.shows(`document.querySelector('#live canvas')?.dataset.frames > 0`)
	p.button("Take over")
	p.shows(`document.querySelector('#live.driven #keys')`)
	pending := a.send("handoff", params{"wait_ms": 100000, "timeout_ms": 120000})
	p.at(100, 120)
	p.types("ann")
	holds(3)
	p.do("press", params{"key": "Tab", "snapshot": "none"})
	p.types(personsPassword)
	holds(len(personsPassword))
	p.do("press", params{"key": "Enter", "snapshot": "none"})
	p.shows(`document.querySelector('.lines')?.textContent.includes("Digits from your phone")`)
	digits, err := totp.GenerateCode(personsKey, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	p.at(100, 120)
	p.types(digits)
	holds(6)
	p.do("press", params{"key": "Enter", "snapshot": "none"})
	p.shows(`document.querySelector('.lines')?.textContent.includes("Welcome, ann")`)
	p.button("Done")

	back, err := a.wait(pending)
	if err != nil {
		t.Fatal(err)
	}
	if back.Snapshot == nil || !strings.Contains(back.Snapshot.Text, "Welcome, ann") {
		t.Errorf("the agent gets %+v", back)
	}
	a.do("click", params{"ref": "text=October"})
	a.do("network", nil)
	ask[map[string]any](a, "network", params{"format": "har", "body": true})
	a.do("console", nil)
	a.do("eval", params{"expression": "document.cookie"}) // the document into which the person typed has been left

	tee.mu.Lock()
	all := tee.all.String()
	tee.mu.Unlock()
	for _, word := range []string{personsPassword, `"` + digits + `"`, "digits=" + digits, "tortoise"} {
		if i := strings.Index(all, word); i >= 0 {
			t.Errorf("the agent's connection holds %q: …%.80q", word, all[max(0, i-40):])
		}
	}
	// Trail, log, state, profiles, action log with its pictures, while all of it runs.
	for _, dir := range []string{d.Home, logs} {
		if found := holding(t, dir, personsPassword, "tortoise"); len(found) > 0 {
			t.Errorf("the password is in %v", found)
		}
	}
	d.Stop()
	for _, dir := range []string{d.Home, logs} {
		if found := holding(t, dir, personsPassword, "tortoise", `"`+digits+`"`); len(found) > 0 {
			t.Errorf("after the end the password is in %v", found)
		}
	}
}
