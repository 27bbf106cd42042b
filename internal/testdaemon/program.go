package testdaemon

import (
	"fmt"
	"os"
	"sync"
)

// TB is what a Daemon needs of who starts it: a test, a benchmark, or a program
// through Main.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Failed() bool
	Cleanup(f func())
}

// Main runs f as a test is run: what f registers with Cleanup runs when it has
// ended, the last first, also where it panics. It returns the program's exit code:
// 1 where an error was reported.
func Main(f func(tb TB)) (code int) {
	p := &program{}
	defer func() {
		if e := recover(); e != nil && e != any(p) {
			panic(e)
		}
		if p.Failed() {
			code = 1
		}
	}()
	defer p.clean()
	f(p)
	return 0
}

// program is the TB of a program. Fatal is for f's own goroutine alone.
type program struct {
	mu      sync.Mutex
	failed  bool
	cleanup []func()
}

func (*program) Helper() {}

func (*program) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (p *program) Errorf(format string, args ...any) {
	p.Logf(format, args...)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = true
}

func (p *program) Fatal(args ...any) {
	p.Errorf("%s", fmt.Sprint(args...))
	panic(p)
}

func (p *program) Failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

func (p *program) Cleanup(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleanup = append(p.cleanup, f)
}

func (p *program) clean() {
	for {
		p.mu.Lock()
		n := len(p.cleanup)
		if n == 0 {
			p.mu.Unlock()
			return
		}
		last := p.cleanup[n-1]
		p.cleanup = p.cleanup[:n-1]
		p.mu.Unlock()
		last()
	}
}
