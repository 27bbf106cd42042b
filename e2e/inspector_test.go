package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

const inspector = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"

// inspected is what the Inspector prints of a call or a list.
type inspected struct {
	Result struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Content []struct {
			Type, Text string
		} `json:"content"`
		IsError bool `json:"isError"`
	} `json:"result"`
}

// The Inspector's command line, one process for each step, lists the tools,
// finds nothing to say of their schemas, and visits the demo app: over both transports,
// as a client of the protocol that has sessions and as one of that which has none.
func TestMCPInspector(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	app := demoServer(t)
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	// A server that the Inspector starts has of the environment what it is told.
	stdio := []string{bin, "mcp"}
	for _, v := range d.Environ() {
		if strings.HasPrefix(v, "BROWSERD_") || strings.HasPrefix(v, "XDG_") {
			stdio = append(stdio, "-e", v)
		}
	}
	for door, target := range map[string][]string{
		"stdio": stdio,
		"http":  {"--transport", "http", "--server-url", d.URL() + "/mcp", "--header", "Authorization: Bearer " + d.Token},
	} {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(door+"/"+era, func(t *testing.T) {
				inspect := func(args ...string) (inspected, string, int) {
					t.Helper()
					all := append([]string{"--cli", "--format", "json", "--protocol-era", era}, args...)
					stdout, stderr, code := output(t, mcpTool(t, inspector, append(all, target...)...))
					var got inspected
					if err := json.Unmarshal([]byte(stdout), &got); err != nil {
						t.Fatalf("%v ended with %d: %v\n%s%s", args, code, err, stdout, stderr)
					}
					return got, stderr, code
				}
				call := func(tool string, arguments map[string]any) (text string, isError bool) {
					t.Helper()
					b, err := json.Marshal(arguments)
					if err != nil {
						t.Fatal(err)
					}
					got, stderr, _ := inspect("--method", "tools/call", "--tool-name", tool, "--tool-args-json", string(b))
					if len(got.Result.Content) == 0 || got.Result.Content[0].Type != "text" {
						t.Fatalf("%s answered %+v\n%s", tool, got, stderr)
					}
					return got.Result.Content[0].Text, got.Result.IsError
				}

				list, told, code := inspect("--method", "tools/list", "--strict")
				if code != 0 || strings.TrimSpace(told) != "" || len(list.Result.Tools) != defaultTools {
					t.Errorf("%d tools, exit code %d\n%s", len(list.Result.Tools), code, told)
				}
				page, _ := call("open", map[string]any{"url": app})
				session, _, ok := strings.Cut(strings.TrimPrefix(page, "session="), " ")
				if !ok || !strings.Contains(page, "\n[snapshot] ") {
					t.Fatalf("open answered\n%s", page)
				}
				// Each process is a client of its own: the session is named.
				again, _ := call("snapshot", map[string]any{"session": session})
				link := refIn(t, again, "link", "Items")
				if items, isError := call("click", map[string]any{"session": session, "ref": link}); isError || !strings.Contains(items, `[button] "Add"`) {
					t.Errorf("click answered\n%s", items)
				}
				if text, isError := call("click", map[string]any{"session": session, "ref": "@e9999"}); !isError || !strings.HasPrefix(text, "unknown_ref: ") {
					t.Errorf("a ref that was never given out: %v\n%s", isError, text)
				}
			})
		}
	}
}

// Nor has it anything to say of the schemas of all the tools.
func TestMCPInspectorOfEveryTool(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}})
	cmd := mcpTool(t, inspector, "--cli", "--format", "json", "--method", "tools/list", "--strict",
		"--transport", "http", "--server-url", d.URL()+"/mcp?tools=all", "--header", "Authorization: Bearer "+d.Token)
	stdout, stderr, code := output(t, cmd)
	var list inspected
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 || strings.TrimSpace(stderr) != "" || len(list.Result.Tools) < 40 {
		t.Errorf("%d tools, exit code %d, %v\n%s", len(list.Result.Tools), code, err, stderr)
	}
}

// What `browserd mcp config` prints is a configuration that a client takes: the
// Inspector, which reads the form that most have.
func TestMCPInspectorTakesTheSnippets(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}})
	for _, client := range []string{"cursor", "http"} {
		snippet, err := d.Command("mcp", "config", client)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "mcp.json")
		if err := os.WriteFile(file, []byte(snippet), 0o600); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := output(t, mcpTool(t, inspector, "--cli", "--format", "json", "--config", file, "--server", "browserd", "--method", "tools/list"))
		var list inspected
		if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 || len(list.Result.Tools) != defaultTools {
			t.Errorf("%s: %d tools, exit code %d, %v\n%s\n%s", client, len(list.Result.Tools), code, err, stderr, snippet)
		}
	}
}
