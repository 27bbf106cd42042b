package browser

import (
	"embed"
	"strings"
)

// The scripts that live in an isolated world of every document. They are one
// program in several files: the functions of one are seen by the next.
//
//go:embed js/*.js
var scripts embed.FS

// scriptFiles are the files in the order in which they are put together. Those
// of a row share one scope; the first row's is around all others.
var scriptFiles = [][]string{
	{"core", "role", "looks", "name", "walk"},
	{"settle"},
	{"refs", "reach", "guard", "act", "fill", "read", "wait", "boxes"},
}

// script is the program, as it is injected. It does nothing where it has run
// in the same world before.
var script = func() string {
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\nif (globalThis.__bd) return;\n")
	// Set by settle.js and called by act.js.
	b.WriteString("let begin = null;\n")
	for i, row := range scriptFiles {
		if i > 0 {
			b.WriteString("{\n")
		}
		for _, name := range row {
			text, err := scripts.ReadFile("js/" + name + ".js")
			if err != nil {
				panic(err) // the file is not in the binary: a mistake of the build
			}
			b.Write(text)
			b.WriteString("\n")
		}
		if i > 0 {
			b.WriteString("}\n")
		}
	}
	b.WriteString("})();\n")
	return b.String()
}()
