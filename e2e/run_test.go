package e2e_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/actions/script/child"
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

	NextOffset int `json:"next_offset"`
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
	w := newPageServer(t)
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
	w := newPageServer(t)
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
	if s, _ := r.Value.(string); len(s) != 100 || !r.Truncated || r.NextOffset != 100 {
		t.Errorf("%d characters, truncated %t, next %d", len(s), r.Truncated, r.NextOffset)
	}
	r = a.run(params{"code": "return {text: 'é😀'.repeat(120), n: 7}", "max_chars": 100})
	whole, _ := r.Value.(string)
	id := r.Run
	for r.NextOffset != 0 {
		r = a.run(params{"run": id, "offset": r.NextOffset, "max_chars": 100})
		s, _ := r.Value.(string)
		whole += s
	}
	var v struct {
		Text string
		N    int
	}
	if err := json.Unmarshal([]byte(whole), &v); err != nil || v.Text != strings.Repeat("é😀", 120) || v.N != 7 || r.Truncated {
		t.Errorf("%v: %q", err, whole)
	}
	a.refused("run", params{"run": "r_nothing"}, protocol.InvalidParams)
	a.refused("run", params{"run": id, "session": a.do("session_open", params{"name": "other"}).Session}, protocol.InvalidParams)
	a.refused("run", params{"run": id, "code": "1"}, protocol.InvalidParams)
	a.refused("run", params{}, protocol.InvalidParams)
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

// Each step is an ordinary command: what the token may not do, its script may not, and an
// operator who is asked sees the script and the step.
func TestRunIsGoverned(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "click"})
	w := newPageServer(t)
	w.serve("/counter", page("Counter", counter), "")
	a, o, reader := as(t, d, ann), as(t, d, olga), as(t, d, bob)
	const code = "const {nodes: [b]} = await browser.find({role: 'button'});\nawait browser.click(b.ref);\nreturn 'pressed';"
	first := a.do("open", params{"url": w.URL + "/counter"}).Session
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
	a.do("session_open", params{"name": "another"})
	for code, want := range map[string]string{
		"await browser.snapshot({session: 'another'})": "acts in its own session", "await browser.open({url: 'http://10.0.0.1/'})": "policy_denied", "await browser.open('file:///etc/passwd')": "policy_denied",
		"await browser.session_open({})": "not a function", "await browser.batch({commands: [{method: 'tab_list'}]})": "not a function", "await browser.run('return 1')": "not a function",
		"await browser.cancel({id: 1})": "not a function", "await fetch('" + w.URL + "')": "not defined", "require('fs')": "no module fs", "await import('fs')": "no module",
	} {
		e := a.refused("run", params{"session": first, "code": code}, protocol.ScriptError)
		if said := e.Message + detailsOf(e); !strings.Contains(said, want) {
			t.Errorf("%s: %s, want %s", code, said, want)
		}
	}
	// An operator's script answers no question.
	p := a.send("click", params{"session": first, "ref": "role=button"})
	q := o.asked()
	for q["command"] != "click" { // that of 10.0.0.1 comes first
		q = o.asked()
	}
	if e := o.refused("run", params{"code": "await browser.confirm({id: input, allow: true})", "input": q["id"]}, protocol.ScriptError); !strings.Contains(e.Message, "not a function") {
		t.Errorf("confirm in a script: %s %v", e.Message, e.Details)
	}
	o.do("confirm", params{"id": q["id"], "allow": false})
	if _, err := a.wait(p); protocol.CodeOf(err) != protocol.ConfirmationDenied {
		t.Errorf("a click that was denied after a script's yes: %v", err)
	}
	narrow := a.do("session_open", params{"allowed_domains": []string{"127.0.0.1"}}).Session
	to := "http://localhost" + w.URL[strings.LastIndexByte(w.URL, ':'):] + "/counter"
	for _, code := range []string{"await page.goto(input)", "await browser.http_request({url: input})", "await browser.tab_new({url: input})"} {
		code = strings.ReplaceAll(code, "input", strconv.Quote(to))
		e := a.refused("run", params{"session": narrow, "code": code}, protocol.ScriptError)
		if cause, _ := e.Details["cause"].(map[string]any); cause["code"] != "policy_denied" {
			t.Errorf("allowed_domains: %s: %v", code, e.Details)
		}
	}
}

// One token runs scripts.per_token scripts at once; the error of a further one says what to do,
// and another token's script runs.
func TestScriptsAtOnceAreLimited(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_SCRIPTS__PER_TOKEN": "1"})
	first, second, other := as(t, d, ann), as(t, d, ann), as(t, d, olga)
	w, asked := counted(t)
	pending := first.send("run", params{"input": params{"url": w.URL}, "code": "await browser.http_request({url: input.url + '/n'});\nawait page.waitForTimeout(60000);"})
	until(t, 20*time.Second, "the script to begin", func() bool { return asked.Load() > 0 })
	e := second.refused("run", params{"code": "return 1"}, protocol.RateLimited)
	if e.Details["quota"] != "scripts.per_token" || e.Details["limit"] != 1.0 || !strings.Contains(e.Next, "cancel") {
		t.Errorf("%v %v %s", e, e.Details, e.Next)
	}
	other.run(params{"code": "return 1"})
	first.do("cancel", params{"id": pending.ID})
	first.wait(pending)
	second.run(params{"code": "return 1"})
}
