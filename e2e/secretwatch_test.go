package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// overheard is what is told to those who listen while a secret is used: to a view, or a connection that
// subscribes to everything.
type overheard struct {
	mu     sync.Mutex
	text   bytes.Buffer
	frames int
}

func (o *overheard) write(text []byte) { o.mu.Lock(); o.text.Write(append(text, '\n')); o.mu.Unlock() }

// has waits until it has been told that.
func (o *overheard) has(t *testing.T, what string) { t.Helper(); o.asks(t, what, func() {}) }

// asks asks until it has been told that.
func (o *overheard) asks(t *testing.T, what string, ask func()) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(300 * time.Millisecond) {
		ask()
		o.mu.Lock()
		there := strings.Contains(o.text.String(), what)
		o.mu.Unlock()
		if there {
			return
		}
		if time.Now().After(end) {
			o.mu.Lock()
			defer o.mu.Unlock()
			text := o.text.String()
			t.Fatalf("nobody was told of %q: %s", what, text[max(0, len(text)-3000):])
		}
	}
}

// leaksNothing fails if the password was told.
func (o *overheard) leaksNothing(t *testing.T, who string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if found := leaks(o.text.Bytes()); found != nil || !strings.Contains(o.text.String(), maskedValue) {
		t.Errorf("%s was told the password (%v), or nothing: %.3000s", who, found, o.text.String())
	}
}

// listens subscribes to every event of every session of the agent's.
func listens(t *testing.T, d *testdaemon.Daemon) *overheard {
	o, b := &overheard{}, newAgent(t, d)
	ask[struct{}](b, "subscribe", params{"events": protocol.EventTypes, "sessions": "all"})
	go func() {
		for {
			e, err := b.c.Event(context.WithoutCancel(t.Context()), func(protocol.Event) bool { return true })
			if err != nil {
				return
			}
			if text, err := json.Marshal(e.Fields); err == nil {
				o.write(text)
			}
		}
	}()
	return o
}

// watches looks at a session in a view: its cards, its picture, the lines beside it. look asks for the page, and
// for the lines until they say what.
func watches(t *testing.T, d *testdaemon.Daemon, link, session string) (o *overheard, look func(what string)) {
	o = &overheard{}
	v := opens(t, d, strings.TrimSpace(link))
	c, _ := v.dials()
	var mu sync.Mutex
	say := func(m map[string]any) { mu.Lock(); defer mu.Unlock(); c.WriteJSON(m) }
	say(map[string]any{"t": "watch", "id": 1, "agent": "default", "session": session, "whole": true})
	go func() {
		for {
			kind, data, err := c.ReadMessage()
			if err != nil {
				return
			}
			if kind == websocket.BinaryMessage {
				o.mu.Lock()
				o.frames++
				o.mu.Unlock()
				say(map[string]any{"t": "ack", "id": 1})
				continue
			}
			o.write(data)
		}
	}()
	return o, func(what string) {
		t.Helper()
		o.write([]byte(v.sees()))
		o.asks(t, what, func() { say(map[string]any{"t": "snapshot", "id": 1}) })
	}
}

// recordedNothing reads a session's trace and video, and fails if they have the password.
func recordedNothing(t *testing.T, d *testdaemon.Daemon, session string) {
	t.Helper()
	for _, name := range []string{session + "-1.zip", session + "-1.webm"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+"/v1/recordings/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+d.Token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", name, resp.Status, err)
		}
		files := map[string]string{name: string(content)}
		if strings.HasSuffix(name, ".zip") {
			files = unzipped(t, content)
		}
		masked := 0
		for file, text := range files {
			if found := leaks([]byte(text)); found != nil {
				t.Errorf("%s of %s has the password (%v)", file, name, found)
			}
			masked += strings.Count(text, maskedValue)
		}
		if masked == 0 {
			t.Errorf("%s tells nothing of what was masked", name)
		}
	}
}

// leavesNoMemory fails if a crash of the daemon, of a process below it, or of one that runs a script would
// leave its memory on disk.
func leavesNoMemory(t *testing.T, d *testdaemon.Daemon, a *agent) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	before := len(testdaemon.Descendants(d.PID))
	a.do("session_open", params{"name": "crash", "source": "http"})
	pending := a.send("run", params{"code": "while (true) {}", "session": "crash", "timeout_ms": 15000})
	var all []testdaemon.Process
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		all = append(testdaemon.Descendants(d.PID), testdaemon.Process{PID: d.PID})
		if scripts := 0; len(all) > before+1 {
			for _, p := range all {
				if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID)); err == nil && strings.Contains(string(line), "browserd") && p.PID != d.PID {
					scripts++
				}
			}
			if scripts > 0 {
				break
			}
		}
		if time.Now().After(end) {
			t.Fatal("no process runs the script")
		}
	}
	for _, p := range all {
		limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.PID))
		if (err == nil || p.Alive()) && !coreLimit.Match(limits) {
			t.Errorf("a crash of %s would leave its memory: %v %s", p, err, limits)
		}
	}
	a.wait(pending)
}

// Who watches a session by a link that an agent asked for sees its page as the agent does: while the page shows
// a secret in its text there is no picture of it. The daemon's own user, who has set the secret, sees all.
func TestNoPictureOfASecretInAnAgentsView(t *testing.T) {
	t.Parallel()
	w, _ := waysPages(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests"}})
	secretSetter(t, d)(password, "shop", "--origin", w.URL)
	a := newAgent(t, d)
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"url": w.URL + "/form"})
	a.do("fill", params{"fields": []params{{"ref": "label=Password", "value": "{{secret:shop}}"}}})
	spied, _ := watches(t, d, ask[struct{ URL string }](a, "view", nil).URL, "shop")
	frames := func(o *overheard) int { o.mu.Lock(); defer o.mu.Unlock(); return o.frames }
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("waited in vain: %s", what)
			}
		}
	}
	until("the field of dots is seen", func() bool { return frames(spied) > 0 })
	a.do("open", params{"url": w.URL + "/said"})
	link, err := d.Command("view", "--print")
	if err != nil {
		t.Fatal(err)
	}
	owner, _ := watches(t, d, link, "shop")
	until("the daemon's user sees it", func() bool { return frames(owner) > 0 })
	spied.has(t, "The page shows a secret")
	before := frames(spied)
	a.do("eval", params{"expression": "document.body.style.background = 'pink'"})
	seen := frames(owner)
	until("the daemon's user sees more", func() bool { return frames(owner) > seen })
	time.Sleep(time.Second) // nothing tells that nothing comes
	if got := frames(spied); got != before {
		t.Errorf("the agent's view has %d pictures more", got-before)
	}
	// The tab that is watched is asked, and not the one that is selected.
	a.do("tab_new", nil)
	beside, _ := watches(t, d, ask[struct{ URL string }](a, "view", nil).URL, "shop")
	until("the agent's view of another tab sees it", func() bool { return frames(beside) > 0 })
	time.Sleep(2500 * time.Millisecond) // nothing tells that nothing comes
	if got := frames(spied); got != before {
		t.Errorf("the agent's view has %d pictures more of a tab that is not selected", got-before)
	}
	a.do("tab_close", nil)
	a.do("eval", params{"expression": "document.body.textContent = 'Gone'"})
	until("the agent's view sees what follows", func() bool { return frames(spied) > before })
}
