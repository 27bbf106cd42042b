package child

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"modernc.org/quickjs"

	"github.com/browserd/browserd/contain"
)

func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		os.Exit(serve(os.Stdin, os.Stdout))
	}
}

// Limits of the kernel for a child: more than any script may use, so that the script's
// own limits, whose errors it gets, are reached first.
const (
	maxCPUSeconds = 60
	maxDataBytes  = 640 << 20
)

// maxStack is how many calls of JavaScript may be nested.
const maxStack = 3000

//go:embed prelude
var preludeFiles embed.FS

// prelude returns the prelude, which is one module in four files, in this order.
func prelude() (text string) {
	for _, name := range []string{"steps", "locators", "page", "expect"} {
		part, err := preludeFiles.ReadFile("prelude/" + name + ".js")
		if err != nil {
			panic(err) // it is embedded
		}
		text += string(part)
	}
	return text
}

// serve runs one script. The exit code is 0 if it could report the end of the script.
func serve(in io.Reader, out io.Writer) int {
	if err := contain.Self(maxCPUSeconds, maxDataBytes); err != nil {
		fmt.Fprintln(os.Stderr, "browserd-script:", err)
		return 1
	}
	debug.SetMemoryLimit(256 << 20)
	s := &script{out: out, answers: make(chan Answer)}
	if err := s.prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "browserd-script:", err)
		return 1
	}
	if WriteFrame(out, Message{Ready: true}) != nil {
		return 1
	}
	if ReadFrame(in, &s.start) != nil {
		return 1
	}
	go s.listen(in)
	done := s.run()
	if WriteFrame(out, Message{Done: &done}) != nil {
		return 1
	}
	return 0
}

// script is one run. All but listen and watch runs in one goroutine.
type script struct {
	out     io.Writer
	answers chan Answer
	start   Start
	vm      *quickjs.VM
	expired chan struct{} // closed by watch when the processor time is used up
}

// listen passes on the answers to steps. It ends the process if the daemon is gone.
func (s *script) listen(in io.Reader) {
	for {
		var a Answer
		if ReadFrame(in, &a) != nil {
			os.Exit(1)
		}
		s.answers <- a
	}
}

// watch interrupts the script when it has used its processor time.
func (s *script) watch(limit time.Duration) {
	began := processorTime()
	for range time.Tick(20 * time.Millisecond) {
		if processorTime()-began > limit {
			close(s.expired)
			break
		}
	}
	for { // a script may catch the interrupt, so it is repeated
		s.vm.Interrupt()
		time.Sleep(time.Millisecond)
	}
}

// prepare makes the engine, with the globals of scripts.
func (s *script) prepare() (err error) {
	if s.vm, err = quickjs.NewVM(); err != nil {
		return err
	}
	s.vm.SetMaxStackSize(maxStack)
	s.vm.SetModuleLoader(func(_ *quickjs.VM, name string) (string, error) {
		switch name {
		case "prelude":
			return prelude(), nil
		case "script":
			return s.source(), nil
		}
		return "", fmt.Errorf("there is no module %q: a script has page, browser, input and console", name)
	}, func(_ *quickjs.VM, _, name string) (string, error) { return name, nil })
	for name, f := range map[string]quickjs.HostFunc{
		"__step":  s.step,
		"__sleep": s.sleep,
	} {
		if err := s.vm.RegisterHostFunc(name, f); err != nil {
			return err
		}
	}
	if _, err = s.vm.Eval("import 'prelude'; globalThis.__state = ''; import('prelude').catch((e) => { globalThis.__state = String(e); })", quickjs.EvalModule); err != nil {
		return err
	}
	s.vm.ExecutePendingJobs()
	state, err := s.vm.Eval("__state", quickjs.EvalGlobal)
	if err == nil && state != "" {
		err = fmt.Errorf("the prelude: %v", state)
	}
	return err
}

// step asks the daemon for a command and waits for its answer: {result} or {error}.
func (s *script) step(args []any) (any, error) {
	var step Step
	text, _ := args[0].(string)
	if err := json.Unmarshal([]byte(text), &step); err != nil {
		return nil, err
	}
	if err := WriteFrame(s.out, Message{Step: &step}); err != nil {
		return nil, err
	}
	a := <-s.answers
	answer, err := JSON(a)
	return string(answer), err
}

// sleep waits for milliseconds.
func (s *script) sleep(args []any) (any, error) {
	var ms float64
	switch n := args[0].(type) {
	case int:
		ms = float64(n)
	case int64:
		ms = float64(n)
	case float64:
		ms = n
	}
	if ms = min(ms, 1e6); ms > 0 {
		time.Sleep(time.Duration(ms * float64(time.Millisecond)))
	}
	return nil, nil
}

// importStatement matches the import statements of a script that was written as a test. What
// they import is predefined.
var importStatement = regexp.MustCompile(`(?m)^[ \t]*import\s+(?:[\w*{}\s,$]+\s+from\s+)?['"][^'"\n]*['"];?`)

var newlines = regexp.MustCompile(`[^\n]`)

// isFunction matches scripts that are one function, such as async (page) => { … }.
var isFunction = regexp.MustCompile(`^\s*(?:(?://[^\n]*\n|/\*[\s\S]*?\*/)\s*)*(?:export\s+default\s+|module\.exports\s*=\s*)?(?:async\b\s*)?(?:\([^()]*\)|\w+)\s*=>|^\s*(?:(?://[^\n]*\n|/\*[\s\S]*?\*/)\s*)*(?:export\s+default\s+|module\.exports\s*=\s*)?(?:async\s+)?function\b\s*\w*\s*\([^)]*\)\s*\{[\s\S]*\}\s*;?\s*$`)

var defaultExport = regexp.MustCompile(`^((?:\s|//[^\n]*\n|/\*[\s\S]*?\*/)*)(?:export\s+default|module\.exports\s*=)\s+`)

// source returns the script as a module whose default export is a function. Its lines have the
// numbers that they have in the script.
func (s *script) source() string {
	code := importStatement.ReplaceAllStringFunc(s.start.Code, func(line string) string { return newlines.ReplaceAllString(line, " ") })
	if isFunction.MatchString(code) {
		code = defaultExport.ReplaceAllString(code, "$1")
		return "export const whole = true; export default " + strings.TrimRight(strings.TrimSpace(code), ";") + "\n;"
	}
	return prefix + trailingCall.ReplaceAllString(code, "${1}return ${2}${3}") + "\n}"
}

// trailingCall matches a last statement that calls the script's main function: its value is
// the script's.
var trailingCall = regexp.MustCompile(`(?s)\A(.*\n|)((?:await )?\(async\b.*\n\}\)\(\)|(?:await )?\(async\b[^\n]*\)\(\)|(?:await )?(?:main|run)\(\))((?:\s*\.(?:catch|finally|then)\(.*\))?;?\s*)\z`)

// prefix is put before the first line of a script that is not a function.
const prefix = "export const whole = false; export default async function ({ page, context, browser, input, request }) { "

// run runs the script to its end.
func (s *script) run() Done {
	l := s.start.Limits
	s.vm.SetMemoryLimit(uintptr(l.MemoryMB) << 20)
	s.expired = make(chan struct{})
	go s.watch(time.Duration(l.CPUMS) * time.Millisecond)
	s.start.Prefix = len(prefix)
	given, err := JSON(s.start)
	if err != nil {
		return s.failed(err)
	}
	if _, err = s.vm.Call("__begin", string(given)); err != nil {
		return s.failed(err)
	}
	if _, err = s.vm.Eval("import * as script from 'script'; __run(script)", quickjs.EvalModule); err != nil {
		return s.failed(err)
	}
	for {
		n, err := s.vm.ExecutePendingJobs()
		if err != nil && s.cpuUsedUp() {
			return s.failed(err)
		}
		if s.cpuUsedUp() {
			return s.failed(errors.New("interrupted"))
		}
		// The next timer, the end, or nothing that could happen any more.
		state, err := s.vm.Call("__turn")
		if err != nil {
			return s.failed(err)
		}
		text, _ := state.(string)
		switch {
		case strings.HasPrefix(text, "{"):
			var done Done
			if err := json.Unmarshal([]byte(text), &done); err != nil {
				return s.failed(err)
			}
			if done.Error != nil && done.Error.Cause == nil && done.Error.Limit == "" {
				s.explainLimit(done.Error)
			}
			return done
		case text == "" && n == 0:
			return Done{Error: &Failure{Message: "the script waits for a promise that nothing settles"}}
		}
	}
}

func (s *script) cpuUsedUp() bool {
	select {
	case <-s.expired:
		return true
	default:
		return false
	}
}

// typeScript matches scripts that seem to be TypeScript.
var typeScript = regexp.MustCompile(`(?m)^\s*(?:export\s+)?(?:interface|type|enum|declare)\s+\w+|[\w)]\??:\s*(?:string|number|boolean|any|void|Promise<)|\bas\s+(?:string|number|any|unknown)\b|:\s*\w+\[\]\s*=`)

var stackPosition = regexp.MustCompile(`\bscript:(\d+)(?::(\d+))?`)

// failed returns the end of a script that the engine stopped.
func (s *script) failed(err error) Done {
	f := &Failure{Message: err.Error()}
	var e *quickjs.Error
	if errors.As(err, &e) {
		if at := stackPosition.FindStringSubmatch(e.Stack); at != nil {
			f.Line, _ = strconv.Atoi(at[1])
			f.Column, _ = strconv.Atoi(at[2])
		} else if e.FileName == "script" {
			f.Line, f.Column = e.LineNumber, e.ColumnNumber
		}
	}
	if f.Line == 1 && f.Column > len(prefix) && !isFunction.MatchString(s.start.Code) {
		f.Column -= len(prefix)
	}
	if strings.HasPrefix(f.Message, "SyntaxError") && typeScript.MatchString(s.start.Code) {
		f.Message += " (scripts are JavaScript: leave out the types)"
	}
	s.explainLimit(f)
	return Done{Error: f}
}

// explainLimit replaces the message of a script that failed because it reached a limit of the
// engine.
func (s *script) explainLimit(f *Failure) {
	switch {
	case s.cpuUsedUp():
		f.Limit, f.Message = "cpu_ms", fmt.Sprintf("the script used its %d ms of processor time", s.start.Limits.CPUMS)
	case strings.Contains(f.Message, "out of memory"):
		f.Limit, f.Message = "memory_mb", fmt.Sprintf("the script used its %d MB of memory", s.start.Limits.MemoryMB)
	}
}
