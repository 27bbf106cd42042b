// Command go is an agent loop in a few dozen lines: it connects to a running
// `browserd serve`, opens a page, and acts on it by refs that it reads in the
// snapshot, as a language model would.
//
//	BROWSERD_TOKEN=… go run ./examples/go ws://127.0.0.1:9333/v1/ws http://127.0.0.1:8080/
//
// The page is the app of `browserd demo`: the loop puts a thing on its list. An
// app that a server renders will do as well, and then also without Chromium.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/gorilla/websocket"
)

// answer is the part of a result that the loop looks at.
type answer struct {
	Snapshot struct{ Text string }
	Delta    struct{ Text string }
	Content  string
}

// shown is what the answer shows of the page: what changed, or after a
// navigation the new page.
func (a answer) shown() string { return a.Delta.Text + a.Snapshot.Text }

// agent is one connection; its session is the daemon's for this connection.
type agent struct {
	conn *websocket.Conn
	id   int
}

// call sends one command and waits for its answer; events are passed over.
func (a *agent) call(method string, params map[string]any) answer {
	a.id++
	request := map[string]any{"jsonrpc": "2.0", "id": a.id, "method": method, "params": params}
	if err := a.conn.WriteJSON(request); err != nil {
		log.Fatalf("%s: %v", method, err)
	}
	for {
		var reply struct {
			ID     int
			Result json.RawMessage
			Error  *struct {
				Message string
				Data    struct{ Code, Next string }
			}
		}
		if err := a.conn.ReadJSON(&reply); err != nil {
			log.Fatalf("%s: %v", method, err)
		}
		if reply.ID != a.id {
			continue
		}
		if e := reply.Error; e != nil {
			log.Fatalf("%s: %s: %s; next: %s", method, e.Data.Code, e.Message, e.Data.Next)
		}
		var result answer
		if err := json.Unmarshal(reply.Result, &result); err != nil {
			log.Fatalf("%s: %v", method, err)
		}
		return result
	}
}

// ref takes a snapshot and finds the line of a role and name in it:
// `@e7 [button …] "Add"`.
func (a *agent) ref(role, name string) string {
	text := a.call("snapshot", map[string]any{}).Snapshot.Text
	line := regexp.MustCompile(`(?m)^ *(@e\d+) \[` + role + `\b.*\] "` + regexp.QuoteMeta(name) + `"$`)
	found := line.FindStringSubmatch(text)
	if found == nil {
		log.Fatalf("no %s %q in:\n%s", role, name, text)
	}
	return found[1]
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: BROWSERD_TOKEN=… go run ./examples/go WEBSOCKET-URL APP-URL")
	}
	header := http.Header{"Authorization": {"Bearer " + os.Getenv("BROWSERD_TOKEN")}}
	conn, _, err := websocket.DefaultDialer.Dial(os.Args[1], header)
	if err != nil {
		log.Fatalf("connecting to %s: %v", os.Args[1], err)
	}
	defer conn.Close()
	a := &agent{conn: conn}

	fmt.Println(a.call("open", map[string]any{"url": os.Args[2]}).Snapshot.Text)
	fmt.Println(a.call("click", map[string]any{"ref": a.ref("link", "Items")}).shown())
	a.call("type", map[string]any{"ref": a.ref("textbox", "New item"), "text": "Oat milk"})
	fmt.Println(a.call("click", map[string]any{"ref": a.ref("button", "Add")}).shown())

	page := a.call("read", map[string]any{"kind": "text"}).Content
	if !strings.Contains(page, "Oat milk") {
		log.Fatalf("the page does not show what was added:\n%s", page)
	}
	fmt.Println(page)
}
