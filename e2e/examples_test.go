package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/browserd/browserd/actions"
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
<script>console.error('no prices'); fetch('/api/prices'); localStorage.basket = 'bread'; document.cookie = 'visitor=7'</script>
<div style="height:2000px"></div><p>The end</p>`

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

// Every example in docs/commands.md works, over a WebSocket and in real Chromium, and
// what it answers is as the schema says. Each has a new session that has opened the shop and taken a snapshot. What else must have
// happened before, such as a dialog that is open, is in before.
func TestExamples(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	const sue = "sue-token-0123456789abcdef" // supervised
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_AUTH__TOKENS":      fmt.Sprintf(`[{"agent":"ann","token":%q},{"agent":"sue","token":%q,"autonomy":"supervised"},{"agent":"olga","token":%q,"role":"operator"}]`, ann, sue, olga),
		"BROWSERD_SEARCH__PROVIDERS": "searxng", "BROWSERD_SEARCH__SEARXNG_URL": shop.URL,
	}})
	type step struct {
		method string
		params params
	}
	terms := step{"open", params{"url": shop.URL + "/terms"}}
	named := func(role, name string) func(shown string) step {
		return func(shown string) step { return step{"click", params{"ref": refIn(t, shown, role, name)}} }
	}
	always := func(s step) func(string) step { return func(string) step { return s } }
	described := newDescribed(t)
	before := map[string][]func(shown string) step{
		"back":          {always(terms)},
		"forward":       {always(terms), always(step{"back", nil})},
		"dialog":        {named("button", "Delete")},
		"downloads":     {named("link", "Price list")},
		"state_delete":  {always(step{"state_save", params{"name": "shop"}})},
		"state_load":    {always(step{"state_save", params{"name": "shop"}})},
		"tab_select":    {always(step{"tab_new", nil})},
		"tab_close":     {always(step{"tab_new", nil})},
		"session_close": {always(step{"session_open", params{"name": "work"}})},
	}
	for _, cmd := range actions.All {
		for _, e := range cmd.Examples {
			a := as(t, d, ann)
			opened := a.do("session_open", params{"downloads": true}).Session
			a.open(shop.URL + "/")
			shown := a.do("snapshot", nil)
			for _, s := range before[cmd.Name] {
				step := s(shown.Snapshot.Text)
				a.do(step.method, step.params)
			}
			text := strings.NewReplacer("https://shop.example/", shop.URL+"/", "*shop.example/*", strings.TrimPrefix(shop.URL, "http://")+"/").Replace(e.Params)
			var given params
			if err := json.Unmarshal([]byte(text), &given); err != nil {
				t.Fatal(err)
			}
			check := func() error { return nil }
			switch cmd { // what only the running program knows
			case actions.Cancel:
				pending := a.send("wait", params{"ms": 30000})
				given["id"] = pending.ID
				check = func() error {
					if _, err := a.wait(pending); protocol.CodeOf(err) != protocol.Cancelled {
						return fmt.Errorf("the request ended with %v", err)
					}
					return nil
				}
			case actions.Network:
				if given["id"] != nil {
					entries := ask[struct{ Entries []protocol.Exchange }](a, "network", nil).Entries
					given["id"] = entries[len(entries)-1].ID
				}
			case actions.Confirm:
				operator, asker := as(t, d, olga), as(t, d, sue)
				asker.open(shop.URL + "/")
				pending := asker.send("eval", params{"expression": "1"})
				given["id"] = operator.asked()["id"]
				a = operator
				check = func() error { _, err := asker.wait(pending); return err }
			}
			var answer json.RawMessage
			err := a.c.Call(t.Context(), cmd.Name, given, &answer)
			if err == nil {
				err = errors.Join(check(), described.result(cmd, answer))
			}
			if err != nil {
				t.Errorf("%s %s: %v\n%s", cmd.Name, text, err, shown.Snapshot.Text)
			}
			a.c.Close()
			last := as(t, d, ann)
			for _, name := range []string{opened, "work"} {
				last.try("session_close", params{"session": name})
			}
			last.c.Close()
		}
	}
}
