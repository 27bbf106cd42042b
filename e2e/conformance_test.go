package e2e_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

const conformance = "@modelcontextprotocol/conformance/dist/index.js"

// scenarios are the conformance suite's for servers. Those without a word ask for
// nothing but the protocol, and must pass.
//
// All others want a tool, a resource or a prompt of the suite's reference server,
// or a part of the protocol that a server may have and browserd has not:
// completion (it has no prompts) and resources. Of those the test holds that they
// fail for that reason and no other: by these words.
var scenarios = map[string]string{
	"server-initialize":           "",
	"ping":                        "",
	"logging-set-level":           "",
	"tools-list":                  "",
	"resources-list":              "",
	"prompts-list":                "",
	"server-sse-polling":          "",
	"server-sse-multiple-streams": "",
	"dns-rebinding-protection":    "",

	"completion-complete":           `method not found: "completion/complete"`,
	"resources-subscribe":           `method not found: "resources/subscribe"`,
	"resources-unsubscribe":         `method not found: "resources/subscribe"`,
	"resources-read-text":           `there is no such file`,
	"resources-read-binary":         `there is no such file`,
	"resources-templates-read":      `there is no such file`,
	"prompts-get-simple":            `unknown prompt "test_simple_prompt"`,
	"prompts-get-with-args":         `unknown prompt "test_prompt_with_arguments"`,
	"prompts-get-embedded-resource": `unknown prompt "test_prompt_with_embedded_resource"`,
	"prompts-get-with-image":        `unknown prompt "test_prompt_with_image"`,
	"tools-call-simple-text":        `unknown tool "test_simple_text"`,
	"tools-call-image":              `unknown tool "test_image_content"`,
	"tools-call-audio":              `unknown tool "test_audio_content"`,
	"tools-call-embedded-resource":  `unknown tool "test_embedded_resource"`,
	"tools-call-mixed-content":      `unknown tool "test_multiple_content_types"`,
	"tools-call-with-logging":       `unknown tool "test_tool_with_logging"`,
	"tools-call-error":              `unknown tool "test_error_handling"`,
	"tools-call-with-progress":      `unknown tool "test_tool_with_progress"`,
	"tools-call-sampling":           `unknown tool "test_sampling"`,
	"tools-call-elicitation":        `unknown tool "test_elicitation"`,
	"elicitation-sep1034-defaults":  `unknown tool "test_elicitation_sep1034_defaults"`,
	"elicitation-sep1330-enums":     `unknown tool "test_elicitation_sep1330_enums"`,
	"json-schema-2020-12":           `Tool 'json_schema_2020_12_tool' not found`,
}

// The suite has no place for a token. So it speaks to a proxy that adds one, and
// that the daemon is configured to stand behind.
func TestMCPConformance(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := testdaemon.Start(t, testdaemon.Options{
		Env:  map[string]string{"BROWSERD_BROWSER__DISABLED": "true"},
		Args: []string{"--server.allowed_hosts", l.Addr().String(), "--server.allowed_origins", "http://" + l.Addr().String()},
	})
	proxy := &http.Server{Handler: &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", d.Addr, r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+d.Token)
		},
	}}
	go proxy.Serve(l)
	t.Cleanup(func() { proxy.Close() })

	results := t.TempDir()
	cmd := mcpTool(t, conformance, "server", "--suite", "all", "--url", "http://"+l.Addr().String()+"/mcp", "--output-dir", results)
	stdout, stderr, _ := output(t, cmd) // its code says only that not all scenarios pass
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil || len(files) != len(scenarios) {
		t.Fatalf("%d scenarios have ended, want %d: %v\n%s%s", len(files), len(scenarios), err, stdout, stderr)
	}
	passed := 0
	for _, file := range files {
		// server-NAME-TIME
		name := regexp.MustCompile(`^server-|-\d{4}-\d\d-\d\dT.*$`).ReplaceAllString(filepath.Base(filepath.Dir(file)), "")
		want, known := scenarios[name]
		if !known {
			t.Errorf("the suite has a scenario %q, which is not looked at here", name)
			continue
		}
		var failures []string
		for _, c := range checksOf(t, file) {
			if c.Status == "FAILURE" {
				failures = append(failures, c.ID+": "+c.Error)
			}
			if c.Status == "WARNING" {
				t.Logf("%s: %s: %s", name, c.ID, c.Error)
			}
		}
		switch {
		case want == "" && len(failures) > 0:
			t.Errorf("%s: %s", name, strings.Join(failures, "\n\t"))
		case want == "":
			passed++
		case len(failures) != 1 || !strings.Contains(failures[0], want):
			t.Errorf("%s: want %s, got %q", name, want, failures)
		}
	}
	t.Logf("%d generic scenarios pass, %d others need what the reference server has", passed, len(scenarios)-passed)
}

// check is one line of a scenario's result.
type check struct {
	ID     string `json:"id"`
	Status string `json:"status"` // SUCCESS, FAILURE, WARNING (of what is recommended), INFO
	Error  string `json:"errorMessage"`
}

func checksOf(t *testing.T, file string) []check {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []check
	if err := json.Unmarshal(b, &list); err != nil || len(list) == 0 {
		t.Fatalf("%s: %v\n%s", file, err, b)
	}
	return list
}
