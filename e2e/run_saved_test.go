package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sue is the token of an agent beside ann.
const sue = "token-of-sue-0123456789"

// orders is a shop that counts what it is sent. form is the page at /form and /moved.
type orders struct {
	*httptest.Server
	mu    sync.Mutex
	form  string
	posts []string
}

const orderForm = `<h1>Order</h1><form method=post action=/order>
<label>Name <input name=name></label> <label>Password <input name=pw type=password></label>
<button type=button onclick="more.hidden=false">Options</button><p id=more hidden><label><input type=checkbox name=gift> Gift</label></p>
<a href="#a" onclick="picked.value='Milk'">Milk</a> <a href="#b" onclick="picked.value='Bread'">Bread</a> <input type=hidden name=picked id=picked>
<button id=send>Send</button></form>`

func newOrders(t *testing.T) *orders {
	o := &orders{form: orderForm}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch {
		case r.URL.Path == "/slow":
			o.mu.Unlock()
			time.Sleep(2500 * time.Millisecond) // the time that the page waits is what is tested
			o.mu.Lock()
		case r.Method == http.MethodPost:
			r.ParseForm()
			o.posts = append(o.posts, strings.Trim(r.PostForm.Get("name")+" "+r.PostForm.Get("picked"), " "))
			io.WriteString(w, "<!doctype html><title>Sent</title><p id=sent>Thank you, "+r.PostForm.Get("name"))
		case strings.HasPrefix(r.URL.Path, "/list/"):
			var n int
			fmt.Sscan(r.URL.Query().Get("page"), &n)
			io.WriteString(w, fmt.Sprintf("<!doctype html><title>List</title><button onclick=\"fetch('/add', {method: 'POST'})\">Add %d</button>", n))
			if n < 4 {
				io.WriteString(w, fmt.Sprintf("<a href='?page=%d'>Next</a>", n+1))
			}
		default:
			io.WriteString(w, page("Order", o.form))
		}
	}))
	t.Cleanup(o.Close)
	return o
}

func (o *orders) serve(form string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.form, o.posts = form, nil
}

func (o *orders) sent() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string{}, o.posts...)
}

const orderScript = `await page.goto(input.url + '/form');
await page.getByLabel('Name').fill(input.name);
await page.getByLabel('Password').fill('typed-by-the-script'.toUpperCase());
await page.getByRole('link', { name: input.item }).click();
if (input.gift) {
  await page.getByRole('button', { name: 'Options' }).click();
  await page.getByLabel('Gift').check();
}
await page.locator('#send').click();
return page.textContent('#sent');`

// toldWithin is how soon a replay stops on a page that is another one and rests.
const toldWithin = 4 * time.Second

// A script that is saved runs again by its name with another input; one that finds another page
// stops before it acts on it, says what differs, and nothing is sent.
func TestRunSavedStopsOnAnotherPage(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	o := newOrders(t)
	a := newAgent(t, d)
	in := func(more params) params {
		p := params{"url": o.URL, "name": "Ann", "item": "Milk"}
		for k, v := range more {
			p[k] = v
		}
		return p
	}
	r := ask[struct{ Saved, Note string }](a, "run", params{"save": "stops", "code": orderScript, "input": in(params{"gift": true})})
	if r.Saved != "stops" || r.Note != "" {
		t.Fatalf("%+v", r)
	}
	replaced := func(old, now string) string {
		if !strings.Contains(orderForm, old) {
			t.Fatalf("%s is not in the page", old)
		}
		return strings.Replace(orderForm, old, now, 1)
	}
	for name, c := range map[string]struct {
		form  string
		input params
		sent  string   // what the shop gets; empty: the replay stops
		diff  []string // the beginnings of the difference's lines
	}{
		"the same":                {orderForm, params{"gift": true}, "Ann Milk", nil},
		"another input":           {orderForm, params{"name": "Bo Bread", "item": "Bread"}, "Bo Bread Bread", nil},
		"a new text and link":     {orderForm + "<p>New</p><a href=/>News</a>", nil, "Ann Milk", nil},
		"a moved control":         {`<button form=f id=send>Send</button>` + strings.NewReplacer("<form", "<form id=f", "<button id=send>Send</button>", "").Replace(orderForm), nil, "Ann Milk", nil},
		"a renamed button":        {replaced(">Send<", ">Delete the account<"), nil, "", []string{`- [button] "Send"`, `+ @e* [button] "Delete the account"`}},
		"a button late":           {replaced("<button id=send>Send</button>", "<span id=late></span><script>setTimeout(() => late.outerHTML = '<button id=send>Send</button>', 700)</script>"), nil, "Ann Milk", nil},
		"a button with an answer": {replaced("<button id=send>Send</button>", "<span id=late></span><script>fetch('/slow').then(() => late.outerHTML = '<button id=send>Send</button>')</script>"), nil, "Ann Milk", nil},
		"a page that changes":     {replaced("<button id=send>Send</button>", "<span id=late></span><p id=n></p><script>let i = 0, t = setInterval(() => { n.textContent = ++i; if (i == 25) { clearInterval(t); late.outerHTML = '<button id=send>Send</button>' } }, 100)</script>"), nil, "Ann Milk", nil},
		"a missing control":       {replaced("<button id=send>Send</button>", ""), nil, "", []string{`- [button] "Send"`}},
		"a missing first field":   {replaced("<label>Name <input name=name></label>", ""), nil, "", []string{`- [textbox] "Name"`}},
		"another role":            {replaced("<button id=send>Send</button>", `<a href=/sent id=send>Send</a>`), nil, "", []string{`- [button] "Send"`}},
	} {
		t.Run(name, func(t *testing.T) {
			o.serve(c.form)
			p := params{"name": "stops", "input": in(c.input)}
			if c.sent != "" {
				a.run(p)
				if got := o.sent(); !reflect.DeepEqual(got, []string{c.sent}) {
					t.Errorf("the shop got %q", got)
				}
				return
			}
			began := time.Now()
			e := a.refused("run", p, protocol.ScriptDrifted)
			if took := time.Since(began); took > toldWithin {
				t.Errorf("it was told after %v", took)
			}
			if got := o.sent(); len(got) > 0 {
				t.Errorf("the shop got %q", got)
			}
			if e.Details["acted"] != 0.0 || e.Details["script"] != "stops" || e.Details["line"] == nil || e.Next == "" || e.Details["page"] == nil {
				t.Errorf("%s %+v", e.Message, e.Details)
			}
			lines, _ := e.Details["difference"].([]any)
			text := fmt.Sprint(lines...)
			for _, want := range c.diff {
				before, after, _ := strings.Cut(want, "*")
				if i := strings.Index(text, before); i < 0 || !strings.Contains(text[i:], after) {
					t.Errorf("the difference is %q, and lacks %q", lines, want)
				}
			}
			if filled := a.do("eval", params{"expression": "[...document.querySelectorAll('input')].map(i => i.value).join('')"}).Value; filled != "on" {
				t.Errorf("fields were filled in before: %q", filled)
			}
		})
	}
}

// What came by a timer alone when the script was saved is waited for again, and where it is
// another one, or none, the replay stops before it acts. What only a clock, a counter, an
// advertisement or an order changes is no drift.
func TestRunSavedWaitsForTimers(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	o := newOrders(t)
	a := newAgent(t, d)
	late := func(form, button string, ms int) string {
		return strings.Replace(form, "<button id=send>Send</button>", fmt.Sprintf("<span id=late></span><script>setTimeout(() => late.outerHTML = '%s', %d)</script>", button, ms), 1)
	}
	code := `await page.goto(input.url + '/form');
await page.getByLabel('Name').fill(input.name);
await page.getByRole('button', { name: /Send|Delete/ }).click();
return page.textContent('#sent');`
	in := params{"url": o.URL, "name": "Ann"}
	o.serve(late(orderForm, "<button id=send>Send</button>", 2500))
	a.run(params{"save": "timers", "code": code, "input": in})
	moving := `<p id=clock></p><p>News of the day</p><button>Cart (1)</button><iframe srcdoc="<button>Buy</button>"></iframe><script>setInterval(() => clock.textContent = new Date(), 50)</script>`
	for name, c := range map[string]struct {
		form, sent string
		diff       []string
	}{
		"the same":           {late(orderForm, "<button id=send>Send</button>", 2500), "Ann", nil},
		"somewhat later":     {late(orderForm, "<button id=send>Send</button>", 3500), "Ann", nil},
		"at once":            {orderForm, "Ann", nil},
		"beside what moves":  {moving + late(orderForm, "<button id=send>Send</button>", 2500), "Ann", nil},
		"other moving parts": {strings.NewReplacer("(1)", "(7)", "News of the day", "Other news", "Buy", "Win").Replace(moving) + orderForm, "Ann", nil},
		"another one":        {late(orderForm, "<button id=send>Delete the account</button>", 2500), "", []string{`- [button] "Send"`, `"Delete the account"`}},
		"none":               {late(orderForm, "", 2500), "", []string{`- [button] "Send"`}},
	} {
		t.Run(name, func(t *testing.T) {
			o.serve(c.form)
			p := params{"name": "timers", "input": in}
			if c.sent != "" {
				a.run(p)
				if got := o.sent(); !reflect.DeepEqual(got, []string{c.sent}) {
					t.Errorf("the shop got %q", got)
				}
				return
			}
			e := a.refused("run", p, protocol.ScriptDrifted)
			if got := o.sent(); len(got) > 0 {
				t.Errorf("the shop got %q", got)
			}
			for _, want := range c.diff {
				if text := fmt.Sprint(e.Details["difference"]); !strings.Contains(text, want) {
					t.Errorf("the difference is %s, and lacks %s", text, want)
				}
			}
		})
	}
}

// A script that was slow when it was saved found at once what a timer had brought meanwhile. A
// replay that is faster waits for it.
func TestRunSavedBySlowScript(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	a := newAgent(t, sharedDaemon(t))
	o.serve(strings.Replace(orderForm, "<button id=send>Send</button>", `<span id=late></span><script>setTimeout(() => late.outerHTML = '<button id=send>Send</button>', 2500)</script>`, 1))
	code := `await page.goto(input.url + '/form');
await page.getByLabel('Name').fill('Ann');
await page.waitForTimeout(input.pause);
await page.getByRole('button', { name: 'Send' }).click();`
	a.run(params{"save": "slow", "code": code, "input": params{"url": o.URL, "pause": 3000}})
	a.run(params{"name": "slow", "input": params{"url": o.URL, "pause": 1}})
	if got := o.sent(); !reflect.DeepEqual(got, []string{"Ann", "Ann"}) {
		t.Errorf("the shop got %q", got)
	}
}

// A page that has moved, and a script that catches every error, end the same way.
func TestRunSavedKnowsItsPage(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	a := newAgent(t, sharedDaemon(t))
	a.open(o.URL + "/form")
	const code = "for (let i = 0; i < 3; i++) try { await page.locator('#send').click(); return page.url() } catch {}\nreturn 'caught'"
	a.run(params{"save": "moved", "code": code})
	o.serve(orderForm)
	a.open(o.URL + "/other/form?x=1")
	e := a.refused("run", params{"name": "moved"}, protocol.ScriptDrifted)
	if want := []any{"- page " + o.URL + "/form", "+ page " + o.URL + "/other/form"}; !reflect.DeepEqual(e.Details["difference"], want) || len(o.sent()) > 0 {
		t.Errorf("%+v, the shop got %q", e.Details, o.sent())
	}
	a.open(o.URL + "/form?x=1#top")
	a.run(params{"name": "moved"})
	if got := o.sent(); len(got) != 1 {
		t.Errorf("on its page: the shop got %q", got)
	}
	// Nor does it go on, where the next page would be the right one.
	in := params{"url": o.URL}
	a.open(o.URL + "/form")
	a.run(params{"save": "goes-on", "input": in, "code": "try { await page.click('#send') } catch {}\nawait page.goto(input.url + '/form');\nawait page.click('#send')"})
	o.serve(orderForm)
	a.open(o.URL + "/other/form")
	a.refused("run", params{"name": "goes-on", "input": in}, protocol.ScriptDrifted)
	if got := o.sent(); len(got) > 0 {
		t.Errorf("it went on: the shop got %q", got)
	}
	// A selector that fits one element names it, also where the first of several is taken.
	o.serve(strings.Replace(orderForm, ">Send<", ">Erase<", 1))
	a.open(o.URL + "/form")
	a.refused("run", params{"name": "goes-on", "input": in}, protocol.ScriptDrifted)
	if got := o.sent(); len(got) > 0 {
		t.Errorf("another button: the shop got %q", got)
	}
	o.serve(orderForm)
	// What is there now is accepted by saving the script again, by its name.
	a.open(o.URL + "/other/form")
	a.run(params{"name": "moved", "save": "moved"})
	a.open(o.URL + "/other/form")
	a.run(params{"name": "moved"})
	a.open(o.URL + "/form")
	a.refused("run", params{"name": "moved"}, protocol.ScriptDrifted)
}

// Loops may run another number of times, in a part of the site that the input names; what the
// pages' data is, is not compared.
func TestRunSavedLoops(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	a := newAgent(t, sharedDaemon(t))
	const code = `await page.goto(input.url + '/list/' + input.list + '?page=' + input.from);
for (;;) {
  await page.getByRole('button').first().click();
  const next = page.getByRole('link', { name: 'Next' });
  if (!await next.count()) break;
  await next.click();
}`
	a.run(params{"save": "loops", "code": code, "input": params{"url": o.URL, "list": "milk", "from": 3}})
	for from, posts := range map[int]int{1: 4, 4: 1} {
		o.serve("")
		a.run(params{"name": "loops", "input": params{"url": o.URL, "list": "bread", "from": from}})
		if got := o.sent(); len(got) != posts {
			t.Errorf("from page %d the shop got %d", from, len(got))
		}
	}
}

// What is kept is the agent's own: other agents have none of it, quotas hold before anything is
// done, a damaged file is said to be one, and neither the input nor what was typed is on disk.
func TestRunSavedIsKept(t *testing.T) {
	aboutOneProcess(t, "it looks at the files of scripts")
	t.Parallel()
	for _, key := range []string{"", "a passphrase of states"} {
		t.Run("key "+key, func(t *testing.T) {
			t.Parallel()
			d := driven(t, "", map[string]string{"BROWSERD_SCRIPTS__COUNT": "2", "BROWSERD_SCRIPTS__BYTES": "3000", "BROWSERD_STATE__KEY": key,
				"BROWSERD_AUTH__TOKENS": fmt.Sprintf(`[{"agent":"ann","token":%q},{"agent":"sue","token":%q}]`, ann, sue)})
			o := newOrders(t)
			a, b := as(t, d, ann), as(t, d, sue)
			const canary = "c4nary-of-the-input"
			a.run(params{"save": "order", "code": orderScript, "input": params{"url": o.URL, "name": canary, "item": "Milk"}})
			files := func() (found []string) {
				filepath.Walk(d.Home, func(path string, info os.FileInfo, err error) error {
					if err == nil && strings.Contains(path, "scripts") && strings.HasSuffix(path, ".json") {
						found = append(found, path)
						text, _ := os.ReadFile(path)
						if strings.Contains(string(text), canary) || strings.Contains(string(text), "TYPED-BY") || key != "" && strings.Contains(string(text), "goto") || info.Mode().Perm() != 0o600 {
							t.Errorf("%s, mode %v: %s", path, info.Mode(), text)
						}
					}
					return nil
				})
				return found
			}
			if got := files(); len(got) != 1 {
				t.Fatalf("files %q", got)
			}
			e := b.refused("run", params{"name": "order"}, protocol.InvalidParams)
			if e.Details["parameter"] != "name" || !strings.Contains(e.Next, "run_list") {
				t.Errorf("%v %v %s", e, e.Details, e.Next)
			}
			b.refused("run_delete", params{"name": "order"}, protocol.InvalidParams)
			a.run(params{"save": "two", "code": "1"})
			posts := len(o.sent())
			for _, p := range []params{{"save": "three"}, {"save": "two", "code": orderScript + "\n//" + strings.Repeat("x", 3000)}} {
				if p["code"] == nil {
					p["code"] = orderScript
				}
				p["input"] = params{"url": o.URL, "name": "Ann", "item": "Milk"}
				e := a.refused("run", p, protocol.TooLarge)
				quota := "scripts.count"
				if p["save"] == "two" {
					quota = "scripts.bytes"
				}
				if e.Details["quota"] != quota || !strings.Contains(e.Next, "run_delete") {
					t.Errorf("%v %v %s", e, e.Details, e.Next)
				}
			}
			for _, p := range []params{{"save": "../x", "code": "1"}, {"name": "../x"}, {"name": "absent"}, {"name": "two", "code": "1"}} {
				a.refused("run", p, protocol.InvalidParams)
			}
			if got := len(o.sent()); got != posts {
				t.Errorf("what was refused has sent %d", got-posts)
			}
			type list struct {
				Scripts []struct {
					Name  string
					Bytes int
				}
				Bytes  int
				Limits struct{ Count, Bytes int }
				Code   string
			}
			if l := ask[list](a, "run_list", nil); len(l.Scripts) != 2 || l.Scripts[0].Name != "order" || l.Bytes == 0 || l.Limits.Count != 2 || l.Limits.Bytes != 3000 {
				t.Errorf("%+v", l)
			}
			if l := ask[list](a, "run_list", params{"name": "order"}); len(l.Scripts) != 1 || l.Code != orderScript {
				t.Errorf("%+v", l)
			}
			if l := ask[list](b, "run_list", nil); len(l.Scripts) != 0 {
				t.Errorf("another agent's: %+v", l)
			}
			a.do("run_delete", params{"name": "two"})
			a.refused("run", params{"name": "two"}, protocol.InvalidParams)
			for _, content := range []string{"damaged", `{"version":1,"saved":"2026-01-01T00:00:00Z","cookies":[],"origins":[]}`, `{"version":9,"code":"1","acts":[]}`} {
				if err := os.WriteFile(files()[0], []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				if e := a.refused("run", params{"name": "order"}, protocol.InvalidParams); !strings.Contains(e.Next, "save it again") {
					t.Errorf("%s: %v %s", content, e, e.Next)
				}
			}
			a.refused("run", params{"save": "fails", "code": "throw new Error('no')"}, protocol.ScriptError)
			if l := ask[list](a, "run_list", nil); len(l.Scripts) != 1 {
				t.Errorf("a script that failed was saved: %+v", l)
			}
		})
	}
}

// A script that has run and cannot be saved any more has its result, with a note that says why.
func TestRunSavedTooLate(t *testing.T) {
	aboutOneProcess(t, "it looks at the files of scripts")
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_SCRIPTS__COUNT": "1"}})
	a, other := newAgent(t, d), newAgent(t, d)
	saved := func() string {
		found := ""
		filepath.Walk(d.Home, func(path string, _ os.FileInfo, err error) error {
			if err == nil && strings.Contains(path, "scripts") && strings.HasSuffix(path, ".json") {
				found = path
			}
			return nil
		})
		if found == "" {
			t.Error("no file has a script")
		}
		return found
	}
	var before func()
	w := newPageServer(t)
	w.mux.HandleFunc("GET /meanwhile", func(http.ResponseWriter, *http.Request) { before() })
	for _, c := range []struct {
		why    string
		save   string
		before func()
		note   string
	}{
		{"another script took the place", "late", func() { other.run(params{"save": "other", "code": "return 1"}) }, "scripts.count"},
		{"its directory is a file", "other", func() {
			dir := filepath.Dir(saved())
			if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
				t.Error(err)
			}
		}, "browserd's own"},
	} {
		before = c.before
		r := ask[struct {
			Value       any
			Saved, Note string
		}](a, "run", params{"save": c.save, "input": params{"url": w.URL}, "code": "await browser.http_request({url: input.url + '/meanwhile'});\nreturn 'has run'"})
		if r.Value != "has run" || r.Saved != "" || !strings.HasPrefix(r.Note, "the script has run and was not saved: ") || !strings.Contains(r.Note, c.note) {
			t.Errorf("%s: %+v", c.why, r)
		}
	}
}

// A token that only reads saves and deletes nothing, and replays what it may do; a supervised one
// is asked before it saves, and the operator sees the script of a replay by its name.
func TestRunSavedIsGoverned(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__CONFIRM": "click,state_save", "BROWSERD_AUTH__TOKENS": fmt.Sprintf(
		`[{"agent":"ann","token":%q,"autonomy":"supervised"},{"agent":"ann","token":%q},{"agent":"ann","token":%q,"autonomy":"read_only"},{"agent":"olga","token":%q,"role":"operator"}]`, ann, sue, bob, olga)})
	w := newPageServer(t)
	w.serve("/counter", page("Counter", counter), "")
	supervised, full, reader, op := as(t, d, ann), as(t, d, sue), as(t, d, bob), as(t, d, olga)
	const code = "await page.goto(input.url);\nawait page.getByRole('button').click();\nreturn page.textContent('#n')"
	in := params{"url": w.URL + "/counter"}
	full.run(params{"save": "count", "code": code, "input": in})
	for command, p := range map[string]params{"run": {"save": "count", "code": "1"}, "run_delete": {"name": "count"}} {
		if e := reader.refused(command, p, protocol.PolicyDenied); e.Details["reason"] != "read_only" {
			t.Errorf("%s: %v", command, e.Details)
		}
	}
	if e := reader.refused("run", params{"name": "count", "input": in}, protocol.ScriptError); !strings.Contains(detailsOf(e), "policy_denied") {
		t.Errorf("a replay under read_only: %v", e.Details)
	}
	reader.do("run_list", nil)
	pending := supervised.send("run", params{"name": "count", "input": in})
	q := op.asked()
	if s, _ := q["script"].(map[string]any); s["code"] != code || s["name"] != "count" || s["line"] != 2.0 || q["command"] != "click" {
		t.Errorf("the operator is asked %v", q)
	}
	op.do("confirm", params{"id": q["id"], "allow": true})
	if r, err := supervised.wait(pending); err != nil || r.Value != "1" {
		t.Errorf("%v %v", r.Value, err)
	}
	pending = supervised.send("run", params{"save": "planted", "code": "return input.x"})
	q = op.asked()
	if p, _ := q["params"].(map[string]any); q["command"] != "state_save" || p["code"] != "return input.x" || p["save"] != "planted" {
		t.Errorf("the operator is asked %v", q)
	}
	op.do("confirm", params{"id": q["id"], "allow": false})
	if _, err := supervised.wait(pending); protocol.CodeOf(err) != protocol.ConfirmationDenied {
		t.Errorf("denied: %v", err)
	}
	full.refused("run", params{"name": "planted"}, protocol.InvalidParams)
}

// A script that is saved over one transport runs by its name over each; a replay that stops is in
// the audit trail and the action log, and its step is in neither as done.
func TestRunSavedOverEveryTransport(t *testing.T) {
	aboutOneProcess(t, "a ledger in a file")
	t.Parallel()
	logs, trail := t.TempDir(), filepath.Join(t.TempDir(), "ledger.db")
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_ACTION_LOG__DIR": logs, "BROWSERD_LEDGER__DSN": trail}})
	o := newOrders(t)
	file := filepath.Join(t.TempDir(), "order.js")
	if err := os.WriteFile(file, []byte(orderScript), 0o600); err != nil {
		t.Fatal(err)
	}
	inputs := []string{"--input", "url=" + o.URL, "--input", "name=Ann", "--input", "item=Milk"}
	input := params{"url": o.URL, "name": "Ann", "item": "Milk"}
	replays := map[string]func() (string, error){
		"the command line": func() (string, error) { return d.Command(append([]string{"run", "--name", "order"}, inputs...)...) },
		"WebSocket": func() (string, error) {
			var r json.RawMessage
			err := newAgent(t, d).c.Call(t.Context(), "run", params{"name": "order", "input": input}, &r)
			if err != nil {
				err = fmt.Errorf("%w: %s", err, detailsOf(err))
			}
			return string(r), err
		},
		"HTTP": func() (string, error) {
			body, _ := json.Marshal(params{"name": "order", "input": input})
			r, err := http.NewRequest("POST", d.URL()+"/v1/run", strings.NewReader(string(body)))
			if err != nil {
				return "", err
			}
			r.Header.Set("Authorization", "Bearer "+d.Token)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return "", err
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if answer.StatusCode != http.StatusOK {
				err = fmt.Errorf("status %d: %s", answer.StatusCode, text)
			}
			return string(text), err
		},
	}
	for name, transport := range transports(t, d, "code") {
		s := connect(t, transport, nil)
		replays["MCP "+name] = func() (string, error) {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "run", Arguments: params{"name": "order", "input": input}})
			if err != nil {
				return "", err
			}
			text := r.Content[0].(*mcp.TextContent).Text
			if r.IsError {
				return "", errors.New(text)
			}
			return text, nil
		}
	}
	if out, err := d.Command(append([]string{"run", "--save", "order", file}, inputs...)...); err != nil || !strings.Contains(out, "Thank you, Ann") {
		t.Fatal(out, err)
	}
	if out, err := d.Command("run", "list"); err != nil || !strings.Contains(out, "order") {
		t.Error(out, err)
	}
	for name, replay := range replays {
		o.serve(orderForm)
		if out, err := replay(); !strings.Contains(out, "Thank you, Ann") || len(o.sent()) != 1 {
			t.Errorf("over %s: %s %v", name, out, err)
		}
		o.serve(strings.Replace(orderForm, ">Send<", ">Erase<", 1))
		out, err := replay()
		if err == nil || len(o.sent()) > 0 {
			t.Fatalf("over %s it acted: %s", name, out)
		}
		for _, want := range []string{"Send", "Erase"} {
			if said := err.Error(); !strings.Contains(said, want) || !strings.Contains(said, "not the one on which it was saved") {
				t.Errorf("over %s the error lacks %s: %s", name, want, said)
			}
		}
	}
	inTrail(t, trail, "run", 1+2*len(replays))
	stopped := map[string]bool{}
	for _, e := range trailOf(t, trail) {
		if e.Command == "run" && e.Verdict == "script_drifted" {
			stopped[e.Run] = true
		}
	}
	if len(stopped) != len(replays) {
		t.Errorf("%d stopped replays are in the trail", len(stopped))
	}
	for _, e := range trailOf(t, trail) {
		if stopped[e.Run] && e.Command != "run" && e.Command != "open" {
			t.Errorf("%s of a stopped replay is in the trail as %s", e.Command, e.Verdict)
		}
	}
	if found := filesWith(t, logs, `"code":"script_drifted"`); len(found) == 0 {
		t.Error("no action log says what stopped")
	}
	if out, err := d.Command("run", "delete", "order"); err != nil {
		t.Error(out, err)
	}
	if out, err := d.Command("run", "--name", "order"); err == nil || !strings.Contains(err.Error(), "no script of that name") {
		t.Error(out, err)
	}
}
