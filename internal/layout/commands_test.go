// Package layout_test holds the source to the rules of its layout.
package layout_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/browserd/browserd/actions"
)

const root = "../.."

// clients are folders whose programs send commands as any agent does, so they write
// the names as an agent does. They are no part of what the daemon knows.
var clients = []string{"bench", "clients", "examples", "internal", "e2e"}

// pageCode are folders that call functions of page scripts, some of which are named as
// commands are (fill, read, find): there, an argument of a call is not a command.
var pageCode = []string{"browser", "snapshot", "fallback", "web"}

// allowed are literals that break the rule and stay: file, literal, reason.
var allowed = []struct{ file, literal, reason string }{}

// A command's name stands in the file of the command and nowhere else: whatever depends
// on the command reads its row. A name with an underscore is nothing but a command's
// name, so that any literal counts. The others are English words too; they count where
// they are used as a command: compared with one, passed to a func that runs or finds one,
// given to a field of one, or in a list that holds names of commands and nothing else.
func TestNoCommandNameOutsideItsFile(t *testing.T) {
	commands := map[string]bool{}
	for _, cmd := range actions.All {
		commands[cmd.Name] = true
	}
	used := map[int]bool{}
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata" || d.Name() == "node_modules" || slices.Contains(clients, name) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		found, err := commandLiterals(path, commands, slices.Contains(pageCode, strings.Split(name, "/")[0]))
		for _, f := range found {
			if name == "actions/"+f.name+".go" {
				continue
			}
			if i := slices.IndexFunc(allowed, func(a struct{ file, literal, reason string }) bool {
				return a.file == name && a.literal == f.name
			}); i >= 0 {
				used[i] = true
				continue
			}
			t.Errorf("%s:%d: %q is the name of a command (%s): read it from its row, or state the fact in the row", name, f.line, f.name, f.as)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("%d files were read", files)
	}
	for i, a := range allowed {
		if !used[i] {
			t.Errorf("%s has no %q any more: take it off the list", a.file, a.literal)
		}
	}
}

// Package actions has a file for each command, named for it, and all.go.
func TestEachCommandHasAFileOfItsName(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(root, "actions/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files, commands []string
	for _, path := range paths {
		if name := strings.TrimSuffix(filepath.Base(path), ".go"); name != "all" && !strings.HasSuffix(name, "_test") {
			files = append(files, name)
		}
	}
	for _, cmd := range actions.All {
		commands = append(commands, cmd.Name)
		if !slices.Contains(files, cmd.Name) {
			t.Errorf("actions/%s.go is not there: the command %s has a file of its own", cmd.Name, cmd.Name)
		}
	}
	for _, name := range files {
		if !slices.Contains(commands, name) {
			t.Errorf("actions/%s.go is the file of no command: what commands share is in actions/command", name)
		}
	}
}

// The rule finds what it is for, and leaves alone what only looks like it.
func TestTheRuleForCommandNames(t *testing.T) {
	commands := map[string]bool{"open": true, "click": true, "select": true, "type": true, "session_close": true, "eval": true}
	const source = `package p
func f(cmd *Command, name, tag string, c *Call) {
	if cmd.Name == "open" {}                          // compared
	if c.Command.Name != "click" {}                   // compared
	switch method { case "select": }                  // compared
	_ = []string{"click", "open"}                     // listed
	_ = map[string]int{"click": 1, "open": 2}         // listed
	slices.Contains(lists, command)
	cl.call(ctx, "open", nil)                         // passed
	_ = Entry{Command: "eval"}                        // given
	command = "eval"                                  // given
	_ = "session_close"                               // underscore
	_ = []string{"input", "select", "textarea"}
	_ = map[string]any{"type": "string"}
	if tag == "select" || state == "open" {}
	d.With("open", 3)
	_ = schema["type"]
}`
	found, err := literalsIn("p.go", source, commands, false)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for i, line := range strings.Split(source, "\n") {
		if _, note, ok := strings.Cut(line, "// "); ok {
			for range max(1, strings.Count(note, "listed")*2) {
				want = append(want, fmt.Sprint(i+1, " ", note))
			}
		}
	}
	for _, f := range found {
		got = append(got, fmt.Sprint(f.line, " ", f.as))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

type literal struct {
	name, as string
	line     int
}

func commandLiterals(path string, commands map[string]bool, pageCode bool) ([]literal, error) {
	return literalsIn(path, nil, commands, pageCode)
}

// ofCommand matches the source of an expression that holds a command's name, and
// runsCommand the name of a func that takes one.
var (
	ofCommand   = regexp.MustCompile(`(?i)(^|\.)(command|cmd|method|row)(\.name)?$`)
	runsCommand = regexp.MustCompile(`^((?i)lookup|prepare|call|inner|runCommand|runAlone|begin|send)$`)
)

func literalsIn(path string, source any, commands map[string]bool, pageCode bool) ([]literal, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, 0)
	if err != nil {
		return nil, err
	}
	var found []literal
	seen := map[ast.Node]bool{}
	note := func(e ast.Expr, as string) {
		if l, name := text(e); l != nil && commands[name] && !seen[l] {
			seen[l] = true
			found = append(found, literal{name, as, set.Position(l.Pos()).Line})
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if ofCommand.MatchString(chain(n.X)) {
				note(n.Y, "compared")
			}
			if ofCommand.MatchString(chain(n.Y)) {
				note(n.X, "compared")
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && ofCommand.MatchString(chain(n.Tag)) {
				for _, c := range n.Body.List {
					for _, e := range c.(*ast.CaseClause).List {
						note(e, "compared")
					}
				}
			}
		case *ast.CallExpr:
			name := chain(n.Fun)
			if i := strings.LastIndexByte(name, '.'); runsCommand.MatchString(name[i+1:]) && !pageCode {
				for _, e := range n.Args {
					note(e, "passed")
				}
			}
		case *ast.KeyValueExpr:
			if key := chain(n.Key); key == "Command" || key == "Method" {
				note(n.Value, "given")
			}
		case *ast.AssignStmt:
			for i, e := range n.Lhs {
				if ofCommand.MatchString(chain(e)) && i < len(n.Rhs) {
					note(n.Rhs[i], "given")
				}
			}
		case *ast.CompositeLit:
			var all []ast.Expr
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					e = kv.Key
				}
				if l, name := text(e); l == nil || !commands[name] {
					return true
				}
				all = append(all, e)
			}
			for _, e := range all {
				if len(all) > 1 {
					note(e, "listed")
				}
			}
		case *ast.BasicLit:
			if _, name := text(n); strings.Contains(name, "_") {
				note(n, "underscore")
			}
		}
		return true
	})
	slices.SortStableFunc(found, func(a, b literal) int { return a.line - b.line })
	return found, nil
}

// text is a string literal and its value.
func text(e ast.Expr) (*ast.BasicLit, string) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return nil, ""
	}
	s, _ := strconv.Unquote(l.Value)
	return l, s
}

// chain is an identifier, or a chain of them, as it is written.
func chain(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return chain(e.X) + "." + e.Sel.Name
	}
	return ""
}
