package browser

import (
	"regexp"
	"strings"
	"testing"
)

// What compact takes away is no part of the program: no template literal
// crosses lines, and no line that begins with a comment ends with a statement.
func TestScriptsCanBeCompacted(t *testing.T) {
	for _, row := range scriptFiles {
		for _, name := range row {
			text, err := scripts.ReadFile("js/" + name + ".js")
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for line := range strings.Lines(string(text)) {
				n++
				code := strings.NewReplacer("'`'", "", "'`` '", "", "' ``'", "").Replace(line)
				if !strings.HasPrefix(strings.TrimSpace(line), "//") && strings.Count(code, "`")%2 == 1 {
					t.Errorf("js/%s.js:%d: a template literal crosses lines: %s", name, n, line)
				}
				if strings.HasPrefix(strings.TrimSpace(line), "/*") || strings.HasSuffix(strings.TrimSpace(line), "\\") {
					t.Errorf("js/%s.js:%d: write comments with //, and no line continuations: %s", name, n, line)
				}
			}
		}
	}
	got := compact("  // what\n\tconst a = '…𝄞'; // it is\n\n  b();\n")
	if want := "const a = '\\u2026\\ud834\\udd1e'; // it is\nb();\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for i, c := range []byte(script()) {
		if c >= 0x80 {
			t.Fatalf("not ASCII at %d: %q", i, script()[max(0, i-20):i+1])
		}
	}
}

// What answers with a promise is awaited, and nothing else is.
func TestPromised(t *testing.T) {
	answers := map[string]bool{}
	for _, m := range regexp.MustCompile(`__bd\.(\w+) = (async\b|\(?\w*\)? => new Promise)?`).FindAllStringSubmatch(script(), -1) {
		answers[m[1]] = m[2] != ""
	}
	for function, promises := range answers {
		if promises != promised[function] {
			t.Errorf("__bd.%s: answers with a promise: %v; is awaited: %v", function, promises, promised[function])
		}
	}
	for function := range promised {
		if !answers[function] {
			t.Errorf("there is no __bd.%s that answers with a promise", function)
		}
	}
}
