package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tiktoken-go/tokenizer"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/snapshot"
)

// bearer adds the token to every request, as an MCP client is configured to.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// transports are the two ways in: browserd mcp on stdin and stdout, and /mcp.
func transports(t *testing.T, d *testdaemon.Daemon, tools string) map[string]mcp.Transport {
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	stdio := exec.Command(bin, "mcp", "--tools", tools)
	stdio.Env = d.Environ()
	return map[string]mcp.Transport{
		"stdio": &mcp.CommandTransport{Command: stdio},
		"http":  &mcp.StreamableClientTransport{Endpoint: d.URL() + "/mcp?tools=" + tools, HTTPClient: &http.Client{Transport: bearer(d.Token)}},
	}
}

func connect(t *testing.T, transport mcp.Transport, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// use calls a tool and returns its text parts; a tool error fails the test.
func use(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) []string {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var parts []string
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, text.Text)
		}
	}
	if r.IsError {
		t.Fatalf("%s: %s", tool, parts)
	}
	return parts
}

// refIn is the ref of the first line of a snapshot that has both.
func refIn(t *testing.T, snapshot, role, name string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^\s*[+~]? ?(@e\d+) \[` + role + `[^\n]*\] "` + regexp.QuoteMeta(name) + `"`).FindStringSubmatch(snapshot)
	if m == nil {
		t.Fatalf("no %s %q in\n%s", role, name, snapshot)
	}
	return m[1]
}

// texts is how many lines of a snapshot are text.
func texts(snapshot string) (n int) {
	for line := range strings.Lines(snapshot) {
		if strings.HasPrefix(strings.TrimSpace(line), "text ") {
			n++
		}
	}
	return n
}

// A real MCP client opens the demo app, follows a link, reads, takes a picture
// and meets an error, in the same words at both doors.
func TestMCPClient(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	app := demoServer(t)
	for door, transport := range transports(t, d, "all") {
		t.Run(door, func(t *testing.T) {
			s := connect(t, transport, nil)
			page := use(t, s, "open", map[string]any{"url": app})[0]
			if !strings.Contains(page, "\n[snapshot] ") || !strings.HasPrefix(page, "session=s_") && !(testdaemon.Fleet() && strings.HasPrefix(page, "session=mcp-")) {
				t.Errorf("open answered\n%s", page)
			}
			items := use(t, s, "click", map[string]any{"ref": refIn(t, page, "link", "Items")})[0]
			if !strings.Contains(items, "effect: {") || !strings.Contains(items, `/items`) {
				t.Errorf("click answered\n%s", items)
			}
			read := use(t, s, "read", map[string]any{"max_chars": 40})
			if len(read) != 2 || len([]rune(read[1])) > 40 || !strings.Contains(read[0], "next_offset: ") {
				t.Errorf("read answered %q", read)
			}

			var nodes struct {
				Nodes []struct{ Ref, Role, Name string }
				Stats snapshot.Stats
			}
			parts := use(t, s, "snapshot", map[string]any{"format": "json"})
			if len(parts) != 2 || json.Unmarshal([]byte(parts[1]), &nodes) != nil || len(nodes.Nodes) != nodes.Stats.NodesEmitted+texts(parts[0]) {
				t.Errorf("snapshot in JSON answered %q", parts)
			}

			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "screenshot"})
			if err != nil || r.IsError {
				t.Fatal(err, r)
			}
			picture, ok := r.Content[1].(*mcp.ImageContent)
			if !ok || picture.MIMEType != "image/png" || !strings.HasPrefix(string(picture.Data), "\x89PNG") {
				t.Errorf("screenshot answered %#v", r.Content)
			}

			r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "click", Arguments: map[string]any{"ref": "@e9999"}})
			if err != nil {
				t.Fatal(err)
			}
			text := r.Content[0].(*mcp.TextContent).Text
			if !r.IsError || !strings.HasPrefix(text, "unknown_ref: ") || !strings.Contains(text, "\nnext: ") {
				t.Errorf("a ref that was never given out: %v\n%s", r.IsError, text)
			}
			r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "click", Arguments: map[string]any{"ref": "@e1", "count": "many"}})
			if err != nil {
				t.Fatal(err)
			}
			text = r.Content[0].(*mcp.TextContent).Text
			if !r.IsError || !strings.HasPrefix(text, "invalid_params: ") || !strings.Contains(text, "\nnext: the tool's inputSchema lists its parameters") {
				t.Errorf("a number that is none: %v\n%s", r.IsError, text)
			}

			// A second client of the same agent, in another session by name.
			other := use(t, s, "session_open", map[string]any{})[0]
			name := strings.Fields(strings.TrimPrefix(other, "session="))[0]
			if list := use(t, s, "session_list", nil)[0]; !strings.Contains(list, name) {
				t.Errorf("%s is not in %s", name, list)
			}
			use(t, s, "session_close", map[string]any{"session": name})
		})
	}
}

// A client that cancels a call frees the session for the next one, and one that
// asks for progress is told while it waits.
func TestMCPCancelAndProgress(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	app := demoServer(t)
	for door, transport := range transports(t, d, "default") {
		t.Run(door, func(t *testing.T) {
			told := make(chan string, 100)
			s := connect(t, transport, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				told <- r.Params.Message
			}})
			use(t, s, "open", map[string]any{"url": app})
			ctx, cancel := context.WithCancel(t.Context())
			waited := make(chan error, 1)
			go func() {
				params := &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"text": "never said", "timeout_ms": 60000}}
				params.SetProgressToken("p1")
				_, err := s.CallTool(ctx, params)
				waited <- err
			}()
			select {
			case m := <-told:
				if !strings.HasPrefix(m, "wait has been running for ") {
					t.Errorf("told %q", m)
				}
			case err := <-waited:
				t.Fatalf("the call ended: %v", err)
			case <-time.After(30 * time.Second):
				t.Fatal("no progress within 30 s")
			}
			cancel()
			if err := <-waited; err == nil {
				t.Error("a cancelled call answered")
			}
			began := time.Now()
			use(t, s, "snapshot", nil) // queues behind the wait, which must be over
			if waited := time.Since(began); waited > 30*time.Second {
				t.Errorf("the session was free after %v", waited)
			}
		})
	}
}

// defaultTools is how many tools a client is told of that chooses none.
const defaultTools = 23

// There is one tool for each command: a client is told of those that it chose, and may
// call the others.
func TestMCPHasEveryCommand(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	for choice, told := range map[string]int{"code": 4, "default": defaultTools, "snapshot,read": 2, "all": len(actions.All)} {
		for door, transport := range transports(t, d, choice) {
			s := connect(t, transport, nil)
			list, err := s.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) != told {
				t.Errorf("%s, %s: %d tools, want %d, %v", door, choice, len(list.Tools), told, err)
			}
			for tool, args := range map[string]map[string]any{
				"ping": nil, "eval": {"expression": "1"}, "batch": {"commands": []map[string]any{{"method": "ping"}}}, "cookies_get": nil, "help": {"command": "eval"},
			} {
				use(t, s, tool, args)
			}
		}
	}
}

// The default tools cost a conversation at most 2,500 tokens, counted with the public
// tokenizer o200k_base, and as many as README.md says, within 1%; those for scripts cost at
// most 1,000 with their instructions, and help for run at most 600. `go test -v` prints the
// figures. The list's _meta is not counted: it has the version of this build.
func TestMCPToolListIsSmall(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`\| an MCP client's list of tools \| ([0-9,]+) tokens \|`).FindSubmatch(readme)
	if row == nil {
		t.Fatal("README.md does not say how many tokens the list of tools has")
	}
	said, err := strconv.Atoi(strings.ReplaceAll(string(row[1]), ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}})
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	for set, limit := range map[string]int{"code": 1000, "default": 2500, "all": 1 << 20} {
		s := connect(t, transports(t, d, set)["http"], nil)
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		list.Meta = nil
		b, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		n, err := codec.Count(string(b))
		if err != nil {
			t.Fatal(err)
		}
		instructed, err := codec.Count(s.InitializeResult().Instructions)
		if err != nil {
			t.Fatal(err)
		}
		if set == "code" {
			n += instructed // it counts here: it teaches what the schemas do not
		}
		t.Logf("%s: %d tools, %d tokens, %d bytes; instructions %d tokens", set, len(list.Tools), n, len(b), instructed)
		if n > limit {
			t.Errorf("the tools of %s cost %d tokens, at most %d are to be", set, n, limit)
		}
		if set == "default" && max(n-said, said-n) > said/100 {
			t.Errorf("README.md says that the list of tools has %d tokens; it has %d: write that there and in docs/benchmarks.md", said, n)
		}
		for _, tool := range list.Tools {
			if tool.Description == "" || tool.Annotations == nil {
				t.Errorf("%s has no description or no annotations", tool.Name)
			}
		}
		readOnly := func(name string) bool {
			i := slices.IndexFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == name })
			return i >= 0 && list.Tools[i].Annotations.ReadOnlyHint
		}
		if !readOnly("snapshot") || readOnly("click") {
			t.Error("snapshot only reads, click does not: the annotations say otherwise")
		}
		if set == "code" {
			text := strings.Join(use(t, s, "help", map[string]any{"command": "run"}), "\n")
			if n, err := codec.Count(text); err != nil || n > 600 {
				t.Errorf("help for run has %d tokens, %v", n, err)
			} else {
				t.Logf("help for run: %d tokens", n)
			}
		}
	}
}

// A signal ends `browserd mcp` and the command that runs, whose session is free then.
func TestMCPEndsWithASignal(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	c := d.Dial(t)
	if err := c.Call(t.Context(), "session_open", map[string]any{"name": "mine"}, nil); err != nil {
		t.Fatal(err)
	}
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		client := exec.Command(bin, "mcp", "--tools", "all")
		client.Env = d.Environ()
		in, err := client.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := client.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Process.Kill() })
		io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
		bufio.NewReader(out).ReadString('\n')
		io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
		io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"eval","arguments":{"session":"mine","expression":"console.log('`+signal.String()+`'); new Promise(() => {})"}}}`+"\n")
		for begun := false; !begun; { // at once, beside the command that runs
			var console struct{ Entries []any }
			if err := c.Call(t.Context(), "console", map[string]any{"session": "mine", "filter": signal.String()}, &console); err != nil {
				t.Fatal(err)
			}
			begun = len(console.Entries) > 0
		}
		began := time.Now()
		client.Process.Signal(signal)
		if err := client.Wait(); err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("%v: ended after %v: %v", signal, time.Since(began), err)
		}
		if err := c.Call(t.Context(), "eval", map[string]any{"session": "mine", "expression": "1", "timeout_ms": 5000}, nil); err != nil {
			t.Errorf("%v: the next command: %v", signal, err)
		}
	}
}

// With no daemon running, `browserd mcp` starts one, which outlives the client
// and ends by itself when nobody uses it.
func TestMCPStartsADaemon(t *testing.T) {
	aboutOneProcess(t, "the command line starts it")
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	d.Stop() // its address and home are free now
	s := connect(t, transports(t, d, "default")["stdio"], nil)
	page := use(t, s, "open", map[string]any{"url": demoServer(t)})[0]
	if !strings.Contains(page, "[snapshot]") {
		t.Errorf("open answered\n%s", page)
	}
	s.Close()
	running := d.Background()
	if len(running) != 1 {
		t.Fatalf("%d daemons run at %s", len(running), d.Addr)
	}
	// It is there for the next client, which goes on in a session by its name.
	if out, err := d.Command("healthcheck"); err != nil {
		t.Error(out, err)
	}
	all := append(testdaemon.Descendants(running[0].PID), running...)
	if err := syscall.Kill(running[0].PID, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	for _, p := range testdaemon.AwaitGone(all, 10*time.Second) {
		t.Errorf("%v outlived SIGTERM", p)
		p.Kill()
	}
}

// A daemon with server.exit_when_idle ends by itself, with 0, when its last
// session has: not while there is one.
func TestADaemonThatNobodyUsesEnds(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Args: []string{"--server.exit_when_idle", "1s", "--session.idle_timeout", "3s"}})
	c := d.Dial(t)
	if err := c.Call(t.Context(), "open", map[string]any{"url": "about:blank"}, nil); err != nil {
		t.Fatal(err)
	}
	c.Close()
	select {
	case <-d.Exited():
		if !strings.Contains(d.Log(), "nobody has used the daemon") || !strings.Contains(d.Log(), "msg=stopped") {
			t.Error(d.Log())
		}
	case <-time.After(30 * time.Second):
		t.Error("the daemon still runs")
	}
}
