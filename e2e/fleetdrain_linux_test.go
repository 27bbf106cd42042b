package e2e_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
)

// A node with a hundred sessions is drained within 30 s, and each session goes on at the other node: logged in, with
// its storage.
func TestANodeWithManySessionsIsDrained(t *testing.T) {
	aboutOneProcess(t, "it makes a fleet of its own")
	const sessions = 100
	pg := testpostgres.Start(t)
	one, two := startNode(t, pg, "one", nil), startNode(t, pg, "two", nil)
	t.Cleanup(two.Kill) // it has nobody to hand them over to
	w := newPageServer(t)
	account(w)
	name := func(n int) string { return fmt.Sprint("s", n) }
	// each does something for all sessions, by four agents at a node.
	each := func(agents [4]*agent, do func(a *agent, n int)) {
		var all sync.WaitGroup
		for i, a := range agents {
			all.Go(func() {
				for n := i; n < sessions; n += len(agents) {
					do(a, n)
				}
			})
		}
		all.Wait()
	}
	try := func(a *agent, command string, p params) (r result) {
		r, err := a.try(command, p)
		if err != nil {
			t.Errorf("%s %v: %v", command, p, err)
		}
		return r
	}
	var at, elsewhere [4]*agent
	for i := range at {
		at[i], elsewhere[i] = newAgent(t, one), newAgent(t, two)
	}
	each(at, func(a *agent, n int) {
		try(a, "session_open", params{"name": name(n)})
		try(a, "open", params{"session": name(n), "url": w.URL + "/login?as=user" + name(n)})
		try(a, "eval", params{"session": name(n), "expression": `localStorage.setItem("kept", "storage` + name(n) + `")`})
	})
	if r := fleetOf(t, one); len(r.Nodes) != 2 || r.Nodes[0].Sessions != sessions {
		t.Fatalf("before: %+v", r.Nodes)
	}
	began, before := time.Now(), testdaemon.CPUBelow(one.PID)
	out, err := one.Command("drain", "--within", "2m")
	took, used := time.Since(began), testdaemon.CPUBelow(one.PID)-before
	if err != nil || !strings.Contains(out, fmt.Sprint("handed over: ", sessions)) {
		t.Errorf("browserd drain: %q, %v", out, err)
	}
	t.Logf("%d sessions were handed over in %v, for which the node and its Chromium used %v of a processor", sessions, took, used)
	if limit := 30 * time.Second; took > limit && used > limit { // one processor is enough; a busy machine gives less
		t.Errorf("browserd drain took %v", took)
	}
	began = time.Now()
	each(elsewhere, func(a *agent, n int) {
		r := try(a, "read", params{"session": name(n)})
		if !strings.Contains(r.Content, "user"+name(n)) || !strings.Contains(r.Content, "kept storage"+name(n)) {
			t.Errorf("%s is %q", name(n), r.Content)
		}
	})
	t.Logf("all were asked for at the other node within %v", time.Since(began))
	if r := fleetOf(t, two); len(r.Sessions) != sessions {
		t.Errorf("%d sessions are left", len(r.Sessions))
	}
}
