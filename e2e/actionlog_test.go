package e2e_test

import (
	"bytes"
	"encoding/json"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

type logLine struct {
	N       int              `json:"n"`
	Command string           `json:"command"`
	Params  map[string]any   `json:"params"`
	Ref     *protocol.Hit    `json:"ref"`
	Code    string           `json:"code"`
	Page    *protocol.Page   `json:"page"`
	Effect  *protocol.Effect `json:"effect"`
	Picture string           `json:"picture"`
	Full    bool             `json:"full"`
}

// The action log says what was done, to what and with what effect, with a
// picture of each action, without secrets, and never more than it may.
func TestActionLog(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_ACTION_LOG__DIR": logs, "BROWSERD_ACTION_LOG__PICTURES": "true", "BROWSERD_ACTION_LOG__SESSIONS": "2", "BROWSERD_ACTION_LOG__BYTES": "200000",
	}})
	w := newPageServer(t)
	w.serve("/page", page("log", `<label>Name <input></label><label>Word <input type=password></label><input aria-label=Code autocomplete=one-time-code><label>Anything <input name=csrf_token></label>
		<button onclick="document.title='pressed'">Press</button>`), "")
	a := newAgent(t, d)
	a.do("session_open", params{"name": "first", "headers": params{"Authorization": canary}})
	a.open(w.URL + "/page?access_token=" + canary)
	v := a.snapshot()
	a.do("type", params{"ref": v.ref(t, "textbox", "Name"), "text": "Zoë"})
	for _, secret := range []string{"Word", "Code", "Anything"} {
		a.do("type", params{"ref": v.ref(t, "textbox", secret), "text": canary, "snapshot": "none"})
	}
	a.do("fill", params{"fields": []params{{"ref": v.ref(t, "textbox", "Word"), "value": canary}}, "snapshot": "none"})
	a.do("cookies_set", params{"cookies": []params{{"name": "sid", "value": canary}}})
	a.do("click", click(v.ref(t, "button", "Press"), nil))
	a.refused("click", params{"ref": "@e999"}, protocol.UnknownRef)
	a.do("batch", params{"commands": []params{{"method": "press", "params": params{"key": "Tab", "snapshot": "none"}}}})

	read := func(session string) (string, []logLine) {
		t.Helper()
		dirs, err := filepath.Glob(filepath.Join(logs, "*-"+session))
		if err != nil || len(dirs) != 1 {
			t.Fatalf("directories of %s: %v, %v", session, dirs, err)
		}
		text, err := os.ReadFile(filepath.Join(dirs[0], "log.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var lines []logLine
		for line := range strings.Lines(string(text)) {
			var l logLine
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			lines = append(lines, l)
		}
		return dirs[0], lines
	}
	dir, lines := read("first")
	if found := filesWith(t, logs, canary); len(found) > 0 {
		t.Errorf("a secret is in %v", found)
	}
	commands := []string{}
	for i, l := range lines {
		commands = append(commands, l.Command)
		if l.N != i+1 {
			t.Errorf("line %d is numbered %d", i+1, l.N)
		}
		acts := map[string]bool{"open": true, "type": true, "fill": true, "click": true, "press": true}[l.Command]
		if acts != (l.Picture != "") {
			t.Errorf("%s has the picture %q", l.Command, l.Picture)
		}
		if l.Picture == "" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, l.Picture))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := jpeg.Decode(bytes.NewReader(b)); err != nil {
			t.Errorf("%s: %v", l.Picture, err)
		}
	}
	if diff := cmp.Diff(commands, []string{"session_open", "open", "snapshot", "type", "type", "type", "type", "fill", "cookies_set", "click", "click", "press"}); diff != "" {
		t.Fatalf("got before want:\n%s", diff)
	}
	if l := lines[3]; l.Params["text"] != "Zoë" || l.Ref == nil || l.Ref.Role != "textbox" || l.Ref.Name != "Name" || l.Code != "ok" || l.Page.Revision != 2 || !l.Effect.Changed {
		t.Errorf("%+v, ref %+v", l, l.Ref)
	}
	if l := lines[4]; l.Params["text"] != "***" {
		t.Errorf("%+v", l)
	}
	if l := lines[9]; l.Ref.Name != "Press" || l.Effect == nil || l.Effect.Hit != l.Ref.Ref {
		t.Errorf("%+v", l)
	}
	if l := lines[10]; l.Code != "unknown_ref" || l.Effect != nil {
		t.Errorf("%+v", l)
	}

	// So much of a session, and so many sessions.
	for range 60 {
		a.do("press", params{"key": "Tab", "snapshot": "none"})
	}
	dir, lines = read("first")
	size := int64(0)
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if !lines[len(lines)-1].Full || size > 200_100 {
		t.Errorf("%d bytes, the last line is %+v", size, lines[len(lines)-1])
	}
	for _, name := range []string{"second", "third"} {
		b := newAgent(t, d)
		b.do("session_open", params{"name": name})
	}
	left, _ := filepath.Glob(filepath.Join(logs, "*"))
	if len(left) != 2 || strings.HasSuffix(left[0], "first") {
		t.Errorf("%v", left)
	}
}
