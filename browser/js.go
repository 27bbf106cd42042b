package browser

import (
	"embed"
	"fmt"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
)

// The scripts that live in an isolated world of every document. They are one
// program in several files: the functions of one are seen by the next.
//
//go:embed js/*.js
var scripts embed.FS

// scriptFiles are the files in the order in which they are put together. Those
// of a row share one scope; the first row's is around all others.
var scriptFiles = [][]string{
	{"core", "role", "looks", "known", "name", "frame", "walk", "touched"},
	{"settle", "arrive"},
	{"refs", "reach", "guard", "act", "fill", "read", "wait", "boxes"},
}

// script is the program, as it is injected. It does nothing where it has run
// in the same world before.
var script = sync.OnceValue(func() string {
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
			b.WriteString(compact(string(text)))
		}
		if i > 0 {
			b.WriteString("}\n")
		}
	}
	// Last, so that it is known only where all of it has run.
	b.WriteString("Object.defineProperty(globalThis, '__bd', { value: __bd });\n})();\n")
	return b.String()
})

// compact is a script without its comments and its indentation, in ASCII: V8
// reads it for every process, and keeps it, in two bytes a character where one
// of them is not Latin-1. No statement stands on a line that begins with a
// comment, and no template literal crosses lines.
func compact(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		if !strings.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }) {
			b.WriteString(line)
			line = ""
		}
		for _, r := range utf16.Encode([]rune(line)) {
			if r < 0x80 {
				b.WriteByte(byte(r))
			} else {
				fmt.Fprintf(&b, "\\u%04x", r)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// inject is the parameters of Page.addScriptToEvaluateOnNewDocument, encoded
// once: they are sent for every page and every out-of-process frame.
var inject = sync.OnceValue(func() jsonv2.Value { return injection(script()) })

// injection has the source run in every document to come, and in the one that
// is there.
func injection(source string) jsonv2.Value {
	b, err := jsonv2.Marshal(page.AddScriptToEvaluateOnNewDocumentParams{
		Source: source, WorldName: world, RunImmediately: ptr(true),
	})
	if err != nil {
		panic(err) // the parameters cannot be encoded: a mistake of the build
	}
	return b
}
