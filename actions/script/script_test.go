package script

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs a script whose commands all answer with their own parameters.
func run(t *testing.T, ctx context.Context, c Config, code, input string) (Ended, []Step, error) {
	t.Helper()
	pool := testPool(t, c)
	var steps []Step
	ended, err := pool.Run(ctx, Script{Code: code, Input: json.RawMessage(input), Commands: map[string]string{"echo": "text", "fail": "text"}}, func(_ context.Context, s Step) Answer {
		steps = append(steps, s)
		if s.Command == "fail" {
			return Answer{Error: json.RawMessage(`{"code":"not_actionable","message":"it is covered","next":"close the dialog"}`)}
		}
		return Answer{Result: s.Params}
	})
	return ended, steps, err
}

func testPool(t *testing.T, c Config) *Pool {
	t.Helper()
	pool, err := NewPool(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// A script gets its input, sends commands, logs, and returns a value.
func TestAScriptRuns(t *testing.T) {
	ended, steps, err := run(t, t.Context(), DefaultConfig, `console.log("hello", {a: 1});
const r = await browser.echo({text: input.who});
await new Promise(done => setTimeout(done, 10));
return {got: r.text, short: (await browser.echo("x")).text};`, `{"who":"you"}`)
	if err != nil || ended.Failure != nil {
		t.Fatalf("%v %+v", err, ended.Failure)
	}
	if string(ended.Value) != `{"got":"you","short":"x"}` || strings.Join(ended.Logs, "|") != `hello {"a":1}` || ended.Steps != 2 {
		t.Errorf("%s %q %d", ended.Value, ended.Logs, ended.Steps)
	}
	if steps[0].Line != 2 || steps[0].Call != "browser.echo" || string(steps[0].Params) != `{"text":"you"}` {
		t.Errorf("%+v", steps[0])
	}
}

// A process that died while it waited for a script is replaced, and the client sees nothing
// of it.
func TestAProcessThatDiedWhileItWaited(t *testing.T) {
	pool := testPool(t, DefaultConfig)
	s := Script{Code: "return 1", Input: json.RawMessage("{}"), Commands: map[string]string{}}
	for i := range 3 {
		ended, err := pool.Run(t.Context(), s, func(context.Context, Step) Answer { return Answer{} })
		if err != nil || string(ended.Value) != "1" {
			t.Fatalf("run %d: %s, %+v, %v", i, ended.Value, ended.Failure, err)
		}
		waits := <-pool.ready
		waits.kill()
		if _, err := waits.cmd.Process.Wait(); err != nil {
			t.Fatal(err)
		}
		pool.ready <- waits
	}
}

// The forms in which models write a script.
func TestFormsOfScripts(t *testing.T) {
	for name, code := range map[string]string{
		"body":        `return (await browser.echo("v")).text`,
		"arrow":       `async (page) => { return (await browser.echo("v")).text }`,
		"destructure": "// a comment\nasync ({ page, context }) => {\n  return (await browser.echo('v')).text;\n};",
		"function":    `async function run(page) { return (await browser.echo("v")).text }`,
		"export":      `export default async ({ page }) => (await browser.echo("v")).text`,
		"test":        "import { test, expect } from '@playwright/test';\n\ntest('it', async ({ page }) => {\n  expect(1).toBe(1);\n  return (await browser.echo('v')).text;\n});",
		"library":     "const { chromium } = require('playwright');\nconst b = await chromium.launch({ headless: true });\nconst p = await b.newPage();\nawait b.close();\nreturn (await browser.echo('v')).text",
	} {
		ended, _, err := run(t, t.Context(), DefaultConfig, code, "")
		if err != nil || ended.Failure != nil || string(ended.Value) != `"v"` {
			t.Errorf("%s: %v %+v %s", name, err, ended.Failure, ended.Value)
		}
	}
}

// An error has the position in the script and the step at which it happened.
func TestErrorsOfScripts(t *testing.T) {
	for _, c := range []struct {
		code, message string
		line, column  int
		step          int
	}{
		{"let a = 1;\nthrow new Error('no such order')", "no such order", 2, 16, 0},
		{"null.x", "TypeError: cannot read property 'x' of null", 1, 5, 0},
		{"await browser.echo('a');\n\nawait browser.fail({text: 'b'});", "it is covered", 3, 19, 2},
		{"browser.fail({text: 'b'});\nawait browser.echo('a');", "it is covered", 1, 13, 1},
		{"let a = 1;\nlet b = ;\n", "SyntaxError: unexpected token in expression: ';'", 2, 9, 0},
		{"async (page) => {\n  page.nothing();\n}", "TypeError: not a function", 2, 15, 0},
		{"throw 'words'", "the script threw words", 0, 0, 0},
		{"await new Promise(() => {})", "the script waits for a promise that nothing settles", 0, 0, 0},
	} {
		ended, _, err := run(t, t.Context(), DefaultConfig, c.code, "")
		f := ended.Failure
		if err != nil || f == nil {
			t.Errorf("%q: %v %+v", c.code, err, ended)
			continue
		}
		if f.Message != c.message || f.Line != c.line || f.Column != c.column || f.Step != c.step {
			t.Errorf("%q: %q at %d:%d, step %d; want %q at %d:%d, step %d", c.code, f.Message, f.Line, f.Column, f.Step, c.message, c.line, c.column, c.step)
		}
		if c.step > 0 && !strings.Contains(string(f.Cause), "close the dialog") {
			t.Errorf("%q: the cause is %s", c.code, f.Cause)
		}
	}
}

// A script ends with its context, whatever it does.
func TestAScriptEndsWithItsContext(t *testing.T) {
	pool := testPool(t, Config{MemoryMB: 64, CPU: 20 * time.Second, Steps: 10, PerToken: 1})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := pool.Run(ctx, Script{Code: "await browser.echo('a'); for(;;);", Commands: map[string]string{"echo": "text"}}, func(context.Context, Step) Answer {
		time.AfterFunc(50*time.Millisecond, cancel)
		return Answer{Result: json.RawMessage(`{}`)}
	})
	if err != context.Canceled {
		t.Error(err)
	}
}
