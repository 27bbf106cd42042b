package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
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

// testName is a test in a document, with its subtest if one is named.
var testName = regexp.MustCompile(`\b([a-z][a-z0-9/]*)\.((?:Test|Fuzz)\w+)(?:/(\w+))?`)

// documents are the files of the documentation.
func documents(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "decisions/*.md", "../*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(more), err)
		}
		files = append(files, more...)
	}
	return files
}

// Each promise of security.md has a test.
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
}

// declaredTests returns the directories of each test and fuzz test, by its name.
func declaredTests(t *testing.T) map[string][]string {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	in := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, m := range function.FindAllStringSubmatch(read(t, path), -1) {
			in[m[1]] = append(in[m[1]], strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// The tests that the documents name are there, in the package that is named with them, if one is. A
// name that ends in … stands for all that begin so, and a subtest of TestScripts is a file.
func TestNamedTestsAreThere(t *testing.T) {
	in, found := declaredTests(t), map[string]int{}
	for _, document := range documents(t) {
		text := read(t, document)
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			there := slices.Contains(in[m[2]], m[1])
			if m[3] != "" {
				_, err := os.Stat(filepath.Join("..", m[1], "testdata", "script", m[3]+".txtar"))
				there = there && m[2] == "TestScripts" && err == nil
			}
			if !there {
				t.Errorf("%s: there is no test %s", document, m[0])
			}
		}
		for _, m := range regexp.MustCompile(`\b((?:Test|Fuzz)[A-Z]\w*)(…?)`).FindAllStringSubmatch(text, -1) {
			found[document]++
			there := len(in[m[1]]) > 0
			for name := range in {
				there = there || m[2] != "" && strings.HasPrefix(name, m[1])
			}
			if !there {
				t.Errorf("%s: there is no test %s", document, m[0])
			}
		}
	}
	if found["security.md"] < 200 || found["fleet.md"] < 40 || found["faults.md"] < 20 {
		t.Errorf("the documents name %v tests: does the pattern still match?", found)
	}
}

var (
	cited   = regexp.MustCompile(`PROTOCOL\.md\s+(?:(?://|#|\*)\s+)?sections? (\d)(?: (?:to|and) (\d))?`)
	section = regexp.MustCompile(`(?m)^## (\d)\. `)
	events  = regexp.MustCompile(`(?m)^\| ([a-z_, ]+) \| .* \| .*\|$`)
)

// The sections of PROTOCOL.md that the code cites are there, and so is every event, and each command that
// overtakes a wait.
func TestProtocolIsWhole(t *testing.T) {
	text := read(t, "PROTOCOL.md")
	there := map[string]bool{}
	for _, m := range section.FindAllStringSubmatch(text, -1) {
		there[m[1]] = true
	}
	found := 0
	for _, pattern := range []string{"../*/*.go", "../*/*/*.go", "../*/*/*/*.go", "../browser/script/js/*.js", "../clients/typescript/src/*.ts", "../clients/python/browserd/*.py"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
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
	_, marked, _ := strings.Cut(text, "are marked *reads* (")
	marked, _, _ = strings.Cut(marked, ")")
	var reads, want []string
	for _, m := range named.FindAllStringSubmatch(strings.Replace(marked, " without `expression`", "", 1), -1) {
		reads = append(reads, m[1])
	}
	for part := range strings.SplitSeq(read(t, "commands.md"), "\n## ") {
		if name, about, _ := strings.Cut(part, "\n"); !strings.HasPrefix(part, "# ") && strings.Contains(about, " *reads*") {
			want = append(want, name)
		}
	}
	slices.Sort(reads)
	if slices.Sort(want); !slices.Equal(reads, want) || len(want) == 0 {
		t.Errorf("PROTOCOL.md says that %v are marked *reads*, commands.md marks %v", reads, want)
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

// PROTOCOL.md and CHANGELOG.md name each command that opens a session, and the former those that need one and do not.
func TestWhatOpensASessionIsNamed(t *testing.T) {
	begin := actions.All.With(command.BeginsSession)
	for _, c := range []struct {
		file, pattern string
		want          []string
	}{
		{"PROTOCOL.md", "(?s)finds none opens it \\(([^)]*) do not: `session_not_found`\\)", actions.All.With(command.NeedsSession)},
		{"PROTOCOL.md", "(?s)without\\s+`session`, (.*?)\\sopen\\s+one", append(slices.Clone(begin), actions.SessionOpen.Name)},
		{"PROTOCOL.md", "(?s)chooses it\\. (.*?)\\sopen\\sthe\\ssession\\sthat they name", begin},
		{"../CHANGELOG.md", "`session_not_found`; (.*?) open one", append(slices.Clone(begin), actions.SessionOpen.Name)},
	} {
		m := regexp.MustCompile(c.pattern).FindStringSubmatch(read(t, c.file))
		if m == nil {
			t.Errorf("%s has no sentence like %s", c.file, c.pattern)
			continue
		}
		var got []string
		for _, name := range named.FindAllStringSubmatch(m[1], -1) {
			got = append(got, name[1])
		}
		slices.Sort(got)
		if want := slices.Sorted(slices.Values(c.want)); !slices.Equal(got, want) {
			t.Errorf("%s names %v, want %v", c.file, got, want)
		}
	}
}
