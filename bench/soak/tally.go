package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Tally counts what was sent and how it was answered. Any goroutine may use it.
type Tally struct {
	mu       sync.Mutex
	answers  map[string]map[protocol.Code]int
	took     map[string][]time.Duration
	faults   map[string]int
	examples map[string]string
	counters map[string]int
}

func newTally() *Tally {
	return &Tally{answers: map[string]map[protocol.Code]int{}, took: map[string][]time.Duration{}, faults: map[string]int{}, examples: map[string]string{}, counters: map[string]int{}}
}

// okay is the code of what succeeded.
const okay protocol.Code = "ok"

// codeOf is an answer's code; empty where there was none.
func codeOf(err error) protocol.Code {
	var e *protocol.Error
	switch {
	case err == nil:
		return okay
	case errors.As(err, &e):
		return e.Code
	}
	return ""
}

// answered notes a command's answer. What is not among the expected codes is a
// fault, and its first example is kept with what was asked for.
func (t *Tally) answered(method string, err error, took time.Duration, asked any, expected ...protocol.Code) {
	code := codeOf(err)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answers[method] == nil {
		t.answers[method] = map[protocol.Code]int{}
	}
	if code == "" {
		t.answers[method]["none"]++
	} else {
		t.answers[method][code]++
	}
	t.took[method] = append(t.took[method], took)
	if code != okay && !slices.Contains(expected, code) {
		fault := fmt.Sprintf("%s: %v", method, err)
		if t.faults[fault]++; t.faults[fault] == 1 {
			example := fmt.Sprintf("%v", asked)
			if e := (*protocol.Error)(nil); errors.As(err, &e) {
				example += fmt.Sprintf(" answered %v", e.Details)
			}
			t.examples[fault] = time.Now().UTC().Format("15:04:05.000 ") + example
		}
	}
}

// fault notes what may not be.
func (t *Tally) fault(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults[fmt.Sprintf(format, args...)]++
}

// count counts what is no command.
func (t *Tally) count(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counters[what]++
}

// Commands says how many were answered.
func (t *Tally) Commands() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, codes := range t.answers {
		for _, c := range codes {
			n += c
		}
	}
	return n
}

// Faults lists what may not be, and how often it was.
func (t *Tally) Faults() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []string
	for f, n := range t.faults {
		if e := t.examples[f]; e != "" {
			f += "; at " + e
		}
		if n > 1 {
			f = fmt.Sprintf("%s (%d times)", f, n)
		}
		list = append(list, f)
	}
	slices.Sort(list)
	return list
}
