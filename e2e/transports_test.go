package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/tools"
)

// move is one command of the script that every transport plays.
type move struct {
	method string
	params map[string]any
}

// visit is a visit to the demo app in more than twenty commands: most of the
// repertoire, one error, another tab.
func visit(app string) []move {
	return []move{
		{"open", map[string]any{"url": app}},
		{"snapshot", map[string]any{"max_chars": 6000, "format": "json"}},
		{"find", map[string]any{"text": "Items", "limit": 2}},
		{"click", map[string]any{"ref": "@e4"}},
		{"type", map[string]any{"ref": "@e10", "text": "Oat milk"}},
		{"click", map[string]any{"ref": "@e11"}},
		{"wait", map[string]any{"text": "Added Oat milk"}},
		{"check", map[string]any{"ref": "@e25", "checked": true}},
		{"read", map[string]any{"kind": "text", "max_chars": 60}},
		{"hover", map[string]any{"ref": `role=button[name="Add"]`}},
		{"focus", map[string]any{"ref": map[string]any{"label": "New item"}}},
		{"press", map[string]any{"key": "Tab"}},
		{"scroll", map[string]any{"to": "bottom"}},
		{"eval", map[string]any{"expression": "[document.title, 1+1]"}},
		{"click", map[string]any{"ref": "@e9999"}},
		{"back", map[string]any{}},
		{"forward", map[string]any{"snapshot": "none"}},
		{"tab_new", map[string]any{"url": app + "about"}},
		{"tab_list", map[string]any{}},
		{"tab_select", map[string]any{"tab": "t1"}},
		{"tab_close", map[string]any{"tab": "t2"}},
		{"batch", map[string]any{"commands": []map[string]any{{"method": "ping"}, {"method": "reload", "params": map[string]any{}}}}},
	}
}

// Each transport plays the same visit in a session of its own and gets the same
// results, field by field; MCP writes them for a model, from the same fields.
func TestEveryTransportAnswersTheSame(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	script := visit(demoServer(t))
	want := viaWebSocket(t, d, script)
	for i, answer := range want {
		if failed := !strings.HasPrefix(answer, "{"); failed != (script[i].method == "click" && strings.Contains(fmt.Sprint(script[i].params), "9999")) {
			t.Errorf("%s %v answered %s", script[i].method, script[i].params, answer)
		}
	}
	compare := func(door string, got []string, want []string) {
		t.Helper()
		for i := range script {
			if diff := cmp.Diff(want[i], got[i]); diff != "" {
				t.Errorf("%s: %s %v\n%s", door, script[i].method, script[i].params, diff)
			}
		}
	}
	compare("http", viaHTTP(t, d, script), want)
	compare("command line", viaCommandLine(t, d, script), want)

	texts := make([]string, len(want))
	var told tools.ReportedState
	for i := range want {
		texts[i] = want[i]
		if strings.HasPrefix(want[i], "{") {
			var more []string
			if script[i].method == "read" { // 60 characters of a longer text
				more = []string{`next: for the rest, the same with "offset": 60`}
			}
			params, err := json.Marshal(script[i].params)
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = textOf(tools.Format(json.RawMessage(want[i]), params, &told, more...))
		}
	}
	for door, transport := range transports(t, d, "all") {
		if door == "http" && testdaemon.Fleet() {
			continue // about one process: where each request is answered at another node, that says again where the session is
		}
		compare("mcp over "+door, viaMCP(t, connect(t, transport, nil), script), texts)
	}
}

var sessionName = regexp.MustCompile(`s_[a-z0-9]{12}`)

// same is an answer as it is compared: without the session's name.
func same(t *testing.T, answer []byte) string {
	t.Helper()
	if !json.Valid(answer) {
		t.Fatalf("no JSON: %s", answer)
	}
	return strings.TrimSpace(sessionName.ReplaceAllString(string(answer), "S"))
}

func viaWebSocket(t *testing.T, d *testdaemon.Daemon, script []move) (answers []string) {
	c := d.Dial(t)
	for _, s := range script {
		var result json.RawMessage
		if err := c.Call(t.Context(), s.method, s.params, &result); err != nil {
			answers = append(answers, failure(t, err))
			continue
		}
		answers = append(answers, same(t, result))
	}
	return answers
}

// failure is how the doors' errors are compared: code and sentence, as each
// door tells both.
func failure(t *testing.T, err error) string {
	t.Helper()
	var said *protocol.Error
	if !errors.As(err, &said) {
		t.Fatal(err)
	}
	return said.Error()
}

func viaHTTP(t *testing.T, d *testdaemon.Daemon, script []move) (answers []string) {
	session := ""
	for _, s := range script {
		params := maps.Clone(s.params)
		if session != "" {
			params["session"] = session
		}
		body, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+"/v1/"+s.method, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+d.Token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		session = resp.Header.Get("Browserd-Session")
		if resp.StatusCode != http.StatusOK {
			var refused struct{ Error protocol.ErrorData }
			if err := json.Unmarshal(answer, &refused); err != nil {
				t.Fatal(err)
			}
			answers = append(answers, string(refused.Error.Code)+": "+refused.Error.Message)
			continue
		}
		answers = append(answers, same(t, answer))
	}
	return answers
}

// viaCommandLine writes the main parameter as an argument and the others as
// flags. The one error of the script ends it with exit code 3.
func viaCommandLine(t *testing.T, d *testdaemon.Daemon, script []move) (answers []string) {
	for _, s := range script {
		row, _ := actions.All.Lookup(s.method)
		args := []string{s.method, "--json"}
		for _, name := range slices.Sorted(maps.Keys(s.params)) {
			word, ok := s.params[name].(string)
			if !ok {
				b, _ := json.Marshal(s.params[name])
				word = string(b)
			}
			if name == row.Main {
				args = append(args, word)
			} else {
				args = append(args, "--"+name+"="+word)
			}
		}
		out, err := d.Command(args...)
		if err == nil {
			answers = append(answers, same(t, []byte(out)))
			continue
		}
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Errorf("browserd %v ended with %v", args, err)
		}
		told, _, _ := strings.Cut(err.Error()[strings.Index(err.Error(), "browserd: ")+len("browserd: "):], "\n")
		answers = append(answers, told)
	}
	return answers
}

func viaMCP(t *testing.T, s *mcp.ClientSession, script []move) (answers []string) {
	for _, step := range script {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: step.method, Arguments: step.params})
		if err != nil {
			t.Fatalf("%s: %v", step.method, err)
		}
		text := textOf(r)
		if r.IsError {
			text, _, _ = strings.Cut(text, "\nnext: ")
		}
		answers = append(answers, text)
	}
	return answers
}

// textOf is a tool's answer without the session's name.
func textOf(r *mcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, text.Text)
		}
	}
	return sessionName.ReplaceAllString(strings.Join(parts, "\n"), "S")
}

// A picture is put where it was asked to be, also beside the result object.
func TestJSONAndAFile(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	if out, err := d.Command("session_open"); err != nil {
		t.Fatal(err, out)
	}
	for command, magic := range map[string]string{"screenshot": "\x89PNG", "pdf": "%PDF"} {
		file := filepath.Join(t.TempDir(), command)
		out, err := d.Command(command, "--json", "-o", file)
		if err != nil || !json.Valid([]byte(out)) {
			t.Errorf("%s: %v %.80s", command, err, out)
		}
		if b, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(b), magic) {
			t.Errorf("%s: %v %.8q", command, err, b)
		}
	}
}

// Where session_open is refused, its session is closed again: a client hears of none, and stays
// in its own.
func TestRefusedSessionIsNobodys(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+d.Addr+"/v1/session_open", strings.NewReader(`{"permissions": ["nosuch"]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if name, there := resp.Header["Browserd-Session"]; resp.StatusCode != http.StatusBadRequest || there {
		t.Errorf("status %d, session %q", resp.StatusCode, name)
	}
}
