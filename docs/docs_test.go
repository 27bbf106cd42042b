// Package docs holds no code: its test keeps the documents whole.
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

// The index lists every decision once, and each says its status and bears a date.
func TestDecisionsAreListed(t *testing.T) {
	index := read(t, "decisions/README.md")
	files, err := filepath.Glob("decisions/*.md")
	if err != nil || len(files) < 2 {
		t.Fatalf("decisions: %v, %v", files, err)
	}
	dated := regexp.MustCompile(`^\d{4}-\d{2}-\d{2}-[a-z0-9-]+\.md$`)
	for _, file := range files {
		name := filepath.Base(file)
		if name == "README.md" {
			continue
		}
		if !dated.MatchString(name) {
			t.Errorf("%s is not named for its date and subject", file)
		}
		if n := strings.Count(index, "("+name+")"); n != 1 {
			t.Errorf("decisions/README.md lists %s %d times", name, n)
		}
		if !strings.Contains(read(t, file), "\nStatus: ") {
			t.Errorf("%s has no status", file)
		}
	}
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
	for _, file := range append(append(files, more...), "llms.txt", "../README.md") {
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
	for _, m := range row.FindAllStringSubmatch(read(t, "decisions/2026-11-21-dependencies.md"), -1) {
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

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
