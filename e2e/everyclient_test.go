package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/actions/schema"
	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot/pagetext"
)

// clientCall calls a client in some language, one command at a time. A method with + before it is
// sent and not waited for, and has its id as the result; - is the answer of the last of these,
// and ! gives it up. ?dialog is the next event of that type.
type clientCall func(method string, p params) (json.RawMessage, *protocol.ErrorData)

// goClient calls the generated methods of the Go client.
func goClient(t *testing.T, url, token string) clientCall {
	c, err := client.Connect(t.Context(), client.Options{URL: url, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var pending []*client.Pending
	last := func() *client.Pending {
		p := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		return p
	}
	return func(method string, p params) (json.RawMessage, *protocol.ErrorData) {
		t.Helper()
		var result any
		var err error
		switch method[0] {
		case '+':
			var sent *client.Pending
			if sent, err = c.Send(method[1:], p); err == nil {
				pending = append(pending, sent)
				result = sent.ID
			}
		case '-':
			err = last().Wait(t.Context(), &result)
		case '!':
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err = last().Wait(ctx, nil)
		case '?':
			var e protocol.Event
			e, err = c.Event(t.Context(), client.OfType(method[1:]))
			result = e.Fields
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
			e := &protocol.ErrorData{Message: err.Error()}
			if errors.As(err, new(*client.Error)) {
				e.Code = protocol.CodeOf(err)
			}
			return nil, e
		}
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		return text, nil
	}
}

// clientsAt are the clients that are tried, by name; each connects to a URL with a token, or,
// without them, to the daemon of the user whose state directory $XDG_STATE_HOME has.
var clientsAt = map[string]func(t *testing.T, url, token string) clientCall{
	"go":         goClient,
	"python":     pythonClient("sync"),
	"asyncio":    pythonClient("async"),
	"typescript": typescriptClient("node"),
	"bun":        typescriptClient("bun"),
	"deno":       typescriptClient("deno"),
}

// python is a Python that is as old as the client allows, or else the newest there is.
func python(t *testing.T) string {
	t.Helper()
	home, _ := os.UserHomeDir()
	old, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.9.*/bin/python3"))
	for _, name := range append(old, "python3.9", "python3") {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "-c", "").Run() == nil {
			return path
		}
	}
	untested.Missing(t, "python3 is not installed")
	return ""
}

// pythonDriver runs testdata/driver.py.
func pythonDriver(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.Command(python(t), append([]string{"testdata/driver.py"}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH=../clients/python", "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

func pythonClient(mode string) func(*testing.T, string, string) clientCall {
	return func(t *testing.T, url, token string) clientCall {
		return driverCall(t, pythonDriver(t, mode, url), token)
	}
}

// typescriptDriver runs testdata/driver.mjs in a runtime: node, bun or deno.
func typescriptDriver(t *testing.T, runtime string, args ...string) *exec.Cmd {
	program, err := exec.LookPath(runtime)
	if runtime != "node" {
		root, _ := testdaemon.Root()
		modules := npmLocked(t, filepath.Join(root, "e2e/testdata/runtimes"))
		found, _ := filepath.Glob(filepath.Join(modules, map[string]string{"bun": "@oven/bun-linux-x64/bin/bun", "deno": "@deno/linux-x64-glibc/deno"}[runtime]))
		if program, err = strings.Join(found, ""), nil; len(found) != 1 {
			untested.Missing(t, "the client in TypeScript is not tried in %s: there is none for this system", runtime)
		}
	}
	if err != nil {
		untested.Missing(t, "the client in TypeScript is not tried: %v", err)
	}
	if runtime == "deno" {
		args = append([]string{"run", "--quiet", "--no-lock", "--allow-all"}, args...)
	}
	return exec.Command(program, args...)
}

func typescriptClient(runtime string) func(*testing.T, string, string) clientCall {
	return func(t *testing.T, url, token string) clientCall {
		return driverCall(t, typescriptDriver(t, runtime, "testdata/driver.mjs", typescriptPackage(t)+"/dist/index.js", "client", url), token)
	}
}

// driverCall runs a program that calls a client's methods as its standard input says.
func driverCall(t *testing.T, cmd *exec.Cmd, token string) clientCall {
	cmd.Env = append(slices.Concat(os.Environ(), cmd.Env), "BROWSERD_TOKEN="+token)
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		stuck := time.AfterFunc(20*time.Second, func() {
			t.Error("the client's program does not end")
			cmd.Process.Kill()
		})
		cmd.Wait()
		stuck.Stop()
	})
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

// The Python client is written in the Python of 3.9, whichever one tries it here.
func TestPythonClientIs39(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../clients/python/browserd/*.py")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v, %v", files, err)
	}
	const parse = "import ast, sys\nfor f in sys.argv[1:]: ast.parse(open(f).read(), f, feature_version=(3, 9))"
	if out, err := exec.Command(python(t), append([]string{"-c", parse}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
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
	for name, cmd := range map[string]*exec.Cmd{
		"Python":     pythonDriver(t, "corpus", file),
		"TypeScript": typescriptDriver(t, "node", "testdata/driver.mjs", typescriptPackage(t)+"/dist/index.js", "corpus", file),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// A client whose connection was lost, here by a message that is too long, goes on in its
// session with the next command.
func TestEveryClientReconnects(t *testing.T) {
	t.Parallel()
	w := newPageServer(t)
	w.serve("/page", page("Bakery", `<h1>Bread</h1>`), "")
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_SERVER__READ_LIMIT": "100000"}})
	for name, connect := range clientsAt {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := connect(t, d.WS(), d.Token)
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
