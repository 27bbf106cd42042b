package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// shared is the daemon of all tests that need nothing of a process of their own.
var shared struct {
	tb     testdaemon.TB // of the whole test process: it ends the daemon
	start  sync.Once
	daemon *testdaemon.Daemon // nil: no test has asked for it
	agents atomic.Int32
}

// sharedAgents is how many tests can share the daemon; each is an agent with a token.
const sharedAgents = 200

func sharedToken(i int) string { return fmt.Sprintf("shared-token-%03d-0123456789abcdef", i) }

// sharedDaemon is a daemon with the options' zero value, whose only agent, as far as
// the test can see, is the test: it has a token of its own. When the test ends, its
// sessions are closed, and it fails where one stays.
func sharedDaemon(t *testing.T) *testdaemon.Daemon {
	t.Helper()
	shared.start.Do(func() {
		tokens := []map[string]string{{"agent": "operator", "token": sharedToken(sharedAgents), "role": "operator"}}
		for i := range sharedAgents {
			tokens = append(tokens, map[string]string{"agent": fmt.Sprint("test", i), "token": sharedToken(i)})
		}
		text, err := json.Marshal(tokens)
		if err != nil {
			t.Fatal(err)
		}
		shared.daemon = testdaemon.Start(shared.tb, testdaemon.Options{Env: map[string]string{"BROWSERD_AUTH__TOKENS": string(text)}})
	})
	if shared.daemon == nil {
		t.Fatal("the shared daemon did not start")
	}
	n := int(shared.agents.Add(1)) - 1
	if n >= sharedAgents {
		t.Fatal("more tests share the daemon than it has agents")
	}
	d := *shared.daemon
	d.Token = sharedToken(n)
	t.Cleanup(func() {
		closeSessions(t, newAgent(t, &d))
		if t.Failed() {
			log := strings.Split(d.Log(), "\n")
			t.Logf("the shared daemon's log ends with:\n%s", strings.Join(log[max(0, len(log)-40):], "\n"))
		}
	})
	return &d
}

// closeSessions closes all sessions of an agent.
func closeSessions(t *testing.T, a *agent) {
	t.Helper()
	type list struct{ Sessions []struct{ Session string } }
	for _, s := range ask[list](a, "session_list", nil).Sessions {
		if _, err := a.try("session_close", params{"session": s.Session}); err != nil {
			t.Errorf("closing %s: %v", s.Session, err)
		}
	}
	if left := ask[list](a, "session_list", nil).Sessions; len(left) > 0 {
		t.Errorf("sessions are left: %v", left)
	}
}

// checkShared says what the tests left in the shared daemon: sessions, commands,
// connections. A test that costs the others their Chromium is told of too.
func checkShared(tb testdaemon.TB) {
	var left []string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		metrics, err := sharedMetrics()
		if err != nil {
			tb.Errorf("the shared daemon's metrics: %v", err)
			return
		}
		left = nil
		for _, name := range []string{"browserd_sessions", "browserd_websockets", "browserd_commands_queued", "browserd_commands_running"} {
			if !strings.Contains(metrics, "\n"+name+" 0\n") {
				left = append(left, name)
			}
		}
		if len(left) == 0 {
			break
		}
	}
	if len(left) > 0 {
		tb.Errorf("behind the last test the shared daemon's metrics are not 0: %v", left)
	}
	if strings.Contains(shared.daemon.Log(), "Chromium is lost") {
		tb.Errorf("the shared daemon lost its Chromium: a test that ends it needs a daemon of its own")
	}
}

func sharedMetrics() (string, error) {
	req, err := http.NewRequest(http.MethodGet, shared.daemon.URL()+"/metrics", nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+sharedToken(sharedAgents))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
