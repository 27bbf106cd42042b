package e2e_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// endsWithin is what is promised of a script that is ended. On a machine that does other
// things too, one of endTries must keep it; all must end before endLimit, which tells a slow
// end from none.
const (
	endsWithin = 200 * time.Millisecond
	endTries   = 8
	endLimit   = 20 * time.Second
)

// doing is what a script is in the middle of when it is ended.
type doing struct {
	code string
	// asks: an operator is asked; computes: its process uses the processor.
	asks, computes bool
}

// cancel, a closed session, a lost connection and kill -9 end a script at once, whatever it is
// in the middle of: its process is gone, and its session takes the next command.
func TestAScriptEndsAtOnce(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{
		"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "click", "BROWSERD_SCRIPTS__CPU": "30s",
	})
	w, asked := counted(t)
	w.serve("/counter", page("Counter", counter), "")
	w.mux.HandleFunc("GET /silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	as(t, d, ann).run(params{"code": "return 1"}) // from now on one process is ready
	for what, c := range map[string]doing{
		"a loop":                    {code: "for (;;);", computes: true},
		"a loop that catches":       {code: "for (;;) { try { for (;;); } catch {} }", computes: true},
		"a regular expression":      {code: "/^(a+)+$/.test('a'.repeat(60) + '!');", computes: true},
		"steps without end":         {code: "for (;;) await browser.tab_list({});"},
		"a wait of a command":       {code: "await browser.wait({text: 'never said', timeout_ms: 60000});"},
		"a confirmation":            {code: "await page.getByRole('button').click();", asks: true},
		"an action that waits":      {code: "await page.getByRole('button', {name: 'None'}).hover({timeout: 60000});"},
		"page.waitForTimeout":       {code: "await page.waitForTimeout(60000);"},
		"page.waitForEvent":         {code: "await page.waitForEvent('popup', {timeout: 60000});"},
		"page.waitForURL":           {code: "await page.waitForURL('**/nowhere', {timeout: 60000});"},
		"page.waitForFunction":      {code: "await page.waitForFunction('window.never', null, {timeout: 60000});"},
		"a locator's waitFor":       {code: "await page.getByText('never said').waitFor({timeout: 60000});"},
		"an expectation that waits": {code: "await expect(page.getByText('never said')).toBeVisible({timeout: 60000});"},
		"a timer":                   {code: "await new Promise((done) => setTimeout(done, 60000));"},
		"a slow site's answer":      {code: "await browser.http_request({url: input.url + '/silent', timeout_ms: 60000});"},
		"a page that does not load": {code: "await page.goto(input.url + '/silent', {timeout: 60000});"},
		"a promise of the page":     {code: "await page.evaluate(() => new Promise(() => {}));"},
	} {
		for _, how := range []string{"cancel", "session_close", "lost connection", "kill -9"} {
			t.Run(how+" in "+what, func(t *testing.T) {
				best := endLimit
				for try := 0; try < endTries && best > endsWithin; try++ {
					best = min(best, c.end(t, d, w.URL, asked, how))
				}
				t.Logf("%v", best.Round(100*time.Microsecond))
				if best > endsWithin {
					t.Errorf("it went on for %v, at best", best)
				}
			})
		}
	}
}

// end runs the script, ends it, and returns how long it went on.
func (c doing) end(t *testing.T, d *testdaemon.Daemon, url string, asked *atomic.Int64, how string) time.Duration {
	t.Helper()
	a, other := as(t, d, ann), as(t, d, ann)
	session := a.do("open", params{"url": url + "/counter"}).Session
	var process testdaemon.Process
	until(t, time.Minute, "a process that is ready", func() bool {
		all := scripts(d)
		if len(all) == 1 {
			process = all[0]
		}
		return len(all) == 1
	})
	used, before := process.CPU(), asked.Load()
	o := as(t, d, olga)
	pending := a.send("run", params{"session": session, "input": params{"url": url}, "timeout_ms": 60000, "code": "await browser.http_request({url: input.url + '/n'});\n" + c.code})
	until(t, time.Minute, "the script to begin", func() bool { return asked.Load() > before })
	if c.asks {
		o.asked()
	}
	until(t, 20*time.Second, "the script to compute", func() bool { return !c.computes || process.CPU()-used > 100*time.Millisecond })

	began := time.Now()
	switch how {
	case "cancel":
		a.do("cancel", params{"id": pending.ID})
	case "session_close":
		other.send("session_close", params{"session": session})
	case "lost connection":
		a.c.Close()
	case "kill -9":
		process.Kill()
	}
	if _, err := a.wait(pending); err == nil {
		t.Error("the script ended well")
	}
	for process.Alive() && time.Since(began) < endLimit {
		time.Sleep(time.Millisecond)
	}
	if how != "session_close" {
		other.do("tab_list", params{"session": session})
	}
	took := time.Since(began)
	if took > endLimit {
		t.Fatalf("the script went on for %v", took)
	}
	if how != "session_close" {
		other.do("session_close", params{"session": session})
	}
	return took
}

// A process that is stopped because it has computed too much ends when the daemon is killed.
func TestAStoppedScriptDoesNotOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_SCRIPTS__CPU": "30s"})
	for range 3 {
		as(t, d, ann).send("run", params{"code": "for (;;);", "timeout_ms": 100000})
	}
	until(t, 30*time.Second, "a script that is stopped", func() bool {
		for _, p := range scripts(d) {
			if p.State() == "T" {
				return true
			}
		}
		return false
	})
	all := scripts(d)
	d.Kill()
	if left := testdaemon.AwaitGone(all, 10*time.Second); len(left) > 0 {
		t.Errorf("still there: %v", left)
		for _, p := range left {
			p.Kill()
		}
	}
}
