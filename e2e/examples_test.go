package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// shopPage is what https://shop.example/ is in the examples of docs/commands.md. Each ref
// in an example is that of this page's first snapshot.
const shopPage = `<!doctype html><meta charset=utf-8><title>Bakery</title>
<h1>Order</h1>
<a href="/terms">Terms</a> <a href="/prices.csv" download="prices.csv">Price list</a>
<button onmouseover="tip.hidden=false">Help</button><p id=tip hidden>We bake at night.</p>
<button id=bread onclick="0">Bread</button> <button id=basket onmouseup="this.textContent='Basket: bread'">Basket</button>
<form onsubmit="event.preventDefault(); sent.textContent='Thank you'">
<label>Name <input name=name></label>
<label>City <select name=city><option>Oslo<option>Bergen</select></label>
<label><input type=checkbox name=gift> Gift wrap</label>
<label>Invoice <input type=file name=file></label>
<button>Send</button></form>
<button onclick="confirm('Delete the order?')">Delete</button><p id=sent></p>
<script>document.modelContext.registerTool({name: 'add_to_basket', description: 'Puts something into the basket',
  inputSchema: {type: 'object', properties: {item: {type: 'string'}, count: {type: 'integer'}}, required: ['item']}, execute: ({item}) => { basket.textContent = 'Basket: ' + item; return {items: 1}; }})</script>
<script>console.error('no prices'); fetch('/api/prices'); localStorage.basket = 'bread'; document.cookie = 'visitor=7'</script>
<div style="height:2000px"></div><p>The end</p>
<button id=passkey onclick="navigator.credentials.create({publicKey: {challenge: new Uint8Array(32), rp: {name: 'Shop'}, user: {id: new Uint8Array(1), name: 'ann', displayName: 'Ann'},
	pubKeyCredParams: [{type: 'public-key', alg: -7}], authenticatorSelection: {residentKey: 'required'}}})">Create a passkey</button>`

// newShop serves shopPage, what it links to, and a search engine.
func newShop(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, shopPage)
		case "/terms":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<title>Terms</title><h1>Terms</h1>")
		case "/prices.csv":
			w.Header().Set("Content-Type", "text/csv")
			io.WriteString(w, "bread,42\n")
		case "/search":
			io.WriteString(w, `{"results":[{"title":"Bread","url":"https://found.example/","content":"Flour and water"}]}`)
		default:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// Every example in docs/commands.md works in real Chromium, and what it answers is as the
// schema says: the first of each command through the method that each client has for it, the
// others over a WebSocket. What no command accepts is an error of the client's type for it.
func TestExamples(t *testing.T) {
	t.Parallel()
	w := newExamples(t)
	for _, name := range w.clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := w.player(t, name)
			for _, cmd := range actions.All {
				if len(cmd.Examples) == 0 {
					t.Errorf("%s has no example, so that it is not tried", cmd.Name)
					continue
				}
				mine := cmd.Examples[:1]
				if name == "websocket" {
					mine = cmd.Examples[1:]
				}
				for _, e := range mine {
					if err := p.play(t, cmd, e); err != nil {
						t.Errorf("%s %s: %v", cmd.Name, e.Params, err)
					}
					var wrong params
					if err := json.Unmarshal([]byte(e.Params), &wrong); err != nil {
						t.Fatal(err)
					}
					wrong["timeout_ms"] = -1
					_, refused := p.call(cmd.Name, wrong)
					typed := name == "go" || name == "websocket" || refused != nil && strings.HasPrefix(refused.Message, "InvalidParamsError: ")
					if refused == nil || refused.Code != protocol.InvalidParams || !typed {
						t.Errorf("%s with a negative timeout_ms: %+v", cmd.Name, refused)
					}
				}
			}
		})
	}
}

// rawClient sends what it is given.
func rawClient(t *testing.T, url, token string) clientCall {
	c, err := client.Dial(t.Context(), url, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var pending *client.Pending
	return func(method string, p params) (answer json.RawMessage, e *protocol.ErrorData) {
		var err error
		switch method[0] {
		case '+':
			if pending, err = c.Send(method[1:], p); err == nil {
				answer = json.RawMessage(fmt.Sprint(pending.ID))
			}
		case '-':
			err = pending.Wait(t.Context(), &answer)
		default:
			err = c.Call(t.Context(), method, p, &answer)
		}
		if err != nil {
			return nil, &protocol.ErrorData{Code: protocol.CodeOf(err), Message: err.Error()}
		}
		return answer, nil
	}
}

// examples are what plays the examples of docs/commands.md: the shop, and a daemon that has
// an agent for each client.
type examples struct {
	shop       *httptest.Server
	daemon     *testdaemon.Daemon
	described  described
	clients    []string
	confirming sync.Mutex // one question at a time: each operator is asked all of them
}

func newExamples(t *testing.T) *examples {
	t.Helper()
	w := &examples{shop: newShop(t), described: newDescribed(t), clients: []string{"websocket", "go", "python", "asyncio", "typescript"}}
	tokens := []map[string]any{
		{"agent": "sue", "token": w.token("sue"), "autonomy": "supervised"},
		{"agent": "olga", "token": olga, "role": "operator"},
	}
	for _, name := range w.clients {
		tokens = append(tokens, map[string]any{"agent": name, "token": w.token(name)})
	}
	text, err := json.Marshal(tokens)
	if err != nil {
		t.Fatal(err)
	}
	w.daemon = testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_AUTH__TOKENS": string(text), "BROWSERD_SEARCH__PROVIDERS": "searxng", "BROWSERD_SEARCH__SEARXNG_URL": w.shop.URL,
		"BROWSERD_STATE__KEY": "a passphrase of the tests", "BROWSERD_PROFILE__OPEN": "5",
	}})
	return w
}

// token is the token of an agent.
func (w *examples) token(name string) string { return name + "-token-0123456789abcdef" }

// player plays examples through one client. Each has a new session that has opened the shop
// and taken a snapshot; those that only read share one.
type player struct {
	*examples
	name    string
	connect func(t *testing.T, url, token string) clientCall
	call    clientCall
	agent   *agent // another connection of the same agent
	kept    *shopping
}

// shopping is a session in the shop, and its first snapshot.
type shopping struct{ session, shown string }

func (w *examples) player(t *testing.T, name string) *player {
	connect := clientsAt[name]
	if name == "websocket" {
		connect = rawClient
	}
	return &player{examples: w, name: name, connect: connect, call: connect(t, w.daemon.WS(), w.token(name)), agent: as(t, w.daemon, w.token(name))}
}

func (p *player) enter() shopping {
	session := p.agent.do("session_open", params{"downloads": true}).Session
	p.agent.open(p.shop.URL + "/")
	return shopping{session, p.agent.do("snapshot", nil).Snapshot.Text}
}

// play plays an example. What else must have happened before, such as a dialog that is open,
// is in before.
func (p *player) play(t *testing.T, cmd *command.Command, e command.Example) error {
	t.Helper()
	a := p.agent
	var v shopping
	click := func(role, name string) func() {
		return func() { a.do("click", params{"ref": refIn(t, v.shown, role, name)}) }
	}
	do := func(method string, p params) func() { return func() { a.do(method, p) } }
	terms := do("open", params{"url": p.shop.URL + "/terms"})
	here := strings.NewReplacer("https://shop.example/", p.shop.URL+"/", "*shop.example/*", strings.TrimPrefix(p.shop.URL, "http://")+"/")
	saved := func() { // the example that saves a script
		var run params
		if err := json.Unmarshal([]byte(here.Replace(actions.Run.Examples[2].Params)), &run); err != nil || run["save"] != "order" {
			t.Fatal(run, err)
		}
		a.do("run", run)
	}
	loggedIn := func() {
		a.do("run", params{"save": "in", "code": "return page.title()"})
		a.do("login", params{"name": "shop", "script": "in"})
	}
	before := map[string][]func(){
		"back":         {terms},
		"forward":      {terms, do("back", nil)},
		"dialog":       {click("button", "Delete")},
		"downloads":    {click("link", "Price list")},
		"login_delete": {loggedIn},
		// An IP address is no RP ID.
		"passkey_delete": {do("open", params{"url": strings.Replace(p.shop.URL, "127.0.0.1", "localhost", 1)})},
		"profile_delete": {do("session_open", params{"name": "own", "profile": "shop"}), do("session_close", params{"session": "own"})},
		"profile_export": {do("session_open", params{"name": "own", "profile": "shop"}), do("session_close", params{"session": "own"})},
		"profile_import": {do("session_open", params{"name": "own", "profile": "shop"}), do("session_close", params{"session": "own"})},
		"run":            {saved},
		"run_delete":     {saved},
		"run_list":       {saved},
		"state_delete":   {do("state_save", params{"name": "shop"})},
		"state_load":     {do("state_save", params{"name": "shop"})},
		"tab_select":     {do("tab_new", nil)},
		"tab_close":      {do("tab_new", nil)},
		"session_close":  {do("session_open", params{"name": "work"})},
		"view":           {do("session_open", params{"name": "work"})},
	}[cmd.Name]
	if before == nil && (cmd.Is(command.Inspects) || cmd.Is(command.NoSession)) {
		if p.kept == nil {
			kept := p.enter()
			p.kept = &kept
		}
		v = *p.kept
	} else {
		v = p.enter()
		defer a.try("session_close", params{"session": v.session})
	}
	for _, step := range before {
		step()
	}
	text := here.Replace(e.Params)
	var given params
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		t.Fatal(err)
	}
	if given["session"] == nil && !cmd.Is(command.OpensSession) {
		given["session"] = v.session
	}
	call, check := p.call, func() error { return nil }
	switch cmd { // what only the running program knows
	case actions.ProfileImport:
		given["content"] = ask[struct{ Content string }](a, "profile_export", params{"name": "shop", "passphrase": given["passphrase"]}).Content
	case actions.Cancel:
		var refused *protocol.ErrorData
		if given["id"], refused = call("+wait", params{"ms": 30000, "session": v.session}); refused != nil {
			return errors.New(refused.Message)
		}
		check = func() error {
			if _, refused := call("-", nil); refused == nil || refused.Code != protocol.Cancelled {
				return fmt.Errorf("the request ended with %+v", refused)
			}
			return nil
		}
	case actions.PasskeyDelete:
		given["id"] = ask[passkeyAnswer](a, "passkey", params{"ref": "css=#passkey"}).Passkeys[0].ID
	case actions.Network:
		if given["id"] != nil {
			entries := ask[struct{ Entries []protocol.Exchange }](a, "network", params{"session": v.session}).Entries
			given["id"] = entries[len(entries)-1].ID
		}
	case actions.Confirm:
		p.confirming.Lock()
		defer p.confirming.Unlock()
		operator, asker := as(t, p.daemon, olga), as(t, p.daemon, p.token("sue"))
		asker.open(p.shop.URL + "/")
		pending := asker.send("eval", params{"expression": "1"})
		given["id"] = operator.asked()["id"]
		delete(given, "session")
		call = p.connect(t, p.daemon.WS(), olga)
		check = func() error { _, err := asker.wait(pending); return err }
	}
	answer, refused := call(cmd.Name, given)
	if refused != nil {
		return fmt.Errorf("%s: %s\n%s", refused.Code, refused.Message, v.shown)
	}
	if cmd.Is(command.OpensSession) {
		var r result
		if err := json.Unmarshal(answer, &r); err != nil {
			return err
		}
		a.try("session_close", params{"session": r.Session})
	}
	return errors.Join(check(), p.described.result(cmd, answer))
}
