// Command generate writes the part of each client that follows from the repertoire: its
// methods and types. It is run by go generate ./clients/generate; a test fails where a file
// is not what it writes.
package main

//go:generate go run . ../..

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/schema"
)

// files are what is written, by its place in the repository.
func files() map[string]string {
	// Each language has the document to itself: Go embeds no base but CallParams in what a
	// caller writes down as a literal.
	of := func(share ...func(document)) document {
		d := read(schema.Document(actions.All, "1"))
		for _, f := range share {
			f(d)
		}
		return d
	}
	calls, acts, events := document.shareCalls, document.shareActs, document.shareEvents
	return map[string]string{
		"clients/go/commands.go":               of(calls, events).golang(),
		"clients/python/browserd/_commands.py": of(calls, acts, events).python(),
		"clients/typescript/src/commands.ts":   of(calls, acts, events).typescript(),
		"clients/typescript/src/tools.ts":      of().tools(actions.All),
	}
}

func main() {
	for name, text := range files() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
