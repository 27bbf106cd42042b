package e2e_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// Four agents of one daemon, by turns and at the same time, each with an autonomy of its
// own and a session of the same name: each is answered by its own autonomy in every round, and
// what an operator lets one supervised agent do again is not let to the other.
func TestAutonomiesDoNotMix(t *testing.T) {
	t.Parallel()
	const cat, dan = "cat-token-0123456789abcdef", "dan-token-0123456789abcdef" // supervised
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_AUTH__TOKENS":    fmt.Sprintf(`[{"agent":"ann","token":%q},{"agent":"bob","token":%q,"autonomy":"read_only"},{"agent":"cat","token":%q,"autonomy":"supervised"},{"agent":"dan","token":%q,"autonomy":"supervised"},{"agent":"olga","token":%q,"role":"operator"}]`, ann, bob, cat, dan, olga),
		"BROWSERD_POLICY__CONFIRM": "eval", "BROWSERD_POLICY__CONFIRM_TIMEOUT": "10s",
	}})
	w := newPageServer(t)
	w.serve("/page", page("page", "<h1>Page</h1><button onclick='report(1)'>Go</button>"), "")
	o := as(t, d, olga)
	agents := map[string]*agent{"ann": as(t, d, ann), "bob": as(t, d, bob), "cat": as(t, d, cat), "dan": as(t, d, dan)}
	for _, a := range agents {
		a.do("session_open", params{"name": "same"})
		a.open(w.URL + "/page")
	}
	// The operator lets cat do it, now and again.
	sent := agents["cat"].send("eval", params{"expression": "1"})
	if q := o.asked(); q["agent"] != "cat" {
		t.Fatalf("the operator is asked %v", q)
	} else {
		o.do("confirm", params{"id": q["id"], "allow": true, "remember": "always"})
	}
	if _, err := agents["cat"].wait(sent); err != nil {
		t.Fatal(err)
	}
	const rounds = 15
	var all sync.WaitGroup
	for name, want := range map[string]map[string]protocol.Code{
		"ann": {"eval": "", "click": "", "snapshot": ""},
		"bob": {"eval": protocol.PolicyDenied, "click": protocol.PolicyDenied, "snapshot": ""},
		"cat": {"eval": "", "click": "", "snapshot": ""},
	} {
		a := agents[name]
		ref := a.snapshot().ref(t, "button", "Go")
		all.Go(func() {
			for range rounds {
				for command, code := range want {
					p := map[string]params{"eval": {"expression": "1"}, "click": {"ref": ref}, "snapshot": {}}[command]
					if _, err := a.try(command, p); err == nil && code != "" || err != nil && protocol.CodeOf(err) != code {
						t.Errorf("%s of %s: %v, want %q", command, name, err, code)
					}
				}
			}
		})
	}
	for i := range rounds {
		sent := agents["dan"].send("eval", params{"expression": "1"})
		q := o.asked()
		if q["agent"] != "dan" {
			t.Errorf("the operator is asked %v", q)
		}
		allow := i%2 == 0
		o.do("confirm", params{"id": q["id"], "allow": allow})
		if _, err := agents["dan"].wait(sent); (err == nil) != allow || err != nil && protocol.CodeOf(err) != protocol.ConfirmationDenied {
			t.Errorf("dan's eval, allowed %v: %v", allow, err)
		}
	}
	all.Wait()
}
