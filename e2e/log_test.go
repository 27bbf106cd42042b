package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

// Each command has an id of its own in the log, with its session: its own line,
// and what other packages log while it runs. The HTTP transport tells the client the id.
func TestLogSaysWhichRequest(t *testing.T) {
	aboutOneProcess(t, "its log")
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{
		Args: []string{"--log.level", "debug", "--log.format", "json"},
		// It is there, and does not start: what the session makes of that is logged on the way.
		Env: map[string]string{"BROWSERD_BROWSER__PATH": "/bin/true"},
	})
	app := demoServer(t)
	ids := map[string]bool{}
	session := ""
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+"/v1/open", strings.NewReader(`{"url":"`+app+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+d.Token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		session = resp.Header.Get("Browserd-Session")
		ids[resp.Header.Get("Browserd-Request")] = true
	}
	if len(ids) != 2 || ids[""] || session == "" {
		t.Fatalf("requests %v, the last in session %q", ids, session)
	}
	commands, others := 0, 0
	for line := range strings.Lines(d.Log()) {
		var said struct{ Msg, Request, Session, Command string }
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		switch {
		case said.Msg == "command":
			if commands++; !ids[said.Request] || !strings.HasPrefix(said.Session, "s_") || said.Command != "open" {
				t.Errorf("a command's line: %s", line)
			}
		case said.Msg == "a session goes on without Chromium":
			if others++; !ids[said.Request] || !strings.HasPrefix(said.Session, "s_") {
				t.Errorf("a line of a command's: %s", line)
			}
		}
	}
	if commands != 2 || others == 0 {
		t.Errorf("%d lines of commands, %d of what they met:\n%s", commands, others, d.Log())
	}
}
