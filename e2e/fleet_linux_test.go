package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

const fleetKey = "the fleet's own state key"

// startNode starts a daemon of a fleet.
func startNode(t *testing.T, pg *testpostgres.Server, name string, env map[string]string) *testdaemon.Daemon {
	t.Helper()
	return testdaemon.Start(t, nodeOptions(t, pg, name, "", env))
}

func nodeOptions(t *testing.T, pg *testpostgres.Server, name, addr string, env map[string]string) testdaemon.Options {
	all := map[string]string{"BROWSERD_FLEET__DSN": pg.DSN, "BROWSERD_FLEET__NAME": name, "BROWSERD_FLEET__LISTEN": "127.0.0.1:0", "BROWSERD_STATE__KEY": fleetKey}
	maps.Copy(all, env)
	// Under the race detector deriving a key takes ten seconds of a processor.
	bin, err := testdaemon.PlainBinary()
	if err != nil {
		t.Fatal(err)
	}
	return testdaemon.Options{Env: all, Addr: addr, Alone: true, Binary: bin}
}

// ready is what /readyz says: empty where the daemon is ready.
func ready(t *testing.T, d *testdaemon.Daemon) string {
	t.Helper()
	resp, err := http.Get(d.URL() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct {
		Ready bool   `json:"ready"`
		Why   string `json:"why"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	if body.Ready != (resp.StatusCode == http.StatusOK) || body.Ready != (body.Why == "") {
		t.Errorf("/readyz: status %d, %+v", resp.StatusCode, body)
	}
	return body.Why
}

// fleetOf is what browserd fleet --json shows.
func fleetOf(t *testing.T, d *testdaemon.Daemon) (r fleet.Report) {
	t.Helper()
	out, err := d.Command("fleet", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// PostgreSQL freezes: a session works on until the lease of its node is over, and then answers
// fleet_unavailable. When PostgreSQL is back the session goes on, with its owner, its epoch
// and its page.
func TestTheFleetsDatabaseFreezes(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	d := startNode(t, pg, "one", nil)
	w := newPageServer(t)
	w.serve("/", page("Count", `<h1>Count</h1><button onclick="this.textContent = Number(this.textContent) + 1">0</button>`), "")
	a := newAgent(t, d)
	a.open(w.URL + "/")
	before := fleetOf(t, d)
	if len(before.Nodes) != 1 || len(before.Sessions) != 1 || before.Nodes[0].Sessions != 1 {
		t.Fatalf("%+v", before)
	}
	began := time.Now()
	pg.Freeze(t)
	presses := 0
	var err error
	for ; time.Since(began) < 15*time.Second; presses++ {
		if _, err = a.try("click", params{"ref": "role=button"}); err != nil {
			break
		}
	}
	lost := time.Since(began)
	if code := protocol.CodeOf(err); code != protocol.FleetUnavailable && code != protocol.OutcomeUnknown {
		t.Errorf("after %v: %v", lost, err)
	}
	if lost < 7*time.Second || lost > 11*time.Second {
		t.Errorf("the node went on for %v, and its lease has 10 s", lost)
	}
	if why := ready(t, d); !strings.Contains(why, "lease") {
		t.Errorf("/readyz says %q", why)
	}
	a.refused("snapshot", nil, protocol.FleetUnavailable)
	a.refused("session_open", params{"name": "more"}, protocol.FleetUnavailable)
	pg.Thaw(t)
	for deadline := time.Now().Add(10 * time.Second); ready(t, d) != ""; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the node does not come back")
		}
	}
	a.do("click", params{"ref": "role=button"})
	t.Logf("%d clicks in %v, then %v", presses, lost, err)
	after := fleetOf(t, d)
	if len(after.Sessions) != 1 || after.Sessions[0] != before.Sessions[0] {
		t.Errorf("the session was %+v, and is %+v", before.Sessions, after.Sessions)
	}
	a.do("session_close", nil)
	if r := fleetOf(t, d); len(r.Sessions) != 0 {
		t.Errorf("after session_close: %+v", r.Sessions)
	}
}

// A name is one session's in the whole fleet, and so is session.max_per_agent. A node that
// ends gives up what it had.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	limit := map[string]string{"BROWSERD_SESSION__MAX_PER_AGENT": "3"}
	d, e := startNode(t, pg, "one", limit), startNode(t, pg, "two", limit)
	a, b := newAgent(t, d), newAgent(t, e)
	a.do("session_open", params{"name": "work", "source": "http"})
	a.do("session_open", params{"name": "more", "source": "http"})
	b.do("session_open", params{"name": "mine", "source": "http"})
	b.refused("session_open", params{"name": "last", "source": "http"}, protocol.SessionLimit)
	a.do("session_close", params{"session": "more"})
	b.refused("session_open", params{"name": "work", "source": "http"}, protocol.InvalidParams)
	b.do("session_open", params{"name": "last", "source": "http"})
	out, err := e.Command("fleet")
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"NODE  NAME", "1     one", "2     two", "up", "work     default  1"} {
		if !strings.Contains(out, words) {
			t.Errorf("browserd fleet does not show %q:\n%s", words, out)
		}
	}
	d.Stop()
	if r := fleetOf(t, e); len(r.Nodes) != 1 || len(r.Sessions) != 3 { // all were at the first, which handed them over
		t.Errorf("when one node has ended: %+v", r)
	}
	b.refused("session_open", params{"name": "work", "source": "http"}, protocol.InvalidParams)
}

// exitOfCommand runs the daemon's program with another environment, in a home of its own.
func exitOfCommand(t *testing.T, d *testdaemon.Daemon, env map[string]string, args ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.Binary(), args...)
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "BROWSERD_TOKEN=" + d.Token, "BROWSERD_SERVER__LISTEN=127.0.0.1:0", "BROWSERD_FLEET__LISTEN=127.0.0.1:0"}
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// What the nodes of a fleet must agree on, and a daemon that serves alone.
func TestAFleetIsRefused(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	d := startNode(t, pg, "one", nil)
	for _, c := range []struct {
		args string
		env  map[string]string
		says string
	}{
		{"serve", map[string]string{"BROWSERD_FLEET__DSN": pg.DSN}, "fleet.dsn: is set without state.key"},
		{"serve", map[string]string{"BROWSERD_FLEET__DSN": pg.DSN, "BROWSERD_STATE__KEY": "another key of sixteen"}, "state.key: the other nodes of the fleet have another"},
		{"serve", map[string]string{"BROWSERD_FLEET__DSN": pg.DSN, "BROWSERD_STATE__KEY": fleetKey, "BROWSERD_TOKEN": ""}, "fleet.dsn: is set without auth.tokens or BROWSERD_TOKEN"},
		{"serve", map[string]string{"BROWSERD_FLEET__DSN": pg.DSN, "BROWSERD_STATE__KEY": fleetKey, "BROWSERD_LEDGER__DSN": "ledger.db"}, "ledger.dsn: a file, and fleet.dsn is set"},
		{"serve", map[string]string{"BROWSERD_FLEET__DSN": pg.DSN, "BROWSERD_STATE__KEY": fleetKey, "BROWSERD_BROWSER__ATTACH": "true"}, "browser.attach: is set, and fleet.dsn too"},
		{"serve", map[string]string{"BROWSERD_FLEET__DSN": "mysql://host/database"}, "fleet.dsn: accepts postgres://"},
		{"fleet", nil, "fleet.dsn is not set: this daemon serves alone"},
	} {
		out, code := exitOfCommand(t, d, c.env, c.args)
		if code != 2 || !strings.Contains(out, c.says) {
			t.Errorf("%s with %v: exit code %d, want 2 and %q:\n%s", c.args, c.env, code, c.says, out)
		}
		if strings.Contains(out, "pass-word") {
			t.Errorf("the password of the database is shown:\n%s", out)
		}
	}
}
