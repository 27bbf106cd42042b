package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const annAgain = "ann-again-0123456789abcdef" // another token of the agent ann

// mcpAt connects an MCP client, each of whose requests has a connection of its own.
func mcpAt(t *testing.T, addr, token, era string) *mcp.ClientSession {
	t.Helper()
	return connectAs(t, &mcp.StreamableClientTransport{Endpoint: "http://" + addr + "/mcp?tools=all", HTTPClient: &http.Client{Transport: single{token}}}, era)
}

// toolResult calls a tool, which must not fail.
func toolResult(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if r.IsError {
		t.Fatalf("%s: %s", tool, r.Content[0].(*mcp.TextContent).Text)
	}
	return r
}

// linked is the URI of the last link of a result.
func linked(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	for _, part := range slices.Backward(r.Content) {
		if link, ok := part.(*mcp.ResourceLink); ok {
			return link.URI
		}
	}
	t.Fatalf("no link in %+v", r.Content)
	return ""
}

// missing reads a link that leads nowhere, and returns the error's text.
func missing(t *testing.T, s *mcp.ClientSession, uri string) string {
	t.Helper()
	begun := time.Now()
	r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	var said *jsonrpc.Error
	switch {
	case err == nil:
		t.Errorf("%q is read: %d bytes", uri, len(r.Contents[0].Blob))
		return ""
	case !errors.As(err, &said):
		t.Errorf("%q: %v", uri, err)
		return ""
	case said.Code != mcp.CodeResourceNotFound || !strings.Contains(said.Message, "\nnext: "):
		t.Errorf("%q: %d %s", uri, said.Code, said.Message)
	}
	if took := time.Since(begun); took > 12*time.Second {
		t.Errorf("%q: the error took %v", uri, took)
	}
	return said.Message
}

// What the results of MCP tools link to (a picture, a PDF, a download, a recording) is read at each
// node, in both versions of the protocol, by whoever has the token for which it was made. Nobody
// else reads it, and a link that a client makes up leads nowhere.
func TestMCPFilesAtAnyNode(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{"BROWSERD_AUTH__TOKENS": `[{"agent":"ann","token":"` + ann + `"},{"agent":"ann","token":"` + annAgain + `"},{"agent":"bob","token":"` + bob + `"}]`})
	w := newPageServer(t)
	w.serve("/", page("Prices", `<h1>Prices</h1><a href="/prices.csv">Prices</a>`), "")
	w.mux.HandleFunc("/prices.csv", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Disposition", `attachment; filename="prices.csv"`)
		io.WriteString(rw, "bread,2\n")
	})
	type file struct {
		uri    string
		begins string
		all    []byte // nil: only its beginning is known
		agents bool   // it is the agent's, whatever the token
	}
	var files []file
	for _, era := range eras {
		s, in := mcpAt(t, f.Addr, ann, era), map[string]any{"session": "files-" + era}
		with := func(more map[string]any) map[string]any {
			args := map[string]any{}
			for _, from := range []map[string]any{in, more} {
				for name, value := range from {
					args[name] = value
				}
			}
			return args
		}
		toolResult(t, s, "open", with(map[string]any{"url": w.URL + "/"}))
		toolResult(t, s, "trace", with(map[string]any{"action": "start"}))
		picture := toolResult(t, s, "screenshot", in)
		files = append(files, file{linked(t, picture), "\x89PNG", picture.Content[1].(*mcp.ImageContent).Data, false})
		files = append(files, file{linked(t, toolResult(t, s, "pdf", in)), "%PDF", nil, false})
		toolResult(t, s, "downloads", with(map[string]any{"allow": true}))
		toolResult(t, s, "click", with(map[string]any{"ref": "role=link"}))
		files = append(files, file{linked(t, toolResult(t, s, "downloads", with(map[string]any{"name": "prices.csv", "wait": true}))), "bread", []byte("bread,2\n"), true})
		files = append(files, file{linked(t, toolResult(t, s, "trace", with(map[string]any{"action": "stop"}))), "PK", nil, true})
	}
	for n, d := range f.nodes {
		for _, era := range eras {
			own, again, other := mcpAt(t, d.Addr, ann, era), mcpAt(t, d.Addr, annAgain, era), mcpAt(t, d.Addr, bob, era)
			for _, one := range files {
				r, err := own.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: one.uri})
				if err != nil {
					t.Errorf("node %d, %s: %s: %v", n+1, era, one.uri, err)
				} else if got := r.Contents[0]; !strings.HasPrefix(string(got.Blob), one.begins) || one.all != nil && !bytes.Equal(got.Blob, one.all) || got.URI != one.uri || got.MIMEType == "" {
					t.Errorf("node %d, %s: %s is %d bytes of %q, %s", n+1, era, one.uri, len(got.Blob), got.MIMEType, got.URI)
				}
				missing(t, other, one.uri)
				if !one.agents {
					missing(t, again, one.uri)
				} else if got := readResource(t, again, one.uri); !strings.HasPrefix(string(got), one.begins) {
					t.Errorf("node %d, %s: the agent's other token reads %d bytes", n+1, era, len(got))
				}
			}
			for _, uri := range forgedLinks(t, f, files[0].uri) {
				missing(t, own, uri)
			}
		}
	}
	for _, d := range f.nodes { // nodes ask each other there, and nobody else
		for _, path := range []string{"/fleet/file", "/v1/recordings/../../fleet/file", "/mcp/../fleet/file"} {
			body := fmt.Sprintf(`{"uri":%q}`, files[0].uri)
			r, err := http.NewRequest(http.MethodPost, d.URL()+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+bob)
			r.Header.Set("Browserd-Passed-On", `{"agent":"ann","role":"agent","number":1}`)
			a, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			a.Body.Close()
			if a.StatusCode == http.StatusOK {
				t.Errorf("a client at %s%s: %d", d.URL(), path, a.StatusCode)
			}
		}
	}
}

var linkParts = regexp.MustCompile(`^browserd://file/([A-Z2-7]+)\.([A-Z2-7]+)/(.+)$`)

// forgedLinks are links that a client makes up from one of its own. Whoever connects to one of the
// addresses in them fails the test.
func forgedLinks(t *testing.T, f *fleet3, own string) []string {
	t.Helper()
	m := linkParts.FindStringSubmatch(own)
	if m == nil {
		t.Fatalf("the link is %q", own)
	}
	node, id, name := m[1], m[2], m[3]
	trap, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trap.Close() })
	go func() {
		if c, err := trap.Accept(); err == nil {
			c.Close()
			t.Error("a link led a node to an address in it")
		}
	}()
	another := strings.Repeat("A", len(node))
	links := []string{}
	for _, of := range []string{
		"", another, strings.ToLower(node), node + "." + node, another + "." + node, "one", "1", "two", "*", "%", "%00",
		trap.Addr().String(), f.nodes[1].Addr, "127.0.0.1", "localhost", "@" + trap.Addr().String(), "..", "/", "x/../" + node, "%2e%2e%2f" + node, node + "%2f..",
		node + "%0d%0aHost:%20x", strings.Repeat("N", 20_000),
	} {
		links = append(links, "browserd://file/"+of+"."+id+"/"+name)
	}
	for _, rest := range []string{"", ".", "..", "/", "/../" + id, strings.Repeat("A", len(id)), strings.ToLower(id), id + "/..", id + "/../../fleet/look", id + "/" + name + "/..", id + "/" + name + "?x", id + "/" + name + "#x", id + "%2f" + name, id + "/other.png"} {
		links = append(links, "browserd://file/"+node+"."+rest, "browserd://file/"+rest)
	}
	return append(links, "browserd://file/", "browserd://file/"+id+"/"+name, "browserd://download/"+node+"."+id+"/"+name, "browserd://recording/"+node+"."+id,
		"browserd://recording/..%2f..%2fbrowserd.yaml", "browserd://download/..%2f../x", "file:///etc/passwd", "http://"+trap.Addr().String()+"/", "browserd://pdf")
}

// A token's files are the newest 16 at their node, wherever they are asked for. With the node they
// are gone, which other nodes say as they say it of a file that is not kept any more.
func TestMCPFilesOfALostNode(t *testing.T) {
	t.Parallel()
	f := startFleet(t, nil)
	w := newPageServer(t)
	w.serve("/", page("Home", `<h1>Home</h1>`), "")
	token := f.nodes[0].Token
	pictures := func(n, count int) (uris []string) {
		s := mcpAt(t, f.nodes[n].Addr, token, eras[1])
		toolResult(t, s, "open", map[string]any{"url": w.URL + "/"})
		for range count {
			uris = append(uris, linked(t, toolResult(t, s, "screenshot", nil)))
		}
		return uris
	}
	first, last := pictures(0, 17), pictures(2, 1)
	at := mcpAt(t, f.nodes[1].Addr, token, eras[1])
	expired := missing(t, at, first[0])
	for _, uri := range append(first[1:], last...) {
		if got := readResource(t, at, uri); !bytes.HasPrefix(got, []byte("\x89PNG")) {
			t.Errorf("%s is %d bytes", uri, len(got))
		}
	}
	syscall.Kill(f.nodes[2].PID, syscall.SIGSTOP)
	defer syscall.Kill(f.nodes[2].PID, syscall.SIGCONT)
	f.nodes[0].Kill()
	for _, uri := range []string{first[16], last[0]} {
		if got := missing(t, at, uri); got != expired {
			t.Errorf("of a lost node: %q; of a file that is not kept any more: %q", got, expired)
		}
	}
}
