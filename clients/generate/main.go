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
	d := read(schema.Document(actions.All, "1"))
	tools := d.tools(actions.All)
	d.shareParams()
	return map[string]string{
		"clients/go/commands.go":               d.golang(),
		"clients/python/browserd/_commands.py": d.python(),
		"clients/typescript/src/commands.ts":   d.typescript(),
		"clients/typescript/src/tools.ts":      tools,
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
