package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

// confirmingNode starts a node with one place for a session, whose agents are asked before http_request and read. A
// question that nobody answers is over after 4 s.
func confirmingNode(t *testing.T, pg *testpostgres.Server, name, home string) *testdaemon.Daemon {
	t.Helper()
	o := nodeOptions(t, pg, name, "", map[string]string{
		"BROWSERD_AUTH__TOKENS":     fmt.Sprintf(`[{"agent":"ann","token":%q},{"agent":"olga","token":%q,"role":"operator"}]`, ann, olga),
		"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "http_request,read", "BROWSERD_POLICY__CONFIRM_TIMEOUT": "4s",
		"BROWSERD_BROWSER__DISABLED": "true", "BROWSERD_SESSION__MAX": "1",
	})
	o.Home = home
	return testdaemon.Start(t, o)
}

// sessionAt opens a session, which the node has itself, since the nodes before it are full.
func sessionAt(t *testing.T, d *testdaemon.Daemon, node int) *agent {
	t.Helper()
	a, name := as(t, d, ann), fmt.Sprint("at", node)
	a.do("session_open", params{"name": name, "source": "http"})
	for _, s := range fleetOf(t, d).Sessions {
		if s.Session == name && s.Node != node {
			t.Fatalf("the session for node %d is at node %d", node, s.Node)
		}
	}
	return a
}

// asksFor returns the error of a request in the agent's own session; fine: it was answered.
func asksFor(a *agent, url string) string {
	_, err := a.try("http_request", params{"url": url})
	return said(err)
}

// readIn returns the error of reading a page in a session of that name; fine: it was answered.
func readIn(a *agent, session, url string) string {
	if _, err := a.try("open", params{"session": session, "url": url}); err != nil {
		return said(err)
	}
	_, err := a.try("read", params{"session": session})
	return said(err)
}

func said(err error) string {
	var e *protocol.Error
	if errors.As(err, &e) {
		return fmt.Sprint(e.Code, " ", e.Details["reason"])
	}
	return fmt.Sprint(err)
}

const (
	fine       = "<nil>"
	remembered = "confirmation_denied remembered"
	unanswered = "confirmation_denied no_answer"
)

// What an operator answers for good at one node holds at all: a command that was allowed and one that was
// refused from the moment on at which confirm has answered, an address that was opened soon, and all of it
// at a node that starts later. What a node had before it was one does not hold.
func TestWhatIsConfirmedForGoodIsTheFleets(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	d, e := confirmingNode(t, pg, "one", ""), confirmingNode(t, pg, "two", "")
	shop, bank := newPageServer(t), newPageServer(t)
	inside := "http://" + serveAt(t, "127.0.0.2", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page("inside", "<h1>Inside</h1>"))
	})
	one, two, o := sessionAt(t, d, 1), sessionAt(t, e, 2), as(t, e, olga)

	// The question is asked at the first node, and the operator is at the second one.
	answered := func(url string, allow bool) {
		t.Helper()
		sent := one.send("http_request", params{"url": url})
		q := o.asked()
		for q["host"] != strings.TrimPrefix(url, "http://") { // a question may be told twice
			q = o.asked()
		}
		o.do("confirm", params{"id": q["id"], "allow": allow, "remember": "always"})
		if got := asksFor(two, url); allow && got != fine || !allow && got != remembered {
			t.Errorf("at the other node, when confirm has answered %t: %s", allow, got)
		}
		if _, err := one.wait(sent); (err == nil) != allow {
			t.Errorf("the request that was answered %t: %v", allow, err)
		}
		if got := asksFor(one, url); allow && got != fine || !allow && got != remembered {
			t.Errorf("once more, after %t: %s", allow, got)
		}
	}
	answered(shop.URL, true)
	answered(bank.URL, false)

	refused := one.refused("open", params{"url": inside}, protocol.PolicyDenied)
	two.refused("open", params{"url": inside}, protocol.PolicyDenied)
	o.do("confirm", params{"id": refused.Details["confirmation"], "allow": true, "remember": "always"})
	one.open(inside)
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if _, err := two.try("open", params{"url": inside}); err == nil {
			t.Logf("open at the other node after %v", time.Since(began).Round(time.Millisecond))
			break
		} else if time.Since(began) > 5*time.Second {
			t.Fatalf("still not open at the other node: %v", err)
		}
	}

	// The third one comes later, and has answers of its own from before.
	home := t.TempDir()
	own := filepath.Join(home, "state", "browserd", "confirmed.json")
	if err := errors.Join(os.MkdirAll(filepath.Join(home, "tmp"), 0o700), os.MkdirAll(filepath.Dir(own), 0o700),
		os.WriteFile(own, []byte(`{"allow_hosts": ["127.0.0.3"], "commands": [{"agent": "ann", "command": "http_request", "place": "http://127.0.0.1:1", "allow": true}]}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	f := confirmingNode(t, pg, "three", home)
	three := sessionAt(t, f, 3)
	for url, want := range map[string]string{shop.URL: fine, bank.URL: remembered, "http://127.0.0.1:1/": unanswered} {
		if got := asksFor(three, url); got != want {
			t.Errorf("%s at a node that came later: %s, want %s", url, got, want)
		}
	}
	three.open(inside)
	three.refused("open", params{"url": "http://127.0.0.3:1/"}, protocol.PolicyDenied)
	if log := f.Log(); !strings.Contains(log, "is not the fleet's") || !strings.Contains(log, own) {
		t.Errorf("the log does not say that the file does not hold:\n%s", log)
	}
	for _, d := range []*testdaemon.Daemon{d, e} {
		if _, err := os.Stat(filepath.Join(d.Home, "state", "browserd", "confirmed.json")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a node keeps a file of its own: %v", err)
		}
	}
}

// While the database does not answer, nothing can be answered for good, and what was is not known: an operator
// is asked, and where none answers, nothing is done. When it answers, all is as it was.
func TestConfirmingForGoodWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	d := confirmingNode(t, pg, "one", "")
	shop, bank := newPageServer(t), newPageServer(t)
	a, o := sessionAt(t, d, 1), as(t, d, olga)
	for w, allow := range map[*pageServer]bool{shop: true, bank: false} {
		sent := a.send("http_request", params{"url": w.URL})
		o.do("confirm", params{"id": o.asked()["id"], "allow": allow, "remember": "always"})
		if _, err := a.wait(sent); (err == nil) != allow {
			t.Fatal(err)
		}
	}
	pg.Stop()
	sent := a.send("http_request", params{"url": bank.URL})
	q := o.asked()
	if !strings.Contains(fmt.Sprint(q["why"]), "cannot be read now") {
		t.Errorf("the operator is asked %v", q)
	}
	o.refused("confirm", params{"id": q["id"], "allow": true, "remember": "always"}, protocol.FleetUnavailable)
	o.do("confirm", params{"id": q["id"], "allow": true})
	if _, err := a.wait(sent); err != nil {
		t.Errorf("what an operator allows once: %v", err)
	}
	if got := asksFor(a, shop.URL); got != unanswered {
		t.Errorf("what was allowed for good, and cannot be known: %s", got)
	}
	pg.Run(t)
	for deadline := time.Now().Add(20 * time.Second); asksFor(a, shop.URL) != fine; {
		if time.Now().After(deadline) {
			t.Fatalf("when the database answers: %s", asksFor(a, shop.URL))
		}
	}
	if got := asksFor(a, bank.URL); got != remembered {
		t.Errorf("what was refused for good: %s", got)
	}
}

// What an operator answers for the life of a session goes with it, from a node that is drained and from one that is killed:
// a command that was allowed and one that was refused, and an address that was opened. A later session of that name is asked.
func TestWhatIsConfirmedForASessionGoesWithIt(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	d, e, f := confirmingNode(t, pg, "one", ""), confirmingNode(t, pg, "two", ""), confirmingNode(t, pg, "three", "")
	shop, bank := newPageServer(t), newPageServer(t)
	for _, w := range []*pageServer{shop, bank} {
		w.serve("/", page("Home", "<h1>Home</h1>"), "")
	}
	inside := "http://" + serveAt(t, "127.0.0.2", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page("inside", "<h1>Inside</h1>"))
	})
	a, o := sessionAt(t, d, 1), as(t, f, olga) // the operator is at another node
	for url, allow := range map[string]bool{shop.URL: true, bank.URL: false} {
		a.open(url)
		sent := a.send("read", nil)
		q := o.asked()
		for q["host"] != strings.TrimPrefix(url, "http://") {
			q = o.asked()
		}
		o.do("confirm", params{"id": q["id"], "allow": allow, "remember": "session"})
		if _, err := a.wait(sent); (err == nil) != allow {
			t.Errorf("the read that was answered %t: %v", allow, err)
		}
	}
	refused := a.refused("open", params{"url": inside}, protocol.PolicyDenied)
	o.do("confirm", params{"id": refused.Details["confirmation"], "allow": true, "remember": "session"})
	a.open(inside)

	b := as(t, f, ann)
	holds := func(when string, node int) {
		t.Helper()
		for url, want := range map[string]string{shop.URL: fine, bank.URL: remembered} {
			if got := readIn(b, "at1", url); got != want {
				t.Errorf("%s: %s, want %s", when, got, want)
			}
		}
		if _, err := b.try("open", params{"session": "at1", "url": inside}); err != nil {
			t.Errorf("%s: the address: %v", when, err)
		}
		for _, s := range fleetOf(t, f).Sessions {
			if s.Session == "at1" && s.Node != node {
				t.Errorf("%s: the session is at node %d", when, s.Node)
			}
		}
	}
	holds("before", 1)
	if out, err := d.Command("drain"); err != nil {
		t.Fatalf("draining: %q, %v", out, err)
	}
	holds("after a drain", 2)
	e.Kill()
	if _, err := b.try("open", params{"session": "at1", "url": shop.URL}); err != nil {
		t.Logf("the first command after the kill: %v", err)
	}
	holds("after a kill", 3)
	b.do("session_close", params{"session": "at1"})
	b.do("session_open", params{"name": "at1", "source": "http"})
	if got := readIn(b, "at1", shop.URL); got != unanswered {
		t.Errorf("in a later session: %s", got)
	}
	b.refused("open", params{"url": inside}, protocol.PolicyDenied)
}

// Who asks may not answer, whichever node the answer comes by: also while the nodes have their tokens in another order, as
// when one is added in the middle and the nodes learn of it one after the other.
func TestWhoAsksMayNotAnswerByAnotherNode(t *testing.T) {
	t.Parallel()
	const omar = "omar-token-0123456789abcdef"
	pg := testpostgres.Start(t)
	token := func(agent, token, more string) string {
		return fmt.Sprintf(`{"agent":%q,"token":%q%s}`, agent, token, more)
	}
	supervised := token("olga", olga, `,"role":"operator","autonomy":"supervised"`)
	operator, plain := token("omar", omar, `,"role":"operator"`), token("ann", ann, "")
	node := func(name string, tokens ...string) *testdaemon.Daemon {
		return startNode(t, pg, name, map[string]string{
			"BROWSERD_AUTH__TOKENS":    "[" + strings.Join(tokens, ",") + "]",
			"BROWSERD_POLICY__CONFIRM": "read", "BROWSERD_POLICY__CONFIRM_TIMEOUT": "20s", "BROWSERD_BROWSER__DISABLED": "true",
		})
	}
	one, two := node("one", plain, supervised, operator), node("two", operator, plain, supervised)
	w := newPageServer(t)
	w.serve("/", page("Home", "<h1>Home</h1>"), "")
	a := as(t, one, olga)
	a.do("session_open", params{"name": "own", "source": "http"})
	a.open(w.URL + "/")
	for _, d := range []*testdaemon.Daemon{one, two} {
		sent := a.send("read", nil)
		by := as(t, d, omar)
		q := by.asked()
		for _, self := range []*testdaemon.Daemon{one, two} {
			if e := as(t, self, olga).refused("confirm", params{"id": q["id"], "allow": true}, protocol.PolicyDenied); e.Details["reason"] != "role" {
				t.Errorf("the own answer: %v", e.Details)
			}
		}
		by.do("confirm", params{"id": q["id"], "allow": true})
		if _, err := a.wait(sent); err != nil {
			t.Errorf("answered by another operator: %v", err)
		}
	}
}
