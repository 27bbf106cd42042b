package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// counted is a server of pages whose /n counts how often it was asked.
func counted(t *testing.T) (*pageServer, *atomic.Int64) {
	t.Helper()
	w, n := newPageServer(t), &atomic.Int64{}
	w.mux.HandleFunc("GET /n", func(rw http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		rw.Write([]byte("asked"))
	})
	return w, n
}

// causeOf is the code of the step's own error.
func causeOf(e *protocol.Error) any {
	cause, _ := e.Details["cause"].(map[string]any)
	return cause["code"]
}

// The steps of a script cost what they cost otherwise, and count against the same rate.
func TestRunIsCharged(t *testing.T) {
	aboutOneProcess(t, "a ledger in a file")
	t.Parallel()
	for name, c := range map[string]struct {
		env   map[string]string
		asked int64
		code  protocol.Code
	}{
		"credits": {map[string]string{"BROWSERD_LEDGER__CREDITS": "true", "BROWSERD_LEDGER__INITIAL": "3"}, 3, protocol.CreditsExhausted},
		"a rate":  {map[string]string{"BROWSERD_LEDGER__WEB_PER_HOUR": "2"}, 2, protocol.RateLimited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, asked := counted(t)
			path := filepath.Join(t.TempDir(), "ledger.db")
			c.env["BROWSERD_LEDGER__DSN"] = path
			a := newAgent(t, testdaemon.Start(t, testdaemon.Options{Env: c.env}))
			e := a.refused("run", params{"input": params{"url": w.URL + "/n"}, "code": "for (let i = 0; i < 6; i++) await browser.http_request({url: input.url});"}, protocol.ScriptError)
			if causeOf(e) != string(c.code) || asked.Load() != c.asked || e.Details["steps"] != float64(c.asked+1) {
				t.Errorf("the cause is %v after %v steps, the site was asked %d times; want %s and %d", causeOf(e), e.Details["steps"], asked.Load(), c.code, c.asked)
			}
			// Catching the error does not help.
			a.refused("run", params{"input": params{"url": w.URL + "/n"}, "code": "for (let i = 0; i < 6; i++) try { await browser.http_request({url: input.url}); } catch {}\nawait browser.http_request({url: input.url});"}, protocol.ScriptError)
			if asked.Load() != c.asked {
				t.Errorf("the site was asked %d times", asked.Load())
			}
			inTrail(t, path, "http_request", int(c.asked+1)+7)
		})
	}
}

// The audit trail and the action log have each step, with the id of its run.
func TestRunIsRecorded(t *testing.T) {
	aboutOneProcess(t, "a ledger in a file")
	t.Parallel()
	logs, path := t.TempDir(), filepath.Join(t.TempDir(), "ledger.db")
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_ACTION_LOG__DIR": logs, "BROWSERD_LEDGER__DSN": path}})
	w, _ := counted(t)
	w.serve("/counter", page("Counter", counter+"<label>Word <input type=password></label>"), "")
	a := newAgent(t, d)
	r := a.run(params{"input": params{"url": w.URL}, "code": "await page.goto(input.url + '/counter');\nawait page.getByRole('button').click();\nawait page.getByLabel('Word').fill('" + canary + "');\nawait browser.http_request({url: input.url + '/n'});"})
	inTrail(t, path, "http_request", 1)
	files, err := filepath.Glob(filepath.Join(logs, "*", "log.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var l struct{ Command, Run string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Run == r.Run {
			of[l.Command]++
		}
	}
	if of["open"] != 1 || of["click"] != 1 || of["type"] != 1 {
		t.Errorf("of run %s the log has %v:\n%s", r.Run, of, text)
	}
	for _, e := range trailOf(t, path) {
		if e.Run != r.Run {
			t.Errorf("%s is in the trail with run %q, want %s", e.Command, e.Run, r.Run)
		}
	}
	// The script's own text may name a secret; the log of what was done does not.
	if found := filesWith(t, logs, "\"text\":\""+canary); len(found) > 0 {
		t.Errorf("a secret is in %v", found)
	}
}

// When a script has been ended, none of its steps begins any more: however it was ended,
// and whatever it was doing.
func TestNoStepBeginsAfterTheEnd(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	for name, end := range map[string]func(a *agent, id any, session string){
		"cancel":          func(a *agent, id any, _ string) { a.do("cancel", params{"id": id}) },
		"session_close":   func(a *agent, _ any, s string) { newAgent(a.t, d).do("session_close", params{"session": s}) },
		"lost connection": func(a *agent, _ any, _ string) { a.c.Close() },
		"a deadline":      nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, asked := counted(t)
			a, other := newAgent(t, d), newAgent(t, d)
			session := a.do("open", params{"url": "about:blank"}).Session
			p := params{"input": params{"url": w.URL + "/n"}, "code": "for (;;) { try { await browser.http_request({url: input.url}); } catch {} }"}
			if end == nil {
				p["timeout_ms"] = 6000
			}
			pending := a.send("run", p)
			until(t, 20*time.Second, "some steps", func() bool { return asked.Load() > 5 })
			began := time.Now()
			if end != nil {
				end(a, pending.ID, session)
			}
			if _, err := a.wait(pending); err == nil {
				t.Error("the script ended well")
			}
			took := time.Since(began)
			if end != nil && took > 2*time.Second {
				t.Errorf("it ended after %v", took)
			}
			t.Logf("ended after %v", took)
			// A client whose connection is lost has no answer to wait for: the daemon has seen
			// the end when the session takes another command.
			if name != "session_close" {
				other.do("eval", params{"session": session, "expression": "1"})
			}
			after := asked.Load()
			other.run(params{"session": other.do("session_open", nil).Session, "code": "for (let i = 0; i < 30; i++) await browser.tab_list({});"})
			if now := asked.Load(); now != after {
				t.Errorf("%d steps began afterwards", now-after)
			}
		})
	}
}
