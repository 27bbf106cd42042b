package docs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A stranger reads README.md and CONTRIBUTING.md in minutes.
func TestFirstPagesAreShort(t *testing.T) {
	for file, most := range map[string]int{"../README.md": 120, "../CONTRIBUTING.md": 80, "../CHANGELOG.md": 60} {
		if n := strings.Count(read(t, file), "\n"); n > most {
			t.Errorf("%s has %d lines, want at most %d", file, n, most)
		}
	}
}

var figure = regexp.MustCompile(`\d[\d,.]*\d`)

// Each figure of the README's comparison stands in benchmarks.md, whose rows are those
// of a run.
func TestReadmeFiguresAreMeasured(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "../README.md"), "\n## What is different here\n")
	table, _, _ = strings.Cut(table, "\n## ")
	measured := map[string]bool{"1500": true}
	for _, f := range figure.FindAllString(read(t, "benchmarks.md"), -1) {
		measured[f] = true
	}
	found := 0
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		for _, f := range figure.FindAllString(line, -1) {
			found++
			if !measured[strings.ReplaceAll(f, ",", "")] {
				t.Errorf("README.md: %s is not in benchmarks.md: %s", f, line)
			}
		}
	}
	if found < 25 {
		t.Errorf("%d figures were found: does the pattern still match?", found)
	}
}

// Each name in the Makefile's lists of tests is that of a test: one that was renamed would be
// run by nothing, and each test runs with the race detector.
func TestTheMakefileNamesTests(t *testing.T) {
	in := declaredTests(t)
	tests := slices.Collect(maps.Keys(in))
	lists := regexp.MustCompile(`(?m)^(LONG|SLOW|BUILDS|HOSTILE|SEQUENTIAL|FLEET) = (.*)$`).FindAllStringSubmatch(read(t, "../Makefile"), -1)
	if len(lists) != 6 {
		t.Fatalf("%d lists were found, want 6", len(lists))
	}
	long := regexp.MustCompile(`\./(\S+)`).FindAllString(regexp.MustCompile(`(?m)^test-long:\n.*$`).FindString(read(t, "../Makefile")), -1)
	for i := range long {
		long[i] = strings.TrimPrefix(long[i], "./")
	}
	pattern := map[string]*regexp.Regexp{}
	for _, list := range lists {
		pattern[list[1]] = regexp.MustCompile(strings.ReplaceAll(list[2], "$$", "$"))
	}
	for _, list := range lists {
		if list[1] == "SEQUENTIAL" { // packages
			continue
		}
		for name := range strings.SplitSeq(strings.ReplaceAll(list[2], "$$", "$"), "|") {
			slow := list[1] == "LONG" || list[1] == "SLOW"
			// test-long plays these in the headless shell without the race detector, and with it in full Chromium those of two packages.
			twice := pattern["BUILDS"].MatchString(name) || pattern["HOSTILE"].MatchString(name)
			for _, pkg := range in[name] {
				switch {
				case !slow || pattern["SEQUENTIAL"].MatchString(pkg):
				case twice && pkg != "e2e" && pkg != "browser":
					t.Errorf("Makefile: %s in %s would never run with the race detector", name, pkg)
				case !slices.ContainsFunc(long, func(dir string) bool {
					in, all := strings.CutSuffix(dir, "/...")
					return pkg == in || all && strings.HasPrefix(pkg, in+"/")
				}):
					t.Errorf("Makefile: %s in %s would never run: test-long plays those of %v", name, pkg, long)
				}
			}
			pattern := name
			if slow || list[1] == "FLEET" { // there they are whole names
				pattern = "^" + name + "$"
			}
			if !slices.ContainsFunc(tests, regexp.MustCompile(pattern).MatchString) {
				t.Errorf("Makefile, %s: no test has the name %s", list[1], name)
			}
			if list[1] == "FLEET" && !slices.Contains(in[name], "e2e") {
				t.Errorf("Makefile, FLEET: %s is not in e2e", name)
			}
		}
	}
}

// coded is a path in backquotes: of a package, or of a file.
var coded = regexp.MustCompile("`([a-zA-Z][a-zA-Z0-9_./]*)`")

// CONTRIBUTING.md names each package with Go code, and each file that it names is there.
func TestContributingNamesEveryPackage(t *testing.T) {
	text := read(t, "../CONTRIBUTING.md")
	var named []string
	for _, m := range coded.FindAllStringSubmatch(text, -1) {
		named = append(named, m[1])
		if !strings.Contains(m[1], "/") || strings.Contains(m[1], "NAME") {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
			t.Errorf("CONTRIBUTING.md names %s: %v", m[1], err)
		}
	}
	packages := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel("..", path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return fs.SkipDir
		case strings.HasSuffix(name, ".go"):
			packages[filepath.ToSlash(filepath.Dir(name))] = true
		}
		return nil
	})
	if err != nil || len(packages) < 40 {
		t.Fatalf("%d packages: %v", len(packages), err)
	}
	for name := range packages {
		if !slices.Contains(named, name) {
			t.Errorf("CONTRIBUTING.md does not say what %s is", name)
		}
	}
}

// source is a path of a Go file in backquotes.
var source = regexp.MustCompile("`([a-z0-9_]+(?:/[a-z0-9_]+)*/[a-z0-9_]+\\.go)`")

// The source files that the documents name are there.
func TestNamedSourcesAreThere(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.md", "decisions/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	for _, file := range files {
		for _, m := range source.FindAllStringSubmatch(read(t, file), -1) {
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s names %s, which is not there", file, m[1])
			}
		}
	}
}

// declaredIn are the names in backquotes that a document says stand in a source file:
// "`name` in path", or "`name` there" for the file named last; "`path`, `name` and `name`".
var declaredIn = regexp.MustCompile("((?:`\\w+`(?:, | and )?)+) (?:in `?([a-z0-9_/-]+\\.(?:go|js))`?|(there) \\|)|`([a-z0-9_/-]+\\.go)`, ((?:`\\w+`(?:, | and )?)+)")

// The functions and constants that CONTRIBUTING.md and settling.md find in a source file are
// declared in it.
func TestNamedDeclarationsAreThere(t *testing.T) {
	found := 0
	for _, doc := range []string{"../CONTRIBUTING.md", "decisions/settling.md"} {
		var path string
		for _, m := range declaredIn.FindAllStringSubmatch(read(t, doc), -1) {
			if m[3] == "" {
				path = m[2] + m[4]
			}
			source := read(t, filepath.Join("..", path))
			for _, name := range coded.FindAllStringSubmatch(m[1]+m[5], -1) {
				found++
				declared := regexp.MustCompile(`(?m)^(?:\t|(?:export )?const |(?:export )?func(?:tion)? (?:\([^)]*\) )?)` + name[1] + `\b`)
				if !declared.MatchString(source) {
					t.Errorf("%s names %s in %s, which does not declare it", doc, name[1], path)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("%d names were found: does the pattern still match?", found)
	}
}

// packaged is a name of a package in backquotes, such as policy.Gate.
var packaged = regexp.MustCompile("`((?:[a-z][a-z0-9]*/)*[a-z][a-z0-9]*)\\.([A-Z]\\w*)(?:\\.([A-Z]\\w*))?`")

// What the documents call `package.Name` and `package.Type.Method` is declared in that package, or
// the package is none of this repository.
func TestNamedPackagesDeclareTheNames(t *testing.T) {
	sources := map[string]string{} // of a package, by its last element
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.Contains(path, "testdata") {
			sources[filepath.Base(filepath.Dir(path))] += read(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range documents(t) {
		for _, m := range packaged.FindAllStringSubmatch(read(t, file), -1) {
			source, ours := sources[m[1][strings.LastIndexByte(m[1], '/')+1:]]
			if !ours || strings.HasPrefix(m[2], "Test") || strings.HasPrefix(m[2], "Fuzz") {
				continue
			}
			found++
			declared := `(?m)^(?:\t|type |var |const |func (?:\([^)]*\) )?)` + m[2] + `\b`
			if m[3] != "" {
				declared = `(?m)^func \(\w* ?\*?` + m[2] + `\) ` + m[3] + `\b`
			}
			if !regexp.MustCompile(declared).MatchString(source) {
				t.Errorf("%s names %s, which is not declared", file, m[0])
			}
		}
	}
	if found < 8 {
		t.Errorf("%d names were found: does the pattern still match?", found)
	}
}

// The README and the pages around it have pictures, which are there.
func TestPicturesAreThere(t *testing.T) {
	for _, picture := range []string{"session.svg", "peers.svg"} {
		if !strings.Contains(read(t, "../README.md"), "](docs/"+picture+")") {
			t.Errorf("README.md does not show %s", picture)
		}
	}
}
