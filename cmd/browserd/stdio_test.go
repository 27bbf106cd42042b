package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/tools"
)

// What is no message is answered, and the server goes on.
func TestStdioOutlivesWhatIsNoMessage(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	chosen, err := tools.Choose("snapshot")
	if err != nil {
		t.Fatal(err)
	}
	in, client := io.Pipe()
	answered, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		server := tools.New("test", "", chosen, &tools.Files{}, func(context.Context, string, string, json.RawMessage) (json.RawMessage, *protocol.Error) {
			return json.RawMessage(`{"done":true}`), nil
		})
		ended <- server.Run(ctx, stdio(in, out))
		out.Close()
	}()
	lines := bufio.NewScanner(answered)
	lines.Buffer(nil, 1<<20)
	send := func(line string) string {
		t.Helper()
		if _, err := io.WriteString(client, line); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatalf("%.60q: no answer: %v", line, lines.Err())
		}
		return lines.Text()
	}
	send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")
	io.WriteString(client, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	for _, test := range []struct{ line, want string }{
		{"{nope\n", `"id":null,"error":{"code":-32700,`},
		{"\xff\n", `"id":null,"error":{"code":-32700,`},
		{"\n \r\n" + `[{"jsonrpc":"2.0","id":1,"method":"ping"}]` + "\n", `"id":null,"error":{"code":-32600,`},
		{"7\n", `"id":null,"error":{"code":-32600,`},
		{`{"id":1,"method":"ping"}` + "\n", `"id":1,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}` + "\n", `"id":null,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}` + "\n", `"id":null,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}` + "\n", `"id":null,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}` + "\n", `"id":null,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":2,"method":"` + strings.Repeat("x", mcp.DefaultMaxLineLength) + `"}` + "\n", `"id":null,"error":{"code":-32018,`},
		{` {"jsonrpc":"2.0","id":"a","method":"ping"}  ` + "\r\n", `"id":"a","result":{}`},
		{`{"jsonrpc":"2.0","id":-3,"method":"tools/call","params":{"name":"snapshot"}}` + "\n", `"id":-3,"result":{`},
	} {
		if got := send(test.line); !strings.Contains(got, test.want) {
			t.Errorf("%.80q: got %s, want %s", test.line, got, test.want)
		}
	}
	client.Close()
	for lines.Scan() {
		t.Errorf("then came %s", lines.Text())
	}
	select {
	case <-ended:
	case <-ctx.Done():
		t.Error("the server did not end with its input")
	}
}
