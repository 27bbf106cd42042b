package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/internal/testdaemon"
)

// menuPage has a menu that opens under the mouse and leads to a second tab.
const menuPage = `<!doctype html><title>Shop</title>
<style>#menu ul { display: none } #menu:hover ul { display: block }</style>
<h1>Shop</h1>
<div id="menu"><button>Orders</button><ul><li><a href="/order" target="_blank">New order</a></li></ul></div>`

// orderPage takes a file, asks a question, and gives a file.
const orderPage = `<!doctype html><title>New order</title>
<form method="post" action="/send" enctype="multipart/form-data">
<label>List <input type="file" name="list"></label>
<button>Send</button></form>
<script>document.querySelector("form").onsubmit = () => confirm("Send the order?")</script>`

const sentPage = `<!doctype html><title>Sent</title><h1>Order sent</h1><a href="/receipt">Receipt</a>`

// orderApp is the shop. got is what was uploaded.
func orderApp(t *testing.T) (url string, got func() string) {
	var mu sync.Mutex
	var uploaded string
	mux := http.NewServeMux()
	page := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, text)
		}
	}
	mux.HandleFunc("GET /{$}", page(menuPage))
	mux.HandleFunc("GET /order", page(orderPage))
	mux.HandleFunc("POST /send", func(w http.ResponseWriter, r *http.Request) {
		file, header, err := r.FormFile("list")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		text, _ := io.ReadAll(file)
		mu.Lock()
		uploaded = header.Filename + ": " + string(text)
		mu.Unlock()
		page(sentPage)(w, r)
	})
	mux.HandleFunc("GET /receipt", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="receipt.csv"`)
		io.WriteString(w, "bread,2\n")
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/", func() string {
		mu.Lock()
		defer mu.Unlock()
		return uploaded
	}
}

// toolUser calls tools as a model does that knows nothing but tools/list: with a tool or a
// parameter that is not in it the test fails.
type toolUser struct {
	t     *testing.T
	s     *mcp.ClientSession
	knows map[string]map[string]bool // parameters by tool
}

func newToolUser(t *testing.T, s *mcp.ClientSession) *toolUser {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	u := &toolUser{t, s, map[string]map[string]bool{}}
	for _, tool := range list.Tools {
		schema := tool.InputSchema.(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		u.knows[tool.Name] = map[string]bool{}
		for name := range properties {
			u.knows[tool.Name][name] = true
		}
	}
	return u
}

// call returns the text of the first part, and the whole answer.
func (u *toolUser) call(tool string, args map[string]any) (string, *mcp.CallToolResult) {
	u.t.Helper()
	if u.knows[tool] == nil {
		u.t.Fatalf("tools/list does not name %s: it names %v", tool, slices.Sorted(maps.Keys(u.knows)))
	}
	for name := range args {
		if !u.knows[tool][name] {
			u.t.Fatalf("tools/list does not name the parameter %s of %s", name, tool)
		}
	}
	r, err := u.s.CallTool(u.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		u.t.Fatalf("%s: %v", tool, err)
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if r.IsError {
		u.t.Fatalf("%s %v: %s", tool, args, text)
	}
	return text, r
}

var nextLine = regexp.MustCompile(`(?m)^next: [^\n]*: (\w+) (\{.*\})$`)

// follow does what the answer's line "next" says, but for changed parameters.
func (u *toolUser) follow(answer, tool string, changed map[string]any) (string, *mcp.CallToolResult) {
	u.t.Helper()
	for _, m := range nextLine.FindAllStringSubmatch(answer, -1) {
		args := map[string]any{}
		if m[1] != tool {
			continue
		}
		if err := json.Unmarshal([]byte(m[2]), &args); err != nil {
			u.t.Fatalf("%q: %v", m[0], err)
		}
		maps.Copy(args, changed)
		return u.call(tool, args)
	}
	u.t.Fatalf("the answer names no next step with %s:\n%s", tool, answer)
	return "", nil
}

// eras are versions of the protocol: with sessions, and without.
var eras = []string{"2025-06-18", "2026-07-28"}

// A client does a whole task with what tools/list names by default, following the
// answers' "next" lines: a menu that opens under the mouse, a second tab, an upload, a
// dialog, a download.
func TestMCPWholeTask(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	for _, era := range eras {
		for door, transport := range transports(t, d, "default") {
			t.Run(door+"/"+era, func(t *testing.T) {
				shop, uploaded := orderApp(t)
				u := newToolUser(t, connectAs(t, transport, era))

				page, _ := u.call("open", map[string]any{"url": shop})
				menu, _ := u.call("hover", map[string]any{"ref": refIn(t, page, "button", "Orders")})
				opened, _ := u.call("click", map[string]any{"ref": refIn(t, menu, "link", "New order")})
				order, _ := u.follow(opened, "tab_select", nil)
				refOfFile := refIn(t, order, "button", "List")
				u.call("upload", map[string]any{"ref": refOfFile, "files": []map[string]any{{"name": "list.txt", "base64": base64.StdEncoding.EncodeToString([]byte("2 bread"))}}})
				asked, _ := u.call("click", map[string]any{"ref": refIn(t, order, "button", "Send")})
				if !strings.Contains(asked, "Send the order?") {
					t.Errorf("the question is not told:\n%s", asked)
				}
				sent, _ := u.follow(asked, "dialog", nil)
				if !strings.Contains(sent, "Order sent") {
					sent, _ = u.call("wait", map[string]any{"text": "Order sent"})
					sent, _ = u.call("snapshot", nil)
				}
				if got := uploaded(); got != "list.txt: 2 bread" {
					t.Errorf("the server got %q", got)
				}
				receipt := refIn(t, sent, "link", "Receipt")
				denied, _ := u.call("click", map[string]any{"ref": receipt})
				u.follow(denied, "downloads", nil)
				began, _ := u.call("click", map[string]any{"ref": receipt})
				_, file := u.follow(began, "downloads", nil)
				if text := file.Content[1].(*mcp.TextContent).Text; text != "bread,2\n" {
					t.Errorf("the download is %q", text)
				}
				link, ok := file.Content[len(file.Content)-1].(*mcp.ResourceLink)
				if !ok || link.Name != "receipt.csv" || link.Size == nil || *link.Size != 8 {
					t.Fatalf("the download has no link: %+v", file.Content)
				}
				if got := readResource(t, u.s, link.URI); string(got) != "bread,2\n" {
					t.Errorf("the link leads to %q", got)
				}
				tabs, answer := u.call("tab_list", nil)
				if !strings.Contains(tabs, `"t2"`) || answer.StructuredContent == nil {
					t.Errorf("tab_list answered %s with %v", tabs, answer.StructuredContent)
				}
				u.call("tab_close", map[string]any{"tab": "t2"})
				_, picture := u.call("screenshot", nil)
				image, ok := picture.Content[1].(*mcp.ImageContent)
				linked, also := picture.Content[2].(*mcp.ResourceLink)
				if !ok || !also || string(readResource(t, u.s, linked.URI)) != string(image.Data) || picture.StructuredContent != nil {
					t.Errorf("screenshot answered %+v", picture)
				}
			})
		}
	}
}

// connectAs connects a client that speaks that version of the protocol.
func connectAs(t *testing.T, transport mcp.Transport, version string) *mcp.ClientSession {
	t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func readResource(t *testing.T, s *mcp.ClientSession, uri string) []byte {
	t.Helper()
	r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Contents) != 1 {
		t.Fatalf("%s has %d contents", uri, len(r.Contents))
	}
	return append(r.Contents[0].Blob, r.Contents[0].Text...)
}

// sessionOf is the browsing session that an answer is about.
func sessionOf(t *testing.T, answer string) string {
	t.Helper()
	said, ok := strings.CutPrefix(answer, "session=")
	if !ok {
		t.Fatalf("no session in\n%s", answer)
	}
	return strings.Fields(said)[0]
}

// Two conversations do not meet without being told anything: each MCP session has a
// browsing session of its own, and so has each process of `browserd mcp`. Agents that
// share one connection are kept apart by names of their own, and warned where they give none.
func TestMCPConversations(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	app := demoServer(t)
	for _, door := range []string{"stdio", "http"} {
		t.Run(door, func(t *testing.T) {
			one := newToolUser(t, connectAs(t, transports(t, d, "default")[door], eras[0]))
			two := newToolUser(t, connectAs(t, transports(t, d, "default")[door], eras[0]))
			first, _ := one.call("open", map[string]any{"url": app})
			second, _ := two.call("open", map[string]any{"url": app + "items"})
			if sessionOf(t, first) == sessionOf(t, second) {
				t.Errorf("two conversations are in session %s", sessionOf(t, first))
			}

			// A second agent of the first conversation names a session, and gets it.
			name := "research-" + door
			named, _ := one.call("open", map[string]any{"url": app + "about", "session": name})
			if sessionOf(t, named) != name {
				t.Errorf("open with session %s answered\n%s", name, named)
			}
			if own, _ := one.call("snapshot", nil); sessionOf(t, own) != sessionOf(t, first) {
				t.Errorf("after a call with a session of its own, one without works in %s, not in %s", sessionOf(t, own), sessionOf(t, first))
			}
			if about, _ := one.call("snapshot", map[string]any{"session": name}); !strings.Contains(about, "/about") {
				t.Errorf("session %s shows\n%s", name, about)
			}
			// One that forgets the name is told so.
			r, err := one.s.CallTool(t.Context(), &mcp.CallToolParams{Name: "click", Arguments: map[string]any{"ref": "@e9999"}})
			if text := r.Content[0].(*mcp.TextContent).Text; err != nil || !r.IsError || !strings.Contains(text, "this call named no session") {
				t.Errorf("a ref of nowhere: %v %s", err, text)
			}
			// A name that nobody opened is not made up by another tool.
			r, err = one.s.CallTool(t.Context(), &mcp.CallToolParams{Name: "click", Arguments: map[string]any{"ref": "@e1", "session": "nobody-s"}})
			if text := r.Content[0].(*mcp.TextContent).Text; err != nil || !r.IsError || !strings.HasPrefix(text, "session_not_found: ") {
				t.Errorf("a session of nobody: %v %s", err, text)
			}

			// Two that act in one session at the same time are warned.
			held := make(chan string, 1)
			entered := make(chan struct{})
			release := make(chan struct{})
			slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					close(entered)
					<-release
				}
				fmt.Fprint(w, "<h1>Late</h1>")
			}))
			defer slow.Close()
			go func() {
				text, _ := two.call("open", map[string]any{"url": slow.URL + "/"})
				held <- text
			}()
			<-entered
			// It waits for its turn, and gives up while the first still runs.
			r, err = two.s.CallTool(t.Context(), &mcp.CallToolParams{Name: "open", Arguments: map[string]any{"url": app, "timeout_ms": 300}})
			if text := r.Content[0].(*mcp.TextContent).Text; err != nil || !strings.HasPrefix(text, "timeout: ") || !strings.Contains(text, "warning: another call worked in this session") {
				t.Errorf("two at the same time: %v %s", err, text)
			}
			close(release)
			<-held

			// Two that take turns in one session: the one whose page the other's open has left is
			// warned at its next ref, and whoever opens after that. One that goes on alone is not.
			turns := newToolUser(t, connectAs(t, transports(t, d, "default")[door], eras[0]))
			home, _ := turns.call("open", map[string]any{"url": app})
			about, _ := turns.call("open", map[string]any{"url": app + "about"})
			if strings.Contains(about, "take turns") {
				t.Errorf("an agent that opens two pages is warned:\n%s", about)
			}
			ref := regexp.MustCompile(`(@e\d+) \[heading[^\n]*"Pantry"`).FindStringSubmatch(home)
			if ref == nil {
				t.Fatalf("no heading in\n%s", home)
			}
			r, err = turns.s.CallTool(t.Context(), &mcp.CallToolParams{Name: "click", Arguments: map[string]any{"ref": ref[1]}})
			if text := r.Content[0].(*mcp.TextContent).Text; err != nil || !strings.HasPrefix(text, "stale_ref: ") || !strings.Contains(text, "\nwarning: a later open of this connection has left the page of "+ref[1]) {
				t.Errorf("a ref of the page that another agent has left: %v %s", err, text)
			}
			if text, _ := turns.call("open", map[string]any{"url": app}); !strings.Contains(text, "\nnote: agents take turns in this session") {
				t.Errorf("after that, open answers\n%s", text)
			}
			if text, _ := turns.call("open", map[string]any{"url": app, "session": "alone-" + door}); strings.Contains(text, "take turns") {
				t.Errorf("with a session of its own, open answers\n%s", text)
			}
		})
	}
}

// A program that calls tools asks for every result as structuredContent; an error has its
// code there for all.
func TestMCPStructuredContent(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	app := demoServer(t)
	structured := &mcp.StreamableClientTransport{Endpoint: d.URL() + "/mcp?structured=true", HTTPClient: &http.Client{Transport: bearer(d.Token)}}
	s := connect(t, structured, nil)
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "open", Arguments: map[string]any{"url": app}})
	if err != nil || r.IsError {
		t.Fatal(err, r)
	}
	result, _ := r.StructuredContent.(map[string]any)
	shown, _ := result["snapshot"].(map[string]any)
	if text, _ := shown["text"].(string); !strings.HasPrefix(text, "[snapshot] ") || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, text) {
		t.Errorf("structuredContent is %v", r.StructuredContent)
	}
	plain := connect(t, transports(t, d, "default")["http"], nil)
	r, err = plain.CallTool(t.Context(), &mcp.CallToolParams{Name: "open", Arguments: map[string]any{"url": app}})
	if err != nil || r.IsError || r.StructuredContent != nil {
		t.Errorf("without being asked: %v %v", err, r.StructuredContent)
	}
	r, err = plain.CallTool(t.Context(), &mcp.CallToolParams{Name: "click", Arguments: map[string]any{"ref": "@e9999"}})
	failed, _ := r.StructuredContent.(map[string]any)
	why, _ := failed["error"].(map[string]any)
	if err != nil || why["code"] != "unknown_ref" {
		t.Errorf("an error has %v", r.StructuredContent)
	}
}
