package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/ledger"
)

// An agent opens a page, clicks, types a password and is refused an address.
// `browserd audit` tells who did it, where, and how it ended, and has no word
// of what was typed or asked.
func TestTheTrailOfASession(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	pages := newPageServer(t)
	pages.serve("/page", page("page", `<button>Go</button><input type=password aria-label=PIN>`), "")
	c := d.Dial(t)
	var opened struct{ Session string }
	if err := c.Call(t.Context(), "open", map[string]any{"url": pages.URL + "/page?key=hunter2"}, &opened); err != nil {
		t.Fatal(err)
	}
	must := func(method string, params map[string]any) {
		t.Helper()
		if err := c.Call(t.Context(), method, params, nil); err != nil {
			t.Fatal(err)
		}
	}
	must("click", map[string]any{"ref": "@e1"})
	must("type", map[string]any{"ref": "@e2", "text": "hunter2"})
	must("read", map[string]any{}) // changes nothing and reaches nowhere: not in the trail
	if err := c.Call(t.Context(), "open", map[string]any{"url": "http://169.254.169.254/hunter2"}, nil); err == nil {
		t.Fatal("a metadata address was opened")
	}

	at := fmt.Sprintf("%s/page?key=…", pages.URL)
	want := []ledger.Entry{
		{Agent: "default", Session: opened.Session, Command: "open", URL: at, Status: 200, Source: "chromium", Verdict: "ok"},
		{Agent: "default", Session: opened.Session, Command: "click", URL: at, Status: 200, Source: "chromium", Verdict: "ok"},
		{Agent: "default", Session: opened.Session, Command: "type", URL: at, Status: 200, Source: "chromium", Verdict: "ok"},
		{Agent: "default", Session: opened.Session, Command: "open", URL: "http://169.254.169.254/hunter2", Verdict: "policy_denied:ip_link_local"},
	}
	got := trail(t, d, len(want))
	for i := range got {
		if got[i].Time.IsZero() || got[i].MS < 0 {
			t.Errorf("%+v", got[i])
		}
		got[i].Time, got[i].MS = time.Time{}, 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	table, err := d.Command("audit", "--verdict", "policy_denied")
	if err != nil || strings.Count(table, "\n") != 1 || !strings.Contains(table, "policy_denied:ip_link_local") {
		t.Errorf("%v\n%s", err, table)
	}
}

// A parameter by which a command does what another one does puts it into the trail, and
// so does what a command changes of the session: its cookies, its device, what answers
// its requests.
func TestTheTrailHasWhatParametersImply(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	pages := newPageServer(t)
	pages.serve("/page", page("page", `<button>Go</button>`), "")
	c := d.Dial(t)
	for _, step := range []struct {
		command string
		params  map[string]any
	}{
		{"open", map[string]any{"url": pages.URL + "/page"}},
		{"wait", map[string]any{"text": "Go"}}, // only looks: not in the trail
		{"wait", map[string]any{"expression": "fetch('/out') && true"}},
		{"route", map[string]any{"pattern": "*/script.js", "action": "answer", "body": "run()"}},
		{"emulate", map[string]any{"locale": "nb-NO"}},
		{"cookies_set", map[string]any{"cookies": []map[string]any{{"name": "a", "value": "b"}}}},
		{"state_save", map[string]any{"name": "kept"}},
		{"cookies_clear", map[string]any{}},
		{"session_open", map[string]any{"name": "plain"}}, // opens nothing of anybody's: not in the trail
		{"session_open", map[string]any{"name": "again", "state": "kept"}},
	} {
		if err := c.Call(t.Context(), step.command, step.params, nil); err != nil {
			t.Fatal(step.command, err)
		}
	}
	want := []string{"open", "wait", "route", "emulate", "cookies_set", "state_save", "cookies_clear", "session_open again"}
	var got []string
	for _, e := range trail(t, d, len(want)) {
		if e.Command == "session_open" {
			e.Command += " " + e.Session
		}
		got = append(got, e.Command)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// trail is the audit trail once it has n entries, or what it has after ten seconds: it is
// written some entries at a time.
func trail(t *testing.T, d *testdaemon.Daemon, n int) (got []ledger.Entry) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); len(got) < n && time.Now().Before(deadline); {
		out, err := d.Command("audit", "--json")
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		for line := range strings.Lines(out) {
			var e ledger.Entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
	}
	return got
}
