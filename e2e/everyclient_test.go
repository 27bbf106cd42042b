package e2e_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/browserd/browserd/actions/schema"
	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot/pagetext"
)

// clientCall is a client in some language, clientCall one command at a time. A method with + before
// it is sent and not waited for; - is its answer.
type clientCall func(method string, p params) (json.RawMessage, *protocol.ErrorData)

// goClient calls the generated methods of the Go client.
func goClient(t *testing.T, d *testdaemon.Daemon, token string) clientCall {
	c, err := client.Connect(t.Context(), client.Options{URL: "ws://" + d.Addr + "/v1/ws", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var pending *client.Pending
	return func(method string, p params) (json.RawMessage, *protocol.ErrorData) {
		t.Helper()
		var result any
		var err error
		switch method[0] {
		case '+':
			pending, err = c.Send(method[1:], p)
		case '-':
			err = pending.Wait(t.Context(), &result)
		default:
			m := reflect.ValueOf(c).MethodByName(schema.Pascal(method))
			if !m.IsValid() {
				t.Fatalf("the Go client has no method %s", schema.Pascal(method))
			}
			given := reflect.New(m.Type().In(1))
			text, _ := json.Marshal(p)
			decoder := json.NewDecoder(strings.NewReader(string(text)))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(given.Interface()); err != nil {
				t.Fatalf("%s %s: %v", method, text, err)
			}
			out := m.Call([]reflect.Value{reflect.ValueOf(t.Context()), given.Elem()})
			result = out[0].Interface()
			err, _ = out[1].Interface().(error)
		}
		if err != nil {
			return nil, &protocol.ErrorData{Code: protocol.CodeOf(err), Message: err.Error()}
		}
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		return text, nil
	}
}

// python is a Python that is as old as the client allows, or else the newest there is.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3.9", "python3"} {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "-c", "").Run() == nil {
			return path
		}
	}
	missing(t, "python3 is not installed")
	return ""
}

// pythonClient runs testdata/driver.py in the mode sync or async.
func pythonClient(mode string) func(*testing.T, *testdaemon.Daemon, string) clientCall {
	return func(t *testing.T, d *testdaemon.Daemon, token string) clientCall {
		cmd := exec.Command(python(t), "testdata/driver.py", mode, "ws://"+d.Addr+"/v1/ws")
		cmd.Env = append(os.Environ(), "PYTHONPATH=../clients/python", "BROWSERD_TOKEN="+token)
		cmd.Stderr = os.Stderr
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); cmd.Wait() })
		answers := bufio.NewReader(out)
		return func(method string, p params) (json.RawMessage, *protocol.ErrorData) {
			t.Helper()
			line, _ := json.Marshal(map[string]any{"method": method, "params": p})
			if _, err := in.Write(append(line, '\n')); err != nil {
				t.Fatal(err)
			}
			line, err := answers.ReadBytes('\n')
			var answer struct {
				Result json.RawMessage
				Error  *struct {
					Code           protocol.Code
					Message, Class string
				}
			}
			if err != nil || json.Unmarshal(line, &answer) != nil {
				t.Fatalf("%s %v: %s %v", method, p, line, err)
			}
			if e := answer.Error; e != nil {
				return nil, &protocol.ErrorData{Code: e.Code, Message: e.Class + ": " + e.Message}
			}
			return answer.Result, nil
		}
	}
}

// All clients hold the same page after each delta of one corpus.
func TestEveryClientAppliesDeltas(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs("../snapshot/pagetext/testdata/deltas.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var steps []struct{ Kind, Text, Held string }
	if err := json.Unmarshal(text, &steps); err != nil || len(steps) < 100 {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	var page client.PageText
	for i, s := range steps {
		r := pagetext.Result{Delta: &pagetext.Text{Text: s.Text}}
		if s.Kind == "snapshot" {
			r = pagetext.Result{Snapshot: r.Delta}
		}
		if err := page.Apply(r); err != nil || page.Text() != s.Held {
			t.Fatalf("Go, step %d: %v\n%s\nwant\n%s", i, err, page.Text(), s.Held)
		}
	}
	cmd := exec.Command(python(t), "testdata/driver.py", "corpus", file)
	cmd.Env = append(os.Environ(), "PYTHONPATH=../clients/python")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("Python: %v\n%s", err, out)
	}
}

// A client whose connection was lost, here by a message that is too long, goes on in its
// session with the next command.
func TestEveryClientReconnects(t *testing.T) {
	t.Parallel()
	w := newWitness(t)
	w.serve("/page", page("Bakery", `<h1>Bread</h1>`), "")
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_SERVER__READ_LIMIT": "100000"}})
	for name, connect := range map[string]func(*testing.T, *testdaemon.Daemon, string) clientCall{"go": goClient, "python": pythonClient("sync"), "asyncio": pythonClient("async")} {
		t.Run(name, func(t *testing.T) {
			call := connect(t, d, d.Token)
			var before, after result
			opened, e := call("open", params{"url": w.URL + "/page"})
			if e != nil || json.Unmarshal(opened, &before) != nil {
				t.Fatalf("%s %+v", opened, e)
			}
			if _, e := call("help", params{"command": strings.Repeat("x", 200_000)}); e == nil {
				t.Fatal("a message that is too long is answered")
			}
			var read json.RawMessage
			for { // the answer to the long message may come before the end of the connection
				if read, e = call("read", nil); e == nil || !strings.Contains(e.Message, "losed") {
					break
				}
			}
			if e != nil || json.Unmarshal(read, &after) != nil || after.Session != before.Session || !strings.Contains(after.Content, "Bread") {
				t.Errorf("session %q goes on with %s %+v", before.Session, read, e)
			}
			if after.SessionEnded != nil {
				t.Errorf("its session ended: %+v", after.SessionEnded)
			}
		})
	}
}
