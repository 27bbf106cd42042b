package script

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/contain"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
)

// tight has limits that an attack reaches soon.
var tight = Config{MemoryMB: 16, CPU: 300 * time.Millisecond, Steps: 20, PerToken: 1}

// What scripts try against their process and the daemon: each ends by a limit or an error of
// its own, or returns what shows that nothing was reached.
func TestAttacksOfScripts(t *testing.T) {
	const none = "" // no limit
	for name, c := range map[string]struct {
		code, limit, value string
	}{
		"endless loop":                      {"for(;;);", "cpu_ms", ""},
		"endless loop that catches":         {"for(;;) { try { for(;;); } catch {} }", "cpu_ms", ""},
		"endless loop in finally":           {"try { for(;;); } finally { for(;;); }", "cpu_ms", ""},
		"promises without end":              {"const f = () => { Promise.resolve().then(f); }; f(); await new Promise(() => {});", "cpu_ms", ""},
		"promises that wait for each other": {"const f = () => Promise.resolve().then(f); f(); await new Promise(() => {});", "|cpu_ms", ""}, // by where its memory ends, the chain breaks or goes on
		"awaiting without end":              {"for(;;) await null;", "cpu_ms", ""},
		"timers without end":                {"const f = () => { for (let i = 0; i < 1e6; i++); setTimeout(f); }; f(); await new Promise(() => {});", "cpu_ms", ""},
		"regular expression":                {"return /^(a+)+$/.test('a'.repeat(60) + '!');", "cpu_ms", ""},
		"sorting without end":               {"[...Array(1000).keys()].sort(() => { for(;;); });", "cpu_ms", ""},
		"arrays":                            {"const all = []; for(;;) all.push(new Array(1e4).fill(1));", "memory_mb", ""},
		"a string":                          {"let s = 'x'; for(;;) s += s;", "", ""},
		"a buffer":                          {"return new ArrayBuffer(1e9).byteLength;", "memory_mb", ""},
		"many buffers":                      {"const all = []; for(;;) all.push(new Uint8Array(1e5));", "memory_mb", ""},
		"recursion":                         {"const f = (n) => f(n + 1) + 1; return f(0);", "", ""},
		"recursion by getters":              {"const o = { get a() { return this.a; } }; return o.a;", "", ""},
		"recursion by JSON":                 {"let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return o;", "", ""},
		"a value that holds itself":         {"const o = {}; o.o = o; return o;", "", ""},
		"a long value":                      {"return 'x'.repeat(2e6);", "value_chars", ""},
		"too many steps":                    {"for(;;) await browser.echo('a');", "steps", ""},
		"a step too long":                   {"await browser.echo('x'.repeat(9e6));", "memory_mb", ""},
		"long logs":                         {"for (let i = 0; i < 1e4; i++) console.log('x'.repeat(1000)); return 'logged';", none, `"logged"`},
		"Function":                          {"return Function('return [typeof std, typeof os, typeof __step, typeof __sleep, typeof process.binding, process.env.PATH === undefined].join()')();", none, `"undefined,undefined,undefined,undefined,undefined,true"`},
		"constructors of commands":          {"const g = browser.echo.constructor('return this')(); return ['std', 'os', 'scriptArgs', '__step', '__sleep', 'Deno'].filter((k) => k in g);", none, `[]`},
		"generators' constructors":          {"const G = Object.getPrototypeOf(function*(){}).constructor; return G('yield typeof std + typeof os')().next().value;", none, `"undefinedundefined"`},
		"modules":                           {"const got = []; for (const m of ['std', 'os', 'fs', 'node:fs', 'file:///etc/passwd', '/etc/passwd', 'http://127.0.0.1/']) { try { await import(m); got.push(m); } catch {} } return got;", none, `[]`},
		"require":                           {"const got = []; for (const m of ['fs', 'child_process', 'net', 'os', '/etc/passwd']) { try { require(m); got.push(m); } catch {} } return got;", none, `[]`},
		"a network of its own":              {"return [typeof fetch, typeof XMLHttpRequest, typeof WebSocket];", none, `["undefined","undefined","undefined"]`},
		"getters on arguments":              {"let n = 0; await browser.echo({ get text() { n++; throw new Error('a getter'); } });", "", ""},
		"eval":                              {"return [eval('typeof std'), (0, eval)('typeof os'), (0, eval)('typeof __step')].join();", none, `"undefined,undefined,undefined"`},
		"a repeated string":                 {"return 'x'.repeat(2 ** 29).length;", "memory_mb", ""},
		"brackets to parse as JSON":         {"return JSON.parse('['.repeat(1e6));", "", ""},
		"brackets to parse as a script":     {"return eval('('.repeat(1e5));", "", ""},
		"a large number":                    {"return 2n ** (2n ** 40n);", "", ""},
		"a promise of its own":              {"return { then() {} };", "", ""},
		"a value that computes for ever":    {"return { toJSON() { for (;;); } };", "cpu_ms", ""},
		"a getter in the value":             {"return { get a() { for (;;); } };", "cpu_ms", ""},
		"a message that computes":           {"throw Object.assign(new Error(), { get message() { return 'x'; }, toString() { for (;;); } });", "", ""},
		"a long message":                    {"throw new Error('x'.repeat(1e6));", "", ""},
		"a long stack":                      {"const e = new Error('m'); e.stack = 'script:1e9:'.repeat(1e5); throw e;", "", ""},
		"waiting in shared memory":          {"Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100); throw new Error('it waited');", "", ""},
		"a proxy as argument":               {"return (await browser.echo(new Proxy({}, { ownKeys: () => ['text'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 'p' }), get: (_, k) => k === 'text' ? 'p' : undefined }))).text;", none, `"p"`},
	} {
		t.Run(name, func(t *testing.T) {
			limits := tight
			if testdaemon.RaceEnabled && !strings.Contains(c.limit, "cpu_ms") {
				limits.CPU = time.Minute // the race detector makes the engine some twenty times slower
			}
			ended, _, err := run(t, t.Context(), limits, c.code, "")
			got := none
			var limit *Limit
			switch f := ended.Failure; {
			case errors.As(err, &limit):
				got = limit.Name
			case err != nil && testdaemon.RaceEnabled && strings.HasPrefix(name, "recursion"):
				// With the race detector the engine's stack outgrows the process's limit first.
			case err != nil:
				t.Fatalf("the process: %v", err)
			case f != nil:
				got = f.Limit
			}
			failed := err != nil || ended.Failure != nil
			if !slices.Contains(strings.Split(c.limit, "|"), got) || failed != (c.value == "") || string(ended.Value) != c.value {
				t.Errorf("limit %q, value %s, %+v; want limit %q, value %s", got, cut(string(ended.Value), 100), ended.Failure, c.limit, c.value)
			}
			if n := len(strings.Join(ended.Logs, "")); n > maxLogChars {
				t.Errorf("%d characters of logs", n)
			}
		})
	}
}

// Whatever a script does to what all objects inherit, the daemon gets commands as data, and the
// next script has an engine of its own.
func TestPollutedPrototypes(t *testing.T) {
	pool := testPool(t, tight)
	commands := map[string]string{"echo": "text"}
	for _, pollute := range []string{
		"Object.prototype.toJSON = () => ({ command: 'evil' });", "Object.prototype.command = 'evil';", "Array.prototype.map = () => ['evil'];", "String.prototype.replace = () => 'evil';",
		"Object.defineProperty(Object.prototype, 'params', { get: () => 'evil', set() {} });", "JSON.stringify = () => '{\"command\":\"evil\"}'; JSON.parse = () => ({});", "globalThis.__turn = () => '{\"value\":\"evil\"}';",
		"Promise.prototype.then = (f) => f('evil');", "Object.fromEntries = Object.entries = () => [['command', 'evil']];",
	} {
		sent := 0
		_, err := pool.Run(t.Context(), Script{Code: pollute + " await browser.echo('a');", Commands: commands}, func(_ context.Context, s Step) Answer {
			if sent++; !json.Valid(s.Params) {
				t.Errorf("%s: params %q", pollute, s.Params)
			}
			return Answer{Result: json.RawMessage(`{}`)}
		})
		if err != nil && !errors.Is(err, ErrDied) && !errors.Is(err, ErrHostile) {
			t.Errorf("%s: %v", pollute, err)
		}
		ended, err := pool.Run(t.Context(), Script{Code: "return [({}).command, (await browser.echo('a')).text]", Commands: commands}, func(_ context.Context, s Step) Answer {
			return Answer{Result: s.Params}
		})
		if err != nil || string(ended.Value) != `[null,"a"]` {
			t.Errorf("%s: the next script: %s %+v %v", pollute, ended.Value, ended.Failure, err)
		}
	}
}

// A child that was taken over sends what it likes: it is believed nothing.
func TestAHostileChild(t *testing.T) {
	frame := func(text string) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) + text
	}
	for name, sends := range map[string]string{
		"nothing":           "",
		"half a frame":      "\x00\x00\x00\x10{",
		"a frame of 4 GB":   "\xff\xff\xff\xff" + strings.Repeat("x", 100),
		"no JSON":           frame("{{"),
		"another type":      frame(`{"step":7}`),
		"ready again":       frame(`{"ready":true}`),
		"two in one":        frame(`{"step":{"command":"echo"},"done":{}}`),
		"none":              frame(`{}`),
		"a value too long":  frame(`{"done":{"value":"` + strings.Repeat("x", 5<<20) + `"}}`),
		"steps without end": strings.Repeat(frame(`{"step":{"command":"echo","params":{}}}`), 100),
		"a step, no end":    frame(`{"step":{"command":"` + strings.Repeat("x", 1<<20) + `","params":{}}}`),
	} {
		c := &process{in: discardCloser{io.Discard}, out: bufio.NewReader(bytes.NewBufferString(sends))}
		steps := 0
		_, err := c.run(t.Context(), tight, func(_ context.Context, s Step) Answer {
			if steps++; len(s.Command) > 100 {
				t.Errorf("%s: a command of %d bytes", name, len(s.Command))
			}
			return Answer{Result: json.RawMessage(`{}`)}
		})
		if err == nil || steps > tight.Steps {
			t.Errorf("%s: %v, %d steps", name, err, steps)
		}
	}
	c := &process{in: discardCloser{io.Discard}, out: bufio.NewReader(strings.NewReader(frame(`{"done":{"logs":["` + strings.Repeat("x", 1<<20) + `"],"error":{"message":"` + strings.Repeat("m", 1<<20) + `","step":99,"line":-5}}}`)))}
	ended, err := c.run(t.Context(), tight, nil)
	if f := ended.Failure; err != nil || f == nil || len(f.Message) != maxMessage || f.Step != 0 || f.Line != 0 || len(ended.Logs[0]) != maxLogChars {
		t.Errorf("%v %d log lines", err, len(ended.Logs))
	}
}

type discardCloser struct{ io.Writer }

func (discardCloser) Close() error { return nil }

// A script's process has the kernel's filter, no privileges to gain, no environment, and no files but
// two pipes and an empty error output. In CI, where namespaces are allowed, it has its own network too.
func TestAScriptsProcessIsContained(t *testing.T) {
	t.Setenv("BROWSERD_TOKEN", "the-token-of-the-daemon")
	pool := testPool(t, tight)
	c, err := pool.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.discard(c)
	if untested.InCI() && contain.Namespaces && !pool.Namespaces() {
		t.Error("it has no namespaces of its own")
	}
	testdaemon.CheckContained(t, c.cmd.Process.Pid, pool.Namespaces())
}
