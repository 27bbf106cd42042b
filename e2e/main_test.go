// Package e2e_test drives the built daemon from outside, as a client does:
// over its WebSocket, with real Chromium, on pages served on loopback.
// A test that looks at its daemon, ends it or gives it settings starts one of its own,
// which fails the test where it leaves a process or a profile behind; the others share
// one daemon, each as an agent of its own (sharedDaemon).
//
// The cases that the project is held to live beside the module, in
// ../shared/cases; where that folder is absent their tests are skipped and say so.
package e2e_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
	"github.com/browserd/browserd/snapshot/pagetext"
)

func TestMain(m *testing.M) {
	code := 0
	left := testdaemon.Main(func(tb testdaemon.TB) {
		shared.tb = tb
		if testdaemon.Fleet() {
			testdaemon.StartDatabase(tb)
		}
		code = m.Run()
		if shared.daemon != nil {
			checkShared(tb)
		}
	})
	testdaemon.RemoveBinary()
	os.Exit(max(code, left))
}

// aboutOneProcess leaves a test out where three daemons serve as one: it looks at one process, at its
// home, its log or what only it has, and runs without testdaemon.FleetEnv.
func aboutOneProcess(t *testing.T, why string) {
	t.Helper()
	if testdaemon.Fleet() {
		t.Skip("about one process: " + why)
	}
}

// dirForAll is a folder of that mode which Chromium's user gets to: through a t.TempDir only its owner does.
func dirForAll(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "browserd-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sharedCases is the folder of cases, which is never part of the repository.
func sharedCases(t *testing.T) string {
	t.Helper()
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "..", "shared", "cases")
	if _, err := os.Stat(dir); err != nil {
		untested.Skip(t, "the cases are not here: %v", err)
	}
	return dir
}

// agent is one client with a session of its own: what a test acts through.
type agent struct {
	t testing.TB
	c *client.Client
	// held is the page's text, with every snapshot and delta applied.
	held pagetext.PageText
	// exact compares held with a fresh snapshot after each delta of an action.
	exact bool
}

func newAgent(t testing.TB, d *testdaemon.Daemon) *agent {
	t.Helper()
	return &agent{t: t, c: d.Dial(t)}
}

// params are the parameters of a command.
type params map[string]any

// result is what the tests look at of any command's result.
type result struct {
	Session  string             `json:"session"`
	Page     protocol.Page      `json:"page"`
	Effect   *protocol.Effect   `json:"effect"`
	Snapshot *snapshot.Snapshot `json:"snapshot"`
	Delta    *snapshot.Delta    `json:"delta"`
	Content  string             `json:"content"`
	Value    any                `json:"value"`
	Tabs     []protocol.Tab     `json:"tabs"`
	Attempts []protocol.Attempt `json:"attempts"`
	Sessions []session.Info     `json:"sessions"`

	SessionEnded *session.Ended `json:"session_ended"`
}

// event waits for the next event of that type.
func (a *agent) event(typ string) protocol.Event {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 20*time.Second)
	defer cancel()
	e, err := a.c.Event(ctx, client.OfType(typ))
	if err != nil {
		a.t.Fatalf("no event %s: %v", typ, err)
	}
	return e
}

// errHang is an answer that did not come in the time that the protocol promises.
var errHang = errors.New("no answer within the command's time")

// try sends a command and waits for what the protocol promises: timeout_ms (or
// its default) and a second.
func (a *agent) try(method string, p params) (result, error) {
	if p == nil {
		p = params{}
	}
	limit := 30 * time.Second
	if ms, ok := p["timeout_ms"].(int); ok {
		limit = time.Duration(ms) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+2*time.Second)
	defer cancel()
	var r result
	err := a.c.Call(ctx, method, p, &r)
	if errors.Is(err, context.DeadlineExceeded) {
		return r, errHang
	}
	if r.Snapshot != nil {
		a.held.Snapshot(r.Snapshot.Text)
	} else if r.Delta != nil {
		if err := a.held.Delta(r.Delta.Text); err != nil {
			a.t.Errorf("%s %v: the delta cannot be applied: %v\n%s", method, p, err, r.Delta.Text)
		}
	}
	if a.exact && r.Delta != nil && method != "snapshot" {
		a.holds(method, r.Delta.Text)
	}
	return r, err
}

// do is try for what must succeed.
func (a *agent) do(method string, p params) result {
	a.t.Helper()
	r, err := a.try(method, p)
	if err != nil {
		a.t.Fatalf("%s %v: %v", method, p, err)
	}
	return r
}

// holds checks that the client, which has applied every delta, has the text of a fresh
// snapshot. A page that changed by itself in between is compared again.
func (a *agent) holds(method, delta string) {
	a.t.Helper()
	diff := ""
	for range 5 {
		if _, err := a.try("snapshot", params{"delta": true}); err != nil {
			return // a dialog is open, or the page has gone
		}
		before := a.held.Text()
		if _, err := a.try("snapshot", nil); err != nil {
			return
		}
		if diff = cmp.Diff(a.held.Text(), before); diff == "" {
			return
		}
	}
	a.t.Errorf("the page before what the client holds after %s:\n%s\nits delta:\n%s", method, diff, delta)
}

// refused is try for what must be refused; it returns the error.
func (a *agent) refused(method string, p params, want protocol.Code) *protocol.Error {
	a.t.Helper()
	_, err := a.try(method, p)
	var e *protocol.Error
	if !errors.As(err, &e) {
		a.t.Fatalf("%s %v: %v, want %s", method, p, err, want)
	}
	if e.Code != want {
		a.t.Fatalf("%s %v: %s: %s, want %s", method, p, e.Code, e.Message, want)
	}
	return e
}

func (a *agent) open(url string) {
	a.t.Helper()
	a.do("open", params{"url": url, "snapshot": "none", "timeout_ms": 20000})
}

// everything asks for a snapshot without limits that a test page could meet.
var everything = params{
	"format": "json", "interactive_only": false, "max_chars": 400000,
	"max_nodes": 20000, "max_depth": 60, "max_text": 500,
}

// view is a snapshot as a test searches it.
type view struct{ snapshot.Snapshot }

func (a *agent) trySnapshot() (view, error) {
	r, err := a.try("snapshot", everything)
	if err == nil && r.Snapshot == nil {
		err = errors.New("the result of snapshot has no snapshot")
	}
	if err != nil {
		return view{}, err
	}
	return view{*r.Snapshot}, nil
}

func (a *agent) snapshot() view {
	a.t.Helper()
	v, err := a.trySnapshot()
	if err != nil {
		a.t.Fatalf("snapshot: %v", err)
	}
	return v
}

// all lists the refs of the nodes of the role and name, in order; an empty name is any.
func (v view) all(role, name string) []string {
	var refs []string
	for _, n := range v.Nodes {
		if n.Ref != "" && n.Role == role && (name == "" || fold(n.Name) == name) {
			refs = append(refs, n.Ref)
		}
	}
	return refs
}

// ref is the only node of the role and name; the test ends if there is none.
func (v view) ref(t testing.TB, role, name string) string {
	t.Helper()
	refs := v.all(role, name)
	if len(refs) == 0 {
		t.Fatalf("no %s %q in:\n%s", role, name, v.Text)
	}
	return refs[0]
}

// fold makes every run of white space one space, as accname compares.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// click clicks and waits for no snapshot.
func click(ref string, more params) params {
	p := params{"ref": ref, "snapshot": "none", "timeout_ms": 8000}
	for k, v := range more {
		p[k] = v
	}
	return p
}
