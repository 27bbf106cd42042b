package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	status   = regexp.MustCompile(`(?m)^Status: (.*)$`)
	accepted = regexp.MustCompile(`^accepted, \d{4}-\d{2}-\d{2}$`)
	replaced = regexp.MustCompile(`^overturned by \[[^]]+\]\(([a-z-]+\.md)(?:#([a-z0-9-]+))?\), \d{4}-\d{2}-\d{2}$`)
	subject  = regexp.MustCompile(`^[a-z][a-z-]*\.md$`)
)

// A decision is named by its subject and begins with its status. A file or a
// section that is overturned says by what, and that stands. The index lists each
// file once, and says where something in it is overturned.
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("decisions/*.md")
	if err != nil || len(files) < 2 {
		t.Fatalf("decisions: %v, %v", files, err)
	}
	index := read(t, "decisions/README.md")
	for _, file := range files {
		name := filepath.Base(file)
		if name == "README.md" {
			continue
		}
		if !subject.MatchString(name) {
			t.Errorf("%s is not named by its subject", file)
		}
		text := read(t, file)
		if parts := strings.SplitN(text, "\n", 4); len(parts) < 4 || !strings.HasPrefix(parts[0], "# ") || !status.MatchString(parts[2]) {
			t.Errorf("%s does not begin with a title and a status", file)
		}
		overturned := false
		for _, m := range status.FindAllStringSubmatch(text, -1) {
			by := replaced.FindStringSubmatch(m[1])
			switch {
			case by != nil:
				overturned = true
				if !stands(t, by[1], by[2]) {
					t.Errorf("%s: %q names nothing that stands", file, m[0])
				}
			case !accepted.MatchString(m[1]):
				t.Errorf("%s: %q is neither accepted nor overturned by something, with a date", file, m[0])
			}
		}
		var line string
		for l := range strings.Lines(index) {
			if strings.HasPrefix(l, "- ["+name+"]("+name+"): ") {
				line += l
			}
		}
		if strings.Count(line, "\n") != 1 {
			t.Errorf("decisions/README.md lists %s in %d lines, want 1", name, strings.Count(line, "\n"))
		}
		if strings.Contains(line, "overturned") != overturned {
			t.Errorf("%s: overturned is %t, and decisions/README.md says %q", file, overturned, line)
		}
	}
}

// stands tells whether the decision is there and its section accepted; anchor is
// the heading as a link has it, or empty for the whole file.
func stands(t *testing.T, name, anchor string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("decisions", name))
	if err != nil {
		return false
	}
	section := string(text)
	if anchor != "" {
		for part := range strings.SplitSeq(section, "\n## ") {
			heading, _, _ := strings.Cut(part, "\n")
			if strings.ReplaceAll(strings.ToLower(heading), " ", "-") == anchor {
				m := status.FindStringSubmatch(part)
				return m == nil || accepted.MatchString(m[1])
			}
		}
		return false
	}
	m := status.FindStringSubmatch(section)
	return m != nil && accepted.MatchString(m[1])
}

var link = regexp.MustCompile(`\]\(([^)#:]+)\)`)

// Every relative link of the documents leads to a file.
func TestLinks(t *testing.T) {
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, file := range append(append(files, more...), "llms.txt", "../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md") {
		for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s: the link %s leads nowhere", file, m[1])
			}
		}
	}
	if links == 0 {
		t.Error("no links were found: does the pattern still match?")
	}
}

var row = regexp.MustCompile(`(?m)^\| ([^|]+) \|`)

// Every module that our code imports has its line in the decision on dependencies.
func TestDependenciesAreExplained(t *testing.T) {
	var explained []string
	for _, m := range row.FindAllStringSubmatch(read(t, "decisions/dependencies.md"), -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			explained = append(explained, strings.TrimSpace(name))
		}
	}
	list := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}{{"\n"}}{{join .TestImports "\n"}}{{"\n"}}{{join .XTestImports "\n"}}`, "../...")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	imports := strings.Fields(string(out))
	slices.Sort(imports)
	foreign := 0
	for _, path := range slices.Compact(imports) {
		host, _, _ := strings.Cut(path, "/")
		if !strings.Contains(host, ".") || strings.HasPrefix(path, "github.com/browserd/") {
			continue
		}
		foreign++
		path = strings.TrimPrefix(path, "github.com/")
		if !slices.ContainsFunc(explained, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") }) {
			t.Errorf("%s is imported and not explained", path)
		}
	}
	if foreign == 0 {
		t.Error("no imports were found: does go list still answer so?")
	}
}

// A user reads benchmarks.md in a few minutes, and every row that names a tool
// stands in a run of bench/results.
func TestBenchmarksAreOfTheRuns(t *testing.T) {
	files, err := filepath.Glob("../bench/results/*.md")
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]bool{}
	for _, file := range files {
		for line := range strings.Lines(read(t, file)) {
			runs[line] = true
		}
	}
	text := read(t, "benchmarks.md")
	if n := strings.Count(text, "\n"); n > 150 {
		t.Errorf("benchmarks.md has %d lines, want at most 150", n)
	}
	_, tables, _ := strings.Cut(text, "\n## Beside the peers\n")
	rows := 0
	for line := range strings.Lines(tables) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| |") || strings.HasPrefix(line, "| ms:") || strings.HasPrefix(line, "| MB |") {
			continue
		}
		rows++
		if !runs[line] {
			t.Errorf("this row is of no run in bench/results: %s", line)
		}
	}
	if rows < 40 {
		t.Errorf("%d rows were found: does the pattern still match?", rows)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
