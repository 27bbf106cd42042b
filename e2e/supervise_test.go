package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

const (
	ann  = "ann-token-0123456789abcdef"  // an agent, as policy.autonomy says
	bob  = "bob-token-0123456789abcdef"  // an agent that only reads
	olga = "olga-token-0123456789abcdef" // an operator
)

// driven starts a daemon with two agents and an operator, and more environment.
func driven(t *testing.T, home string, more map[string]string) *testdaemon.Daemon {
	t.Helper()
	env := map[string]string{
		"BROWSERD_AUTH__TOKENS": fmt.Sprintf(`[{"agent":"ann","token":%q},{"agent":"bob","token":%q,"autonomy":"read_only"},{"agent":"olga","token":%q,"role":"operator"}]`, ann, bob, olga),
		"BROWSERD_LOG__LEVEL":   "debug",
	}
	for k, v := range more {
		env[k] = v
	}
	return testdaemon.Start(t, testdaemon.Options{Env: env, Home: home})
}

// as is a client with the token.
func as(t *testing.T, d *testdaemon.Daemon, token string) *agent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, d.WS(), token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Logf("closing the client: %v", err)
		}
	})
	return &agent{t: t, c: c}
}

// asked waits for the next question to the operator.
func (a *agent) asked() map[string]any {
	a.t.Helper()
	return a.event(protocol.EventConfirmationRequested).Fields
}

// wait is the answer of a command that was sent before.
func (a *agent) wait(p *client.Pending) (result, error) {
	ctx, cancel := context.WithTimeout(a.t.Context(), 40*time.Second)
	defer cancel()
	var r result
	return r, p.Wait(ctx, &r)
}

func (a *agent) send(method string, p params) *client.Pending {
	a.t.Helper()
	pending, err := a.c.Send(method, p)
	if err != nil {
		a.t.Fatal(err)
	}
	return pending
}

const signIn = `<h1>Sign in</h1><form action="/done"><input aria-label="PIN" type="password" name="pin"><button>Pay now</button></form><script>window.n=0</script>`

// A supervised agent on a real page: what it may do by itself, it does; what
// policy.confirm names, an operator is asked about, with the element as the
// agent saw it; a no leaves the page as it was.
func TestSupervised(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "click,type,eval"})
	w := newPageServer(t)
	w.serve("/pay", page("pay", signIn), "")
	w.serve("/done", page("done", "<h1>Paid</h1>"), "")
	a, o := as(t, d, ann), as(t, d, olga)
	a.open(w.URL + "/pay?token=hunter2")
	v := a.snapshot()

	typing := a.send("type", params{"ref": v.ref(t, "textbox", "PIN"), "text": "hunter2", "snapshot": "none"})
	q := o.asked()
	if q["command"] != "type" || q["role"] != "textbox" || q["name"] != "PIN" || q["ref"] != v.ref(t, "textbox", "PIN") || q["agent"] != "ann" || q["url"] != w.URL+"/pay?token=(7 characters)" {
		t.Errorf("the operator is asked %v", q)
	}
	if strings.Contains(fmt.Sprint(q), "hunter2") {
		t.Errorf("the operator is shown the secret: %v", q)
	}
	if _, err := o.try("confirm", params{"id": q["id"], "allow": true}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.wait(typing); err != nil {
		t.Errorf("the confirmed type: %v", err)
	}

	clicking := a.send("click", params{"ref": v.ref(t, "button", "Pay now"), "snapshot": "none"})
	q = o.asked()
	if q["name"] != "Pay now" {
		t.Errorf("the operator is asked %v", q)
	}
	// Commands that do not queue go on, and the page is still to be read at the answer.
	a.do("tab_list", nil)
	o.do("confirm", params{"id": q["id"], "allow": false})
	if _, err := a.wait(clicking); protocol.CodeOf(err) != protocol.ConfirmationDenied {
		t.Errorf("the refused click: %v", err)
	}
	if got := a.do("snapshot", nil).Page.URL; got != w.URL+"/pay?token=hunter2" {
		t.Errorf("after a no the page is at %s", got)
	}

	// wait with an expression is eval by another name.
	waiting := a.send("wait", params{"expression": "++window.n"})
	if q = o.asked(); q["command"] != "eval" || !strings.Contains(fmt.Sprint(q["params"]), "++window.n") {
		t.Errorf("the operator is asked %v", q)
	}
	o.do("confirm", params{"id": q["id"], "allow": false, "remember": "session"})
	if _, err := a.wait(waiting); protocol.CodeOf(err) != protocol.ConfirmationDenied {
		t.Errorf("the refused expression: %v", err)
	}
	e := a.refused("eval", params{"expression": "++window.n"}, protocol.ConfirmationDenied)
	if e.Details["reason"] != "remembered" {
		t.Errorf("eval after a no for the session: %v", e.Details)
	}
	// In a batch each command is asked about by itself.
	batch := a.send("batch", params{"commands": []params{{"method": "read", "params": params{"kind": "text"}}, {"method": "click", "params": params{"ref": v.ref(t, "button", "Pay now")}}}})
	q = o.asked()
	o.do("confirm", params{"id": q["id"], "allow": true})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var results struct {
		Results []struct{ Result, Error json.RawMessage }
	}
	if err := batch.Wait(ctx, &results); err != nil || len(results.Results) != 2 || results.Results[1].Error != nil {
		t.Errorf("the batch: %v %s", err, results)
	}
	if got := a.do("snapshot", nil).Page.URL; !strings.HasPrefix(got, w.URL+"/done") {
		t.Errorf("after a yes the page is at %s", got)
	}
	// The other agent neither sees the session nor can it answer.
	b := as(t, d, bob)
	b.refused("snapshot", params{"session": fmt.Sprint(q["session"])}, protocol.SessionNotFound)
	o.refused("snapshot", params{"session": fmt.Sprint(q["session"])}, protocol.SessionNotFound)
	b.refused("confirm", params{"id": q["id"], "allow": true}, protocol.PolicyDenied)
	if strings.Contains(d.Log(), "hunter2") {
		t.Error("the log shows the secret")
	}
	// The trail has what was decided and by whom, and what became of the command.
	for _, want := range [][]string{{"olga", "allowed:type"}, {"olga", "denied:click"}, {"ann", "confirmation_denied:denied"}, {"ann", "confirmation_denied:remembered"}} {
		var trail string
		for deadline := time.Now().Add(10 * time.Second); !strings.Contains(trail, want[1]); {
			var err error
			if trail, err = d.Command("audit", "--agent", want[0]); err != nil || time.Now().After(deadline) {
				t.Fatalf("%v is not in the trail: %v\n%s", want, err, trail)
			}
		}
		if strings.Contains(trail, "hunter2") {
			t.Errorf("the trail shows the secret:\n%s", trail)
		}
	}
}

// An agent that only reads opens and reads pages of a real browser, and no
// input of it reaches one.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	d := driven(t, "", nil)
	w := newPageServer(t)
	w.serve("/pay", page("pay", signIn), "")
	b := as(t, d, bob)
	b.open(w.URL + "/pay")
	v := b.snapshot()
	for _, c := range []struct {
		method string
		p      params
	}{
		{"click", params{"ref": v.ref(t, "button", "Pay now")}},
		{"type", params{"ref": v.ref(t, "textbox", "PIN"), "text": "1"}},
		{"press", params{"key": "Enter"}},
		{"eval", params{"expression": "document.forms[0].submit()"}},
		{"wait", params{"expression": "document.forms[0].submit()"}},
	} {
		if e := b.refused(c.method, c.p, protocol.PolicyDenied); e.Details["reason"] != "read_only" {
			t.Errorf("%s: %v", c.method, e.Details)
		}
	}
	b.do("scroll", params{"direction": "down"})
	if r := b.do("read", params{"kind": "text"}); !strings.Contains(r.Content, "Sign in") || !strings.HasSuffix(r.Page.URL, "/pay") {
		t.Errorf("the page afterwards: %+v", r)
	}
	// The daemon's own autonomy counts for who has none of their own.
	as(t, d, ann).do("eval", params{"expression": "1+1"})
}

// What holds for a token holds over every transport: over HTTP and over MCP, whose own
// session is no way into another agent's.
func TestAutonomyHoldsOverEveryTransport(t *testing.T) {
	t.Parallel()
	d := driven(t, "", nil)
	w := newPageServer(t)
	w.serve("/pay", page("pay", signIn), "")
	post := func(path, token, session, body string) (int, http.Header, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", d.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, a.Header, string(text)
	}
	if status, _, body := post("/v1/eval", bob, "", `{"expression":"1"}`); status != http.StatusForbidden || !strings.Contains(body, `"read_only"`) {
		t.Errorf("eval of who only reads, over HTTP: %d %s", status, body)
	}
	const greeting = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	greet := func(token string) string {
		t.Helper()
		status, h, body := post("/mcp?tools=all", token, "", greeting)
		if status != http.StatusOK {
			t.Fatalf("initialize: %d %s", status, body)
		}
		post("/mcp?tools=all", token, h.Get("Mcp-Session-Id"), `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		return h.Get("Mcp-Session-Id")
	}
	tool := func(name, arguments string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
	}
	if _, _, body := post("/mcp?tools=all", bob, greet(bob), tool("eval", `{"expression":"1"}`)); !strings.Contains(body, "policy_denied") || !strings.Contains(body, `"isError":true`) {
		t.Errorf("eval of who only reads, over MCP: %s", body)
	}
	own := greet(ann)
	if _, _, body := post("/mcp?tools=all", ann, own, tool("session_open", `{"name":"secret-of-ann"}`)); strings.Contains(body, `"isError":true`) {
		t.Fatalf("session_open over MCP: %s", body)
	}
	if _, _, body := post("/mcp?tools=all", ann, own, tool("session_list", `{}`)); !strings.Contains(body, "secret-of-ann") {
		t.Fatalf("ann's own sessions: %s", body)
	}
	if status, _, body := post("/mcp?tools=all", bob, own, tool("session_list", `{}`)); strings.Contains(body, "secret-of-ann") {
		t.Errorf("bob uses ann's MCP session: %d %s", status, body)
	}
	if status, _, body := post("/mcp?tools=all", bob, own, tool("eval", `{"expression":"1"}`)); !strings.Contains(body, "policy_denied") && status < 400 {
		t.Errorf("bob acts through ann's MCP session: %d %s", status, body)
	}
}

// An address that is shut: the agent's refusal names a question, an operator
// answers it for good, the same command works, and it still does after a
// restart; the file that keeps it is the user's alone.
func TestARefusedAddressIsOpenedByAnOperator(t *testing.T) {
	aboutOneProcess(t, "the file of what is answered for good")
	t.Parallel()
	shut := map[string]string{"BROWSERD_POLICY__ALLOW_HOSTS": "other.test"}
	d := driven(t, "", shut)
	w := newPageServer(t)
	w.serve("/in", page("in", "<h1>Inside</h1>"), "")
	a, o := as(t, d, ann), as(t, d, olga)
	e := a.refused("open", params{"url": w.URL + "/in"}, protocol.PolicyDenied)
	id := e.Details["confirmation"]
	q := o.asked()
	u, _ := url.Parse(w.URL)
	if id == nil || q["id"] != id || e.Details["reason"] != "ip_loopback" || !strings.Contains(fmt.Sprint(q["config"]), u.Hostname()) {
		t.Fatalf("refused with %v, and the operator is asked %v", e.Details, q)
	}
	o.do("confirm", params{"id": id, "allow": true, "remember": "always"})
	a.open(w.URL + "/in")
	a.snapshot().ref(t, "heading", "Inside")
	path := filepath.Join(d.Home, "state", "browserd", "confirmed.json")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v %v", path, info, err)
	}
	d.Stop()

	d = driven(t, d.Home, shut)
	a = as(t, d, ann)
	a.open(w.URL + "/in")
	// The daemon itself stays shut, and nobody is asked about it.
	e = a.refused("open", params{"url": d.URL() + "/healthz"}, protocol.PolicyDenied)
	if e.Details["confirmation"] != nil || e.Details["reason"] != "ip_self" {
		t.Errorf("the daemon's own address: %v", e.Details)
	}
}

// Nothing that a client holds secret is written where others read: not into the
// log at its most talkative, not into an error, not into what the page shows.
func TestSecretsStayOutOfLogsErrorsAndSnapshots(t *testing.T) {
	t.Parallel()
	const canary = "canary-7f3a9c"
	d := driven(t, "", map[string]string{
		"BROWSERD_AUTH__TOKENS":           fmt.Sprintf(`[{"agent":"ann","token":"%s-0123456789"},{"agent":"olga","token":%q,"role":"operator"}]`, canary, olga),
		"BROWSERD_POLICY__UPSTREAM_PROXY": "",
	})
	w := newPageServer(t)
	w.serve("/in", page("in", signIn), "")
	w.mux.HandleFunc("/cookie", func(rw http.ResponseWriter, _ *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "sid", Value: canary})
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, page("cookie", signIn))
	})
	w.mux.HandleFunc("/private", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("WWW-Authenticate", `Basic realm="private"`)
		rw.WriteHeader(http.StatusUnauthorized)
	})
	a := as(t, d, canary+"-0123456789")
	var said []string // errors, and what is not the page's own address
	fails := func(method string, p params) {
		t.Helper()
		_, err := a.try(method, p)
		var e *protocol.Error
		if !errors.As(err, &e) {
			t.Errorf("%s %v: %v, want an error", method, p, err)
			return
		}
		data, _ := json.Marshal(e.Data())
		said = append(said, method+": "+e.Message+" "+string(data))
	}
	host := strings.TrimPrefix(w.URL, "http://")
	fails("open", params{"url": "http://ann:" + canary + "@" + host + "/in"})
	fails("open", params{"url": "http://" + canary + "@10.0.0.1/in?token=" + canary})
	fails("open", params{"url": "http://10.0.0.1/in?token=" + canary + "#" + canary})
	fails("open", params{"url": "http://127.0.0.1:1/in?token=" + canary})
	fails("session_open", params{"headers": map[string]string{"Authorization": "Bearer " + canary}, "timezone": "Nowhere/Else"})
	a.do("session_open", params{"headers": map[string]string{"Authorization": "Bearer " + canary}})
	a.do("open", params{"url": w.URL + "/cookie?token=" + canary, "snapshot": "none"})
	v := a.snapshot()
	a.do("type", params{"ref": v.ref(t, "textbox", "PIN"), "text": canary})
	r := a.do("snapshot", params{"interactive_only": false})
	// The first line holds the page's own address, which its agent gave it.
	_, lines, _ := strings.Cut(r.Snapshot.Text, "\n")
	said = append(said, "snapshot: "+lines)
	fails("type", params{"ref": "@e999", "text": canary})
	fails("type", params{"ref": v.ref(t, "button", "Pay now"), "text": canary, "timeout_ms": 2000})
	fails("wait", params{"text": "what never comes", "timeout_ms": 300})
	a.try("open", params{"url": w.URL + "/private?token=" + canary, "timeout_ms": 5000})
	for i, s := range said {
		s = strings.ReplaceAll(s, r.Page.URL, "") // where its agent sent it
		if strings.Contains(s, canary) {
			t.Errorf("answer %d shows the secret: %s", i, s)
		}
	}
	// Who guesses is logged; with what, is not.
	for _, header := range []http.Header{{"Authorization": {"Bearer " + canary}}, {"Authorization": {"Bearer " + canary + "-0123456789"}, "Origin": {"https://" + canary + ".test"}}} {
		req, _ := http.NewRequest("POST", d.URL()+"/v1/ping?token="+canary, strings.NewReader(`{"`+canary+`":1}`))
		req.Header = header
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
	}
	req, _ := http.NewRequest("GET", d.URL()+"/metrics", nil)
	req.Header.Set("Authorization", "Bearer "+canary+"-0123456789")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	figures, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || strings.Contains(string(figures), canary) {
		t.Errorf("the metrics: HTTP %d, %v\n%s", resp.StatusCode, err, figures)
	}
	d.Stop()
	for line := range strings.Lines(d.Log()) {
		if strings.Contains(line, canary) {
			t.Errorf("the log shows the secret: %s", line)
		}
	}
	if !strings.Contains(d.Log(), "level=DEBUG") {
		t.Error("the log is not at its most talkative")
	}
}

// A token is where it belongs and nowhere else: not in a command line, not in
// the environment of Chromium's processes, not in the log.
func TestTheTokenStaysWithTheDaemon(t *testing.T) {
	t.Parallel()
	// Chromium writes over its environment, so that a script which notes it runs in its place.
	dir := dirForAll(t, 0o777)
	wrapper, environments := filepath.Join(dir, "wrapper"), filepath.Join(dir, "environments")
	script := "#!/bin/sh\ncat /proc/self/environ >>" + environments + "\nexec " + foundChromium(t).Path + ` "$@"` + "\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	d := driven(t, "", map[string]string{"BROWSERD_BROWSER__PATH": wrapper})
	w := newPageServer(t)
	w.serve("/in", page("in", "<h1>Inside</h1>"), "")
	as(t, d, ann).open(w.URL + "/in")
	below := testdaemon.Descendants(d.PID)
	if len(below) == 0 {
		t.Fatal("the daemon has no Chromium")
	}
	secrets := []string{ann, bob, olga, d.Token}
	looks := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) { // a process may have ended
			t.Fatal(err)
		}
		if slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(string(text), s) }) {
			t.Errorf("%s shows a token", path)
		}
		return string(text)
	}
	if line := looks(fmt.Sprintf("/proc/%d/cmdline", d.PID)); !strings.Contains(line, "serve") {
		t.Errorf("the daemon's command line is %q", line)
	}
	for _, p := range below {
		looks(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		looks(fmt.Sprintf("/proc/%d/environ", p.PID))
	}
	if !strings.Contains(looks(environments), "HOME=") {
		t.Error("Chromium's environment was not noted")
	}
	if !strings.Contains(looks(filepath.Join(d.Home, "log")), "level=") {
		t.Error("the daemon has no log")
	}
}

// What an operator allows on one site does not happen on another, to which the
// page went by itself while the operator was asked.
func TestConfirmedWhereItWasAsked(t *testing.T) {
	t.Parallel()
	elsewhere := serveAt(t, "127.0.0.2", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<title>elsewhere</title>")
	})
	arrived := make(chan bool, 1)
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "eval,cookies_get", "BROWSERD_POLICY__ALLOW_HOSTS": "127.0.0.0/8"})
	w := newPageServer(t)
	w.serve("/good", page("good", `<title>good</title><script>
		fetch("/wait").then(() => location = "http://`+elsewhere+`/")</script>`), "")
	w.mux.HandleFunc("/wait", func(http.ResponseWriter, *http.Request) { <-arrived })
	a, o := as(t, d, ann), as(t, d, olga)
	a.open(w.URL + "/good")
	running := a.send("eval", params{"expression": "document.title"})
	q := o.asked()
	if "http://"+fmt.Sprint(q["host"]) != w.URL {
		t.Errorf("asked about %v", q["host"])
	}
	arrived <- true
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		e, err := a.c.Event(ctx, client.OfType(protocol.EventNavigated))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(fmt.Sprint(e.Fields["url"]), elsewhere) {
			break
		}
	}
	o.do("confirm", params{"id": q["id"], "allow": true})
	_, err := a.wait(running)
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.ConfirmationDenied || e.Details["reason"] != "moved" {
		t.Errorf("the command on the other site: %v", err)
	}
	// What is about all sites is asked about none.
	listing := a.send("cookies_get", params{})
	if q = o.asked(); q["host"] != nil {
		t.Errorf("the cookies are asked about for %v alone", q["host"])
	}
	o.do("confirm", params{"id": q["id"], "allow": true})
	if _, err := a.wait(listing); err != nil {
		t.Error(err)
	}
}
