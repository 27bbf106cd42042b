package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/actions/script/child"
	socket "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// ran is the answer of run.
type ran struct {
	result
	Run       string   `json:"run"`
	Logs      []string `json:"logs"`
	Steps     int      `json:"steps"`
	Truncated bool     `json:"truncated"`
}

// run runs a script that must end well.
func (a *agent) run(p params) ran {
	a.t.Helper()
	var r ran
	if err := a.c.Call(a.t.Context(), "run", p, &r); err != nil {
		a.t.Fatalf("%v: %s", err, detailsOf(err))
	}
	return r
}

func detailsOf(err error) string {
	if e := (*protocol.Error)(nil); errors.As(err, &e) {
		text, _ := json.Marshal(e.Details)
		return string(text)
	}
	return ""
}

const counter = `<button onclick="n.textContent = +n.textContent + 1">More</button><p>Count: <output id=n>0</output></p>`

// A script is one action: its value, its log, one effect and one delta against what the
// client was shown before it, whatever the script looked at itself.
func TestRunIsOneAction(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newWitness(t)
	w.serve("/counter", page("Counter", counter), "")
	a := newAgent(t, d)
	a.do("open", params{"url": w.URL + "/counter"})
	r := a.run(params{"input": params{"times": 3}, "code": `
const {nodes: [button]} = await browser.find({role: "button"});
for (let i = 0; i < input.times; i++) await browser.click(button.ref);
await browser.snapshot();
console.log("pressed", input.times);
return (await browser.read({kind: "text"})).content.split("\n").pop();`})
	if r.Value != "Count: 3" || len(r.Logs) != 1 || r.Logs[0] != "pressed 3" || r.Steps != 6 || r.Run == "" {
		t.Errorf("%+v", r)
	}
	if r.Effect == nil || !r.Effect.Changed || r.Delta == nil || r.Delta.Text == "" {
		t.Errorf("effect %+v, delta %+v", r.Effect, r.Delta)
	}
	if d := a.do("snapshot", params{"delta": true}); d.Delta == nil || d.Delta.Text != "" {
		t.Errorf("afterwards the client still lacks %+v", d.Delta)
	}
}

// An error names the line, the step and what it came to, and shows the page as it is.
func TestRunErrors(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newWitness(t)
	w.serve("/counter", page("Counter", counter), "")
	a := newAgent(t, d)
	a.do("open", params{"url": w.URL + "/counter"})
	e := a.refused("run", params{"code": "const r = await browser.find({role: 'button'});\nawait browser.click(r.nodes[0].ref);\nawait browser.click('@e999');"}, protocol.ScriptError)
	cause, _ := e.Details["cause"].(map[string]any)
	step, _ := e.Details["step"].(map[string]any)
	if e.Details["line"] != 3.0 || cause["code"] != "unknown_ref" || step["number"] != 3.0 || step["command"] != "click" || e.Details["delta"] == nil {
		t.Errorf("%+v", e.Details)
	}
	e = a.refused("run", params{"code": "throw new Error('no such order')"}, protocol.ScriptError)
	if e.Message != "no such order" || e.Details["line"] != 1.0 || e.Details["cause"] != nil {
		t.Errorf("%s %+v", e.Message, e.Details)
	}
}

// What a script says at length is cut, with a way to get the rest.
func TestRunCutsItsValue(t *testing.T) {
	t.Parallel()
	a := newAgent(t, sharedDaemon(t))
	r := a.run(params{"code": "return 'x'.repeat(1000)", "max_chars": 100})
	if s, _ := r.Value.(string); len(s) != 100 || !r.Truncated {
		t.Errorf("%d characters, truncated %t", len(s), r.Truncated)
	}
}

// cancel and a closed session end a script that computes for ever, at once.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_SCRIPTS__CPU": "30s"}})
	w := newWitness(t)
	w.serve("/counter", page("Counter", counter), "")
	for name, end := range map[string]func(a *agent, p *socket.Pending, session string){
		"cancel": func(a *agent, p *socket.Pending, _ string) { a.do("cancel", params{"id": p.ID}) },
		"session_close": func(a *agent, _ *socket.Pending, s string) {
			newAgent(a.t, d).do("session_close", params{"session": s})
		},
		"lost connection": func(a *agent, _ *socket.Pending, _ string) { a.c.Close() },
		"kill -9":         func(_ *agent, _ *socket.Pending, _ string) { killScripts(d) },
	} {
		a := newAgent(t, d)
		session := a.do("open", params{"url": w.URL + "/counter"}).Session
		p := a.send("run", params{"code": "const {nodes: [b]} = await browser.find({role: 'button'});\nawait browser.click(b.ref);\nfor(;;);"})
		until(t, 20*time.Second, "the script to compute", func() bool { return computing(d) })
		began := time.Now()
		end(a, p, session)
		if _, err := a.wait(p); err == nil || time.Since(began) > 2*time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(began))
		}
		t.Logf("%s: %v", name, time.Since(began))
		until(t, 10*time.Second, "the script's process to end", func() bool { return !computing(d) })
	}
}

// scripts are the daemon's processes of scripts.
func scripts(d *testdaemon.Daemon) []testdaemon.Process {
	var found []testdaemon.Process
	for _, p := range testdaemon.Descendants(d.PID) {
		if args := p.Args(); len(args) > 0 && args[0] == child.Name {
			found = append(found, p)
		}
	}
	return found
}

func killScripts(d *testdaemon.Daemon) {
	for _, p := range scripts(d) {
		p.Kill()
	}
}

// computing says whether a script of the daemon has used more than a second of processor time.
func computing(d *testdaemon.Daemon) bool {
	for _, p := range scripts(d) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
		if err != nil {
			continue
		}
		words := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if ticks, _ := strconv.Atoi(words[11]); ticks > 100 { // utime, proc_pid_stat(5)
			return true
		}
	}
	return false
}

// Each step is an ordinary command: what the token may not do, its script may not, and an
// operator who is asked sees the script and the step.
func TestRunIsGoverned(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "click"})
	w := newWitness(t)
	w.serve("/counter", page("Counter", counter), "")
	a, o, reader := as(t, d, ann), as(t, d, olga), as(t, d, bob)
	const code = "const {nodes: [b]} = await browser.find({role: 'button'});\nawait browser.click(b.ref);\nreturn 'pressed';"
	a.do("open", params{"url": w.URL + "/counter"})
	for _, allow := range []bool{true, false} {
		p := a.send("run", params{"code": code})
		q := o.asked()
		s, _ := q["script"].(map[string]any)
		if q["command"] != "click" || q["name"] != "More" || s["code"] != code || s["step"] != 2.0 || s["line"] != 2.0 {
			t.Errorf("the operator is asked %v", q)
		}
		o.do("confirm", params{"id": q["id"], "allow": allow})
		r, err := a.wait(p)
		if allow && (err != nil || r.Value != "pressed") {
			t.Errorf("allowed: %v %v", r.Value, err)
		}
		if !allow && (protocol.CodeOf(err) != protocol.ScriptError || !strings.Contains(detailsOf(err), "confirmation_denied")) {
			t.Errorf("denied: %v %s", err, detailsOf(err))
		}
	}
	reader.do("open", params{"url": w.URL + "/counter"})
	e := reader.refused("run", params{"code": code}, protocol.ScriptError)
	if cause, _ := e.Details["cause"].(map[string]any); cause["code"] != "policy_denied" {
		t.Errorf("read_only: %v", e.Details)
	}
	for _, code := range []string{
		"await browser.snapshot({session: 'another'})", "await browser.open({url: 'http://10.0.0.1/'})", "await browser.open('file:///etc/passwd')",
		"await browser.session_open({})", "await browser.batch({commands: []})", "await browser.run('1')", "await fetch('" + w.URL + "')", "require('fs')", "await import('fs')",
	} {
		a.refused("run", params{"code": code}, protocol.ScriptError)
	}
}
