package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

// fleet3 is three nodes behind a plain TCP proxy, which gives each connection to the next one.
type fleet3 struct {
	pg    *testpostgres.Server
	nodes []*testdaemon.Daemon
	Addr  string // of the proxy
}

func startFleet(t *testing.T, env map[string]string) *fleet3 {
	t.Helper()
	f := &fleet3{pg: testpostgres.Start(t), nodes: make([]*testdaemon.Daemon, 3)}
	// The proxy's address is one of the nodes' settings, so that it is there before them.
	var addrs []string
	for range f.nodes {
		addrs = append(addrs, testdaemon.FreeAddr(t))
	}
	f.Addr = testdaemon.Proxy(t, addrs...)
	all := map[string]string{"BROWSERD_SERVER__PUBLIC_URL": "http://" + f.Addr, "BROWSERD_SERVER__ALLOWED_HOSTS": f.Addr}
	maps.Copy(all, env)
	for i, name := range []string{"one", "two", "three"} {
		f.nodes[i] = testdaemon.Start(t, nodeOptions(t, f.pg, name, addrs[i], all))
	}
	return f
}

// post sends one command as a request of its own, on a connection of its own.
func (f *fleet3) post(t *testing.T, method string, p params, into any) *protocol.ErrorData {
	t.Helper()
	return postOnce(t, f.Addr, f.nodes[0].Token, method, p, into)
}

func postOnce(t *testing.T, addr, token, method string, p params, into any) *protocol.ErrorData {
	t.Helper()
	body, _ := json.Marshal(p)
	req, err := http.NewRequest(http.MethodPost, "http://"+addr+"/v1/"+method, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		var failed struct{ Error protocol.ErrorData }
		if err := json.Unmarshal(text, &failed); err != nil {
			t.Fatalf("%s: status %d: %s", method, resp.StatusCode, text)
		}
		return &failed.Error
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %s: %v", method, text, err)
		}
	}
	return nil
}

func (f *fleet3) dial(t *testing.T) *agent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, "ws://"+f.Addr+"/v1/ws", f.nodes[0].Token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Log(err)
		}
	})
	return &agent{t: t, c: c, exact: true}
}

// Nine HTTP requests, each on a connection of its own and so at the next node, are one session:
// what they did is there for the next one, in the order in which it was done.
func TestEachRequestAtAnotherNode(t *testing.T) {
	t.Parallel()
	f := startFleet(t, nil)
	w := newPageServer(t)
	w.serve("/", page("Count", `<h1>Count</h1><button onclick="this.textContent = Number(this.textContent) + 1">0</button>`), "")
	var opened result
	if e := f.post(t, "open", params{"url": w.URL + "/"}, &opened); e != nil {
		t.Fatal(e)
	}
	for range 6 {
		if e := f.post(t, "click", params{"session": opened.Session, "ref": "role=button"}, nil); e != nil {
			t.Fatal(e)
		}
	}
	var r result
	if e := f.post(t, "read", params{"session": opened.Session}, &r); e != nil || !strings.Contains(r.Content, "6") {
		t.Errorf("%v, %q", e, r.Content)
	}
	for range 3 {
		var list result
		if e := f.post(t, "session_list", params{}, &list); e != nil || len(list.Sessions) != 1 || list.Sessions[0].Session != opened.Session {
			t.Errorf("session_list: %v, %+v", e, list.Sessions)
		}
	}
	if e := f.post(t, "session_close", params{"session": opened.Session}, nil); e != nil {
		t.Error(e)
	}
	for range 3 {
		if e := f.post(t, "snapshot", params{"session": opened.Session}, nil); e == nil || e.Code != protocol.SessionNotFound {
			t.Errorf("after session_close: %+v", e)
		}
	}
	if r := fleetOf(t, f.nodes[0]); len(r.Sessions) != 0 {
		t.Errorf("%+v", r.Sessions)
	}
}

// Sessions of connections to all nodes lie at the first node while it has room. Deltas, refs,
// pipelined commands, cancel and events are as with one daemon.
func TestConnectionsToAllNodes(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{"BROWSERD_SESSION__MAX": "2"})
	w := newPageServer(t)
	w.serve("/", page("Todo", `<h1>Todo</h1><input aria-label="New"><ul></ul><script>
		document.querySelector("input").addEventListener("keydown", e => {
			if (e.key !== "Enter") return;
			const li = document.createElement("li");
			li.textContent = e.target.value;
			document.querySelector("ul").append(li);
			e.target.value = "";
		})</script>`), "")
	agents := []*agent{f.dial(t), f.dial(t), f.dial(t)}
	for _, a := range agents {
		a.open(w.URL + "/")
		a.snapshot()
	}
	report := fleetOf(t, f.nodes[0])
	of := map[int]int{}
	for _, s := range report.Sessions {
		of[s.Node]++
	}
	if of[1] != 2 || of[2] != 1 {
		t.Errorf("the sessions of %d connections lie at %v, want two at the first node and one at the second", len(agents), of)
	}
	var all sync.WaitGroup
	for n, a := range agents {
		all.Go(func() {
			for i := range 5 {
				a.do("type", params{"ref": "label=New", "text": fmt.Sprintf("%d.%d", n, i), "submit": true})
			}
			r := a.do("read", nil)
			for i := range 5 {
				if !strings.Contains(r.Content, fmt.Sprintf("%d.%d", n, i)) {
					t.Errorf("%d.%d is not in %q", n, i, r.Content)
				}
			}
		})
	}
	all.Wait()
	for _, a := range agents {
		var calls []*client.Pending
		for i := range 20 {
			p, err := a.c.Send("eval", params{"expression": fmt.Sprintf("(window.seen ||= []).push(%d)", i)})
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, p)
		}
		for _, p := range calls {
			if err := p.Wait(t.Context(), nil); err != nil {
				t.Error(err)
			}
		}
		r := a.do("eval", params{"expression": "JSON.stringify(seen)"})
		if want := "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]"; r.Value != want {
			t.Errorf("the commands ran in the order %v", r.Value)
		}
		slow, err := a.c.Send("wait", params{"text": "never", "timeout_ms": 60000})
		if err != nil {
			t.Fatal(err)
		}
		a.do("cancel", params{"id": slow.ID})
		if err := slow.Wait(t.Context(), nil); protocol.CodeOf(err) != protocol.Cancelled {
			t.Errorf("cancelled: %v", err)
		}
	}
}

// Events reach every connection that wants them, whichever nodes it and the session are at, and
// those before an answer come before it. An operator at one node is asked about a command at
// another, and answers there.
func TestEventsAndConfirmationsAtOtherNodes(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{
		"BROWSERD_AUTH__TOKENS":     fmt.Sprintf(`[{"agent":"ann","token":%q},{"agent":"olga","token":%q,"role":"operator"}]`, ann, olga),
		"BROWSERD_SESSION__MAX":     "1", // so that each node has one
		"BROWSERD_POLICY__AUTONOMY": "supervised",
		"BROWSERD_POLICY__CONFIRM":  "eval",
	})
	w := newPageServer(t)
	w.serve("/", page("one", `<h1>One</h1><a href=/two>two</a>`), "")
	w.serve("/two", page("two", `<h1>Two</h1>`), "")
	var agents, operators []*agent
	for _, d := range f.nodes {
		agents, operators = append(agents, as(t, d, ann)), append(operators, as(t, d, olga))
	}
	for _, a := range agents {
		a.do("subscribe", params{"events": []string{"navigated", "session_closing"}, "sessions": "all"})
	}
	for n, a := range agents {
		name := fmt.Sprint("s", n)
		a.do("session_open", params{"name": name})
		a.open(w.URL + "/two")
		for _, b := range agents {
			e := b.event("navigated")
			if e.Session != name || e.Fields["url"] != w.URL+"/two" {
				t.Errorf("the event of %s is %+v", name, e)
			}
		}
		sent := a.send("eval", params{"expression": "1 + 1"})
		for _, o := range operators {
			e := o.event(protocol.EventConfirmationRequested)
			q := e.Fields
			if e.Session != name || q["command"] != "eval" || q["origin"] != w.URL {
				t.Errorf("the question of %s is %+v", name, e)
			}
			if o == operators[(n+1)%3] {
				o.do("confirm", params{"id": q["id"], "allow": true})
			}
		}
		if _, err := a.wait(sent); err != nil {
			t.Error(err)
		}
	}
	for n, a := range agents {
		name := fmt.Sprint("s", n)
		a.do("session_close", nil)
		for _, b := range agents {
			if e := b.event("session_closing"); e.Session != name {
				t.Errorf("the event of %s is %+v", name, e)
			}
		}
	}
	operators[0].refused("confirm", params{"id": "c_none", "allow": true}, protocol.InvalidParams)
}

// The node of a session is killed while a command acts there, the page having been told: the
// answer is outcome_unknown, and what was posted was posted once.
func TestTheAnswerOfACommandIsLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method string
		p      params
	}{
		{"click", params{"ref": "role=button"}},
		{"wait", params{"expression": "(window.bought ||= fetch('/buy?n=1', {method: 'POST'}), false)"}}, // it runs script, as eval does
	} {
		t.Run(c.method, func(t *testing.T) {
			t.Parallel()
			f := startFleet(t, nil)
			w := newPageServer(t)
			posted := make(chan string, 10)
			w.mux.HandleFunc("POST /buy", func(rw http.ResponseWriter, r *http.Request) {
				posted <- r.URL.Query().Get("n")
				<-r.Context().Done()
			})
			w.serve("/", page("shop", `<form method=post action="/buy?n=1"><button>Buy</button></form>`), "")
			a := newAgent(t, f.nodes[1]) // the session is at the first
			a.open(w.URL + "/")
			sent := a.send(c.method, c.p)
			<-posted
			f.nodes[0].Kill()
			began := time.Now()
			if _, err := a.wait(sent); protocol.CodeOf(err) != protocol.OutcomeUnknown {
				t.Errorf("%v, want outcome_unknown", err)
			}
			if took := time.Since(began); took > 8*time.Second { // a lease is 10 s
				t.Errorf("the answer came after %v", took)
			}
			if len(posted) > 0 {
				t.Errorf("it was posted again")
			}
		})
	}
}

// What KEDA scales a fleet on: whichever nodes the clients reached, and whichever have the
// sessions, the sums are the fleet's. A node that drains offers no place.
func TestDemandOfAFleet(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	one := map[string]string{"BROWSERD_SESSION__MAX": "1"}
	d, e := startNode(t, pg, "one", one), startNode(t, pg, "two", one)
	sums := func(want map[string]int) {
		t.Helper()
		first, second := metricsOf(t, d), metricsOf(t, e)
		for name, n := range want {
			if got := first(name) + second(name); got != n {
				t.Errorf("%s: the sum is %d, want %d", name, got, n)
			}
		}
	}
	a, b := newAgent(t, d), newAgent(t, e)
	b.do("session_open", params{"name": "one", "source": "http"})
	b.do("session_open", params{"name": "two", "source": "http"})
	sums(map[string]int{"browserd_sessions": 2, "browserd_sessions_wanted": 2, "browserd_sessions_capacity": 2, "browserd_sessions_refused_total": 0})
	for range 2 {
		a.refused("session_open", params{"name": "three", "source": "http"}, protocol.SessionLimit)
	}
	b.refused("session_open", params{"name": "four", "source": "http"}, protocol.SessionLimit)
	sums(map[string]int{"browserd_sessions": 2, "browserd_sessions_wanted": 4, "browserd_sessions_capacity": 2, "browserd_sessions_refused_total": 3})
	if out, err := d.Command("drain", "--within", "1s"); err != nil {
		t.Logf("drain, with no room elsewhere: %v\n%s", err, out)
	}
	sums(map[string]int{"browserd_sessions_capacity": 1})
}
