package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// greetFile is a new command: its file, with its row. The row says nothing but what it
// must, so that the most careful reading of it holds.
const greetFile = `package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// Greet is the command greet.
var Greet = command.Define(command.Row{
	Name: "greet", Summary: "Greets somebody by the title of the page.", Main: "name",
	Examples: []command.Example{{For: "Greets Ola", Params: ` + "`" + `{"name": "Ola"}` + "`" + `}},
}, greet)

// GreetParams are the parameters of greet.
type GreetParams struct {
	Name string ` + "`" + `json:"name" required:"true" doc:"who is greeted"` + "`" + `
}

// GreetResult is the answer of greet.
type GreetResult struct {
	command.Result
	Greeting string ` + "`" + `json:"greeting"` + "`" + `
}

func greet(ctx context.Context, c *command.Call, p *GreetParams) (GreetResult, error) {
	page, err := c.Live(ctx)
	if err != nil {
		return GreetResult{}, err
	}
	return GreetResult{c.Result(page), "Hello " + p.Name + ", this is " + page.State().Title}, nil
}
`

// copyModule copies the module to dir, but for what has no part in the program.
func copyModule(t *testing.T, dir string) {
	t.Helper()
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		switch {
		case d.IsDir() && (slices.Contains([]string{".git", "bench", "bin", "e2e", "examples"}, name) || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, name), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		of, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), b, of.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// withGreet copies the module, adds the command greet (one file, and one line in the
// list of commands), and builds the program.
func withGreet(t *testing.T) (dir, program string) {
	t.Helper()
	dir = t.TempDir()
	copyModule(t, dir)
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, err := os.ReadFile(filepath.Join(dir, "actions/all.go"))
	if err != nil || bytes.Count(list, []byte("\tHandoff,\n")) != 1 {
		t.Fatalf("actions/all.go: %v", err)
	}
	write("actions/all.go", bytes.Replace(list, []byte("\tHandoff,\n"), []byte("\tGreet,\n\tHandoff,\n"), 1))
	write("actions/greet.go", []byte(greetFile))

	// Chromium's user may have to start the daemon's own program again.
	program = filepath.Join(dirForAll(t, 0o755), "browserd")
	// -trimpath: what does not depend on the new file is built once for all copies.
	for _, args := range [][]string{
		{"build", "-trimpath", "-o", program, "./cmd/browserd"},
		{"test", "-trimpath", "-vet=off", "./actions", "-run", "TestCommandsDocIsFresh|TestRowsAreComplete", "-args", "-update"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	return dir, program
}

// A command is one file and one row: whoever adds them finds the command over
// WebSocket, HTTP, MCP and the command line, in the help, the schema, the docs and the
// metrics, limited by autonomy, and in the audit trail. Nothing else is edited.
func TestANewCommandIsOneFileAndOneRow(t *testing.T) {
	t.Parallel()
	dir, program := withGreet(t)
	const sue = "sue-token-0123456789abcdef" // supervised
	d := testdaemon.Start(t, testdaemon.Options{Binary: program, Env: map[string]string{
		"BROWSERD_TOKEN":        ann, // the command line's
		"BROWSERD_AUTH__TOKENS": fmt.Sprintf(`[{"agent":"ann","token":%q},{"agent":"bob","token":%q,"autonomy":"read_only"},{"agent":"sue","token":%q,"autonomy":"supervised"},{"agent":"olga","token":%q,"role":"operator"}]`, ann, bob, sue, olga),
	}})
	w := newPageServer(t)
	w.serve("/page", page("Bakery", `<h1>Bread</h1>`), "")
	const want = "Hello Ola, this is Bakery"
	type greeting struct {
		result
		Greeting string `json:"greeting"`
	}

	// WebSocket.
	a := as(t, d, ann)
	a.open(w.URL + "/page")
	session := a.do("read", nil).Session
	if got := ask[greeting](a, "greet", params{"name": "Ola"}); got.Greeting != want || got.Page.Source != "chromium" {
		t.Errorf("over WebSocket: %+v", got)
	}
	if e := a.refused("greet", nil, protocol.InvalidParams); e.Details["parameter"] != "name" {
		t.Errorf("without its parameter: %+v", e)
	}
	if e := a.refused("gret", nil, protocol.UnknownCommand); !strings.Contains(fmt.Sprint(e.Details["nearest"]), "greet") {
		t.Errorf("nearest to gret: %v", e.Details)
	}

	// HTTP.
	fetch := func(method, path, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, d.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+ann)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := fetch("POST", "/v1/greet", fmt.Sprintf(`{"name":"Ola","session":%q}`, session)); !strings.Contains(got, want) {
		t.Errorf("over HTTP: %s", got)
	}

	// MCP, with its schema; it is not among the tools that a client sees by default.
	for _, tools := range []string{"all", "default"} {
		s := connect(t, &mcp.StreamableClientTransport{Endpoint: d.URL() + "/mcp?tools=" + tools, HTTPClient: &http.Client{Transport: bearer(ann)}}, nil)
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "greet" })
		if (i >= 0) != (tools == "all") {
			t.Errorf("the tools %q have greet: %v", tools, i >= 0)
		}
		if i >= 0 {
			schema, _ := json.Marshal(list.Tools[i].InputSchema)
			if hints := list.Tools[i].Annotations; hints.ReadOnlyHint || hints.DestructiveHint == nil || !*hints.DestructiveHint {
				t.Errorf("the hints of greet: %+v", hints)
			}
			if !strings.Contains(string(schema), `"description":"who is greeted"`) || !strings.Contains(string(schema), `"required":["name"]`) {
				t.Errorf("the schema of greet: %s", schema)
			}
		}
		if got := use(t, s, "greet", map[string]any{"name": "Ola", "session": session}); !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("over MCP: %s", got)
		}
	}

	// Command line, and both helps.
	for args, part := range map[string]string{
		"greet Ola --session " + session: want,
		"greet --help":                   "browserd greet NAME",
		"help greet":                     "who is greeted",
		"--help":                         " greet",
		"help commands":                  "Greets somebody by the title of the page.",
	} {
		if got, err := d.Command(strings.Fields(args)...); err != nil || !strings.Contains(got, part) {
			t.Errorf("browserd %s: %v\n%s\nwant %s in it", args, err, got, part)
		}
	}
	var help struct {
		Commands []struct {
			Command, Main string
			Parameters    []struct{ Name, Takes, Doc string }
		}
	}
	if err := a.c.Call(t.Context(), "help", params{"command": "greet"}, &help); err != nil || len(help.Commands) != 1 || help.Commands[0].Main != "name" || help.Commands[0].Parameters[0].Doc != "who is greeted" {
		t.Errorf("help: %+v, %v", help, err)
	}

	// docs/commands.md.
	docs, err := os.ReadFile(filepath.Join(dir, "docs/commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"## greet\n", "| `name` (main) | a string | required | who is greeted |", `{"id": 1, "method": "greet", "params": {"name": "Ola"}}`, "browserd greet Ola\n"} {
		if !strings.Contains(string(docs), part) {
			t.Errorf("docs/commands.md has no %q", part)
		}
	}

	// Metrics.
	if got := fetch("GET", "/metrics", ""); !strings.Contains(got, `browserd_commands_total{code="ok",command="greet",source="chromium"}`) {
		t.Error("the metrics have no greet")
	}

	// read_only refuses it, and supervised asks an operator.
	if e := as(t, d, bob).refused("greet", params{"name": "Ola"}, protocol.PolicyDenied); e.Details["reason"] != "read_only" || e.Details["command"] != "greet" {
		t.Errorf("under read_only: %+v", e)
	}
	operator, asker := as(t, d, olga), as(t, d, sue)
	pending := asker.send("greet", params{"name": "Ola"})
	question := operator.asked()
	if question["command"] != "greet" || question["agent"] != "sue" {
		t.Errorf("the question: %v", question)
	}
	operator.do("confirm", params{"id": question["id"], "allow": false})
	if _, err := asker.wait(pending); protocol.CodeOf(err) != protocol.ConfirmationDenied {
		t.Errorf("what an operator said no to: %v", err)
	}

	// The audit trail has each of these; it is written some entries at a time.
	found := map[string]int{}
	for deadline := time.Now().Add(10 * time.Second); len(found) < 3 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		out, err := d.Command("audit", "--json", "--command", "greet")
		if err != nil {
			t.Fatal(err)
		}
		found = map[string]int{}
		for line := range strings.Lines(out) {
			var e struct{ Agent, Verdict string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			found[e.Agent+" "+e.Verdict]++
		}
	}
	if found["ann ok"] != 5 || found["bob policy_denied:read_only"] != 1 || found["sue confirmation_denied:denied"] != 1 {
		t.Errorf("the audit trail: %v", found)
	}
}
