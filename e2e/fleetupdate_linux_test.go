package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

// nextVersion builds the program as its next version may be: with a newer protocol between nodes, which it
// prefers, whose messages have members that this version does not know; with more in each checkpoint; and
// with columns that this version does not write.
func nextVersion(t *testing.T) string {
	return edited(t, []edit{
		{"fleet/tls.go", `[]string{"browserd-fleet/1"}`, `[]string{"browserd-fleet/2", "browserd-fleet/1"}`},
		{"fleet/wire.go", "header, err := json.Marshal(f)", `header, err := json.Marshal(struct {
			*frame
			Next map[string]any ` + "`json:\"next\"`" + `
		}{f, map[string]any{"since": 2}})`},
		{"fleet/tables.go", "\n}\n\n// The states of a node.", // behind the last step
			"\n`ALTER TABLE nodes ADD COLUMN zone TEXT NOT NULL DEFAULT ''; ALTER TABLE sessions ADD COLUMN note TEXT NOT NULL DEFAULT ''`,\n}\n\n// The states of a node."},
		{"session/checkpoint.go", "type checkpoint struct {", "type checkpoint struct {\n\tNext map[string]int"},
	}, "-ldflags", "-X main.version=next")
}

// askNode sends one command as an HTTP request to a node.
func askNode(d *testdaemon.Daemon, method string, p params) error {
	body, _ := json.Marshal(p)
	req, err := http.NewRequest(http.MethodPost, d.URL()+"/v1/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+d.Token)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var failed struct{ Error protocol.ErrorData }
	if resp.StatusCode != http.StatusOK {
		if err := json.Unmarshal(text, &failed); err != nil {
			return err
		}
		return errors.New(string(failed.Error.Code) + ": " + failed.Error.Message)
	}
	return nil
}

// Three nodes are updated one by one, and one of them back again, while their sessions are used: nodes of
// both versions pass commands on to each other and hand sessions over, no command fails, and none is done
// twice. browserd fleet says that the nodes are of two versions.
func TestARollingUpdate(t *testing.T) {
	t.Parallel()
	next := nextVersion(t)
	now, err := testdaemon.PlainBinary()
	if err != nil {
		t.Fatal(err)
	}
	pg := testpostgres.Start(t)
	names := []string{"one", "two", "three"}
	start := func(i int, binary string) *testdaemon.Daemon {
		o := nodeOptions(t, pg, names[i], testdaemon.FreeAddr(t), nil)
		o.Binary = binary
		return testdaemon.Start(t, o)
	}
	var mu sync.RWMutex // of nodes: held for reading while a request is under way at one
	nodes := make([]*testdaemon.Daemon, 3)
	for i := range nodes {
		nodes[i] = start(i, now)
	}
	w := newPageServer(t)
	posts := account(w)
	const sessions = 6
	for n := range sessions {
		name := fmt.Sprint("s", n)
		for _, c := range []struct {
			method string
			p      params
		}{
			{"session_open", params{"name": name}},
			{"open", params{"session": name, "url": w.URL + fmt.Sprint("/login?as=user", n)}},
			{"eval", params{"session": name, "expression": fmt.Sprintf(`localStorage.setItem("kept", "storage%d")`, n)}},
		} {
			if err := askNode(nodes[n%3], c.method, c.p); err != nil {
				t.Fatalf("%s %s: %v", name, c.method, err)
			}
		}
	}
	var stop atomic.Bool
	defer stop.Store(true)
	var done, at atomic.Int32
	var all sync.WaitGroup
	for n := range sessions {
		all.Go(func() {
			for !stop.Load() {
				mu.RLock()
				err := askNode(nodes[int(at.Add(1))%3], "click", params{"session": fmt.Sprint("s", n), "ref": `role=button[name="Buy"]`})
				mu.RUnlock()
				if err != nil {
					t.Errorf("session %d: %v", n, err)
					return
				}
				done.Add(1)
			}
		})
	}
	// more waits until the sessions were used by all nodes again.
	more := func() {
		t.Helper()
		least := done.Load() + 3*sessions
		until(t, 30*time.Second, "more clicks", func() bool { return done.Load() >= least || t.Failed() })
	}
	replace := func(i int, binary string) {
		t.Helper()
		if out, err := nodes[i].Command("drain"); err != nil {
			t.Errorf("draining node %d: %q, %v", i+1, out, err)
		}
		more() // at the node that drains, too
		mu.Lock()
		defer mu.Unlock()
		nodes[i].Stop()
		nodes[i] = start(i, binary)
	}
	const says = "The nodes are of 2 versions"
	report := func(i int) string {
		t.Helper()
		out, err := nodes[i].Command("fleet")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	more()
	if out := report(0); strings.Contains(out, says) {
		t.Errorf("before the update:\n%s", out)
	}
	for _, step := range []struct {
		node   int
		binary string
		mixed  bool
	}{{0, next, true}, {1, next, true}, {1, now, true}, {1, next, true}, {2, next, false}} {
		replace(step.node, step.binary)
		more()
		for i := range nodes {
			if out := report(i); strings.Contains(out, says) != step.mixed {
				t.Errorf("node %d, after node %d was replaced:\n%s", i+1, step.node+1, out)
			}
		}
	}
	stop.Store(true)
	all.Wait()
	if posts.Load() != done.Load() {
		t.Errorf("%d clicks were answered, and %d did something", done.Load(), posts.Load())
	}
	t.Logf("%d clicks", done.Load())
	for n := range sessions {
		a := newAgent(t, nodes[n%3])
		a.do("snapshot", params{"session": fmt.Sprint("s", n)})
		content := a.do("read", params{"session": fmt.Sprint("s", n)}).Content
		if !strings.Contains(content, fmt.Sprint("user", n)) || !strings.Contains(content, fmt.Sprint("kept storage", n)) {
			t.Errorf("session %d is %q", n, content)
		}
	}
}
