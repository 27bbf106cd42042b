package e2e_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

// edit replaces a text of a file of the program.
type edit struct{ file, old, new string }

// in is the text of the file with the edit, below the module's root.
func (e edit) in(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, e.file))
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(text), e.old) {
		return "", fmt.Errorf("%s does not hold %q", e.file, e.old)
	}
	return strings.ReplaceAll(string(text), e.old, e.new), nil
}

// edited builds the program with those edits, of which each is in a file of its own, and with those flags.
func edited(t *testing.T, edits []edit, flags ...string) (bin string) {
	t.Helper()
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replaced := map[string]string{}
	for i, e := range edits {
		text, err := e.in(root)
		if err != nil {
			t.Fatal(err)
		}
		changed := filepath.Join(dir, fmt.Sprint(i, ".go"))
		if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		replaced[filepath.Join(root, e.file)] = changed
	}
	overlay := filepath.Join(dir, "overlay.json")
	replace, _ := json.Marshal(map[string]any{"Replace": replaced})
	if err := os.WriteFile(overlay, replace, 0o644); err != nil {
		t.Fatal(err)
	}
	bin = filepath.Join(dir, "browserd")
	build := exec.Command("go", slices.Concat([]string{"build", "-overlay", overlay, "-o", bin}, flags, []string{"./cmd/browserd"})...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// Every edit that a test of these makes finds the text that it replaces: most are made by tests that are long and
// not played with each change.
func TestEditsFindTheirTexts(t *testing.T) {
	t.Parallel()
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "e2e", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			list, is := n.(*ast.CompositeLit)
			if !is || !isEdits(list.Type) {
				return true
			}
			for _, element := range list.Elts {
				parts := element.(*ast.CompositeLit).Elts
				e := edit{file: unquoted(t, parts[0]), old: unquoted(t, parts[1])}
				if _, err := e.in(root); err != nil {
					t.Errorf("%s: %v", filepath.Base(file), err)
				}
				found++
			}
			return false
		})
	}
	if found < 10 {
		t.Errorf("%d edits found", found)
	}
}

// isEdits says whether a literal's type is []edit.
func isEdits(e ast.Expr) bool {
	list, is := e.(*ast.ArrayType)
	if !is {
		return false
	}
	of, is := list.Elt.(*ast.Ident)
	return is && of.Name == "edit"
}

// unquoted is the text of a string literal.
func unquoted(t *testing.T, e ast.Expr) string {
	t.Helper()
	lit, is := e.(*ast.BasicLit)
	if !is {
		t.Fatalf("an edit's file and the text that it replaces are literals, not %T", e)
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
