package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/browserd/browserd/protocol"
)

// fenced is a block of code of one language.
var fenced = regexp.MustCompile("(?s)```(go|python|ts)\n(.*?)```")

// The code in recipes.md stands so in the examples, which the tests run.
func TestRecipesAreTheExamples(t *testing.T) {
	example := map[string]string{
		"go":     read(t, "../examples/go/main.go"),
		"python": read(t, "../examples/python/loop.py"),
		"ts":     read(t, "../examples/typescript/loop.ts"),
	}
	seen := map[string]bool{}
	for _, m := range fenced.FindAllStringSubmatch(read(t, "recipes.md"), -1) {
		seen[m[1]] = true
		if !strings.Contains(example[m[1]], m[2]) {
			t.Errorf("this is not in the %s example:\n%s", m[1], m[2])
		}
	}
	if len(seen) != len(example) {
		t.Errorf("recipes.md shows code of %v", seen)
	}
}

var (
	heading = regexp.MustCompile(`(?m)^(?:## |\| )([a-z_]+)(?:$| \|)`)
	named   = regexp.MustCompile("`([a-z_]+)[^`]*`")
)

// SKILL.md names commands and errors that there are: in the tables' right
// columns commands, in the left column of the errors' table codes.
func TestSkillNamesWhatThereIs(t *testing.T) {
	known := func(file string) map[string]bool {
		names := map[string]bool{}
		for _, m := range heading.FindAllStringSubmatch(read(t, file), -1) {
			names[m[1]] = true
		}
		return names
	}
	commands, codes := known("commands.md"), known("errors.md")
	if len(commands) < 40 || len(codes) < 25 {
		t.Fatalf("%d commands and %d errors: do the patterns still match?", len(commands), len(codes))
	}
	_, choose, _ := strings.Cut(read(t, "SKILL.md"), "## Choose the command")
	choose, rest, _ := strings.Cut(choose, "## Act well")
	// Parameters are named in these rows as well.
	parameters := "|with|kind|text|offset|clear|submit|checked|annotate|"
	found := 0
	for _, m := range named.FindAllStringSubmatch(choose, -1) {
		switch {
		case commands[m[1]]:
			found++
		case !strings.Contains(parameters, "|"+m[1]+"|"):
			t.Errorf("SKILL.md names %q, which is no command", m[1])
		}
	}
	_, fails, _ := strings.Cut(rest, "## When it fails")
	for row := range strings.Lines(fails) {
		left, _, ok := strings.Cut(strings.TrimPrefix(row, "| "), " |")
		if !ok || left == "code" || strings.HasPrefix(row, "|-") {
			continue
		}
		for code := range strings.SplitSeq(left, ", ") {
			found++
			if !codes[code] {
				t.Errorf("SKILL.md names %q, which is no error", code)
			}
		}
	}
	if found < 30 {
		t.Errorf("%d commands and errors were found in SKILL.md", found)
	}
}

var testName = regexp.MustCompile("`([a-z][a-z0-9/]*)\\.((?:Test|Fuzz)[A-Za-z]+)`")

// The tests that security.md calls on are there, and each promise has one.
func TestSecurityNamesTests(t *testing.T) {
	promises, inTable := 0, false
	for line := range strings.Lines(read(t, "security.md")) {
		switch {
		case strings.HasPrefix(line, "| Promise |"):
			inTable = true
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case inTable && !strings.HasPrefix(line, "|---"):
			promises++
			if !testName.MatchString(line) {
				t.Errorf("security.md names no test of this promise: %s", line)
			}
		}
	}
	if promises < 20 {
		t.Errorf("%d promises were found: does the pattern still match?", promises)
	}
	found := testName.FindAllStringSubmatch(read(t, "security.md"), -1)
	if len(found) < 20 {
		t.Errorf("%d tests are named", len(found))
	}
	for _, m := range found {
		files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(m[1]), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		there := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			there = there || err == nil && strings.Contains(string(text), "\nfunc "+m[2]+"(")
		}
		if !there {
			t.Errorf("security.md: there is no test %s in %s", m[2], m[1])
		}
	}
}

var (
	cited   = regexp.MustCompile(`PROTOCOL\.md\s+(?://\s+)?sections? (\d)(?: (?:to|and) (\d))?`)
	section = regexp.MustCompile(`(?m)^## (\d)\. `)
	events  = regexp.MustCompile(`(?m)^\| ([a-z_, ]+) \| .* \| .*\|$`)
)

// The sections of PROTOCOL.md that the code cites are there, and so is every event.
func TestProtocolIsWhole(t *testing.T) {
	text := read(t, "PROTOCOL.md")
	there := map[string]bool{}
	for _, m := range section.FindAllStringSubmatch(text, -1) {
		there[m[1]] = true
	}
	found := 0
	for _, pattern := range []string{"../*/*.go", "../*/*/*.go", "../browser/js/*.js"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, m := range cited.FindAllStringSubmatch(read(t, file), -1) {
				for _, n := range m[1:] {
					found++
					if n != "" && !there[n] {
						t.Errorf("%s cites section %s of PROTOCOL.md, which has none", file, n)
					}
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("%d citations were found: does the pattern still match?", found)
	}
	_, table, _ := strings.Cut(text, "| event | with | when |")
	var listed []string
	for _, m := range events.FindAllStringSubmatch(table, -1) {
		listed = append(listed, strings.Split(m[1], ", ")...)
	}
	slices.Sort(listed)
	if want := slices.Sorted(slices.Values(protocol.EventTypes)); !slices.Equal(listed, want) {
		t.Errorf("PROTOCOL.md lists the events %v, want %v", listed, want)
	}
}
