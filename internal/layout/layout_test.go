package layout_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The limits. What exceeds one has more than one subject, and is read by nobody as a whole:
// divide it.
const (
	maxPackageLines     = 8000 // without tests
	maxFileLines        = 600
	maxStructFields     = 20
	maxTypeMethods      = 40
	maxInterfaceMethods = 12
)

// file is one Go file of the product: tests, and packages that only tests use,
// are left out.
type file struct {
	path  string // slash-separated, from the module's folder
	pkg   string // its folder
	lines int
	set   *token.FileSet
	ast   *ast.File
}

// notProduct are folders that hold modules of their own, examples, and what only
// tests import.
var notProduct = regexp.MustCompile(`^(bench|tools|examples|e2e|clients|internal/(corpus|layout|demoapp|fake\w+|netns|ssrfcases|snapshottext|test\w+|untested))(/|$)`)

// product parses the product's files.
func product(t *testing.T) []file {
	t.Helper()
	var files []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		name := d.Name()
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || notProduct.MatchString(rel)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, file{rel, filepath.ToSlash(filepath.Dir(rel)), strings.Count(string(text), "\n"), set, parsed})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 200 {
		t.Fatalf("only %d files were found", len(files))
	}
	return files
}

// scripts are the JavaScript modules of the product, by path, without what is generated.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"browser/script/js/*.js", "actions/script/child/prelude/*.js"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d modules, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(root, path)
			files[filepath.ToSlash(rel)] = string(text)
		}
	}
	return files
}

func TestPackageAndFileSizes(t *testing.T) {
	packages := map[string]int{}
	for _, f := range product(t) {
		packages[f.pkg] += f.lines
		if f.lines > maxFileLines {
			t.Errorf("%s has %d lines, more than %d", f.path, f.lines, maxFileLines)
		}
	}
	for path, text := range scripts(t) {
		if n := strings.Count(text, "\n"); n > maxFileLines {
			t.Errorf("%s has %d lines, more than %d", path, n, maxFileLines)
		}
	}
	for pkg, lines := range packages {
		if lines > maxPackageLines {
			t.Errorf("package %s has %d lines without its tests, more than %d", pkg, lines, maxPackageLines)
		}
	}
}

func TestTypeSizes(t *testing.T) {
	methods := map[string]int{}
	names := map[ast.Expr]string{} // of types that have one
	name := func(e ast.Expr) string { return cmp.Or(names[e], "without a name") }
	for _, f := range product(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[f.pkg+"."+receiver(fn)]++
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch of := n.(type) {
			case *ast.TypeSpec:
				if _, ok := of.Type.(*ast.Ident); !ok {
					names[of.Type] = of.Name.Name
				}
			case *ast.StructType:
				if n := of.Fields.NumFields(); n > maxStructFields {
					t.Errorf("%s: struct %s has %d fields, more than %d: group those that belong together into a type of their own", f.set.Position(of.Pos()), name(of), n, maxStructFields)
				}
			case *ast.InterfaceType:
				if n := of.Methods.NumFields(); n > maxInterfaceMethods {
					t.Errorf("%s: interface %s has %d methods, more than %d: ask for what the caller calls, or divide it", f.set.Position(of.Pos()), name(of), n, maxInterfaceMethods)
				}
			}
			return true
		})
	}
	for name, n := range methods {
		if n > maxTypeMethods {
			t.Errorf("%s has %d methods, more than %d: make one a function, or move a subject into a type of its own", name, n, maxTypeMethods)
		}
	}
}

// receiver is the name of the type that a method belongs to.
func receiver(fn *ast.FuncDecl) string {
	of := fn.Recv.List[0].Type
	for {
		switch e := of.(type) {
		case *ast.StarExpr:
			of = e.X
		case *ast.IndexExpr:
			of = e.X
		case *ast.IndexListExpr:
			of = e.X
		case *ast.Ident:
			return e.Name
		default:
			return "?"
		}
	}
}

// contextValues are the files that may put a value into a context: what is in it changes
// nothing that a call does, or its library has no other carrier.
var contextValues = map[string]string{
	"policy/egress.go":    "http.Server.ConnContext is the only way from a connection to its handler",
	"server/listener.go":  "http.Server.ConnContext is the only way from a connection to its handler",
	"protocol/request.go": "the id of a request, for the log",
}

// What changes a call's behaviour is a parameter: a context carries a deadline
// and its end, no more.
func TestNoBehaviourInContextValues(t *testing.T) {
	used := map[string]bool{}
	for _, f := range product(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || chain(call.Fun) != "context.WithValue" {
				return true
			}
			if used[f.path] = true; contextValues[f.path] == "" {
				t.Errorf("%s: context.WithValue: pass a parameter", f.set.Position(call.Pos()))
			}
			return true
		})
	}
	for path := range contextValues {
		if !used[path] {
			t.Errorf("%s has no context.WithValue any more: take it off the list", path)
		}
	}
}

// glossary are the words of docs/glossary.md that may not name things, each with the
// words to use in its place.
func glossary(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| not | but |\n|---|---|\n")
	banned := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			break
		}
		for word := range strings.SplitSeq(cells[1], ",") {
			if word = strings.TrimSpace(word); !strings.Contains(word, " ") { // phrases are for prose
				banned[word] = strings.TrimSpace(cells[2])
			}
		}
	}
	if !found || len(banned) < 30 {
		t.Fatalf("docs/glossary.md: %d words in its table of words to avoid", len(banned))
	}
	return banned
}

// allowedNames are names with one of those words in another sense, each with its reason.
var allowedNames = map[string]string{
	"UNREAD": "the tags in whose text nobody can find anything to read",
}

// The words that docs/glossary.md avoids do not name files, types, functions, methods,
// fields, constants or variables that other packages see, nor page scripts and their exports.
func TestGlossary(t *testing.T) {
	banned := glossary(t)
	report := func(where, name string) {
		if _, ok := allowedNames[name]; ok {
			return
		}
		for _, word := range words(name) {
			if better, ok := banned[word]; ok {
				t.Errorf("%s: the name %s: instead of %q say %s; docs/glossary.md says why", where, name, word, better)
			}
		}
	}
	for _, f := range product(t) {
		report(f.path, strings.TrimSuffix(filepath.Base(f.path), ".go"))
		for name, obj := range exported(f.ast) {
			report(f.set.Position(obj).String(), name)
		}
	}
	for path, text := range scripts(t) {
		report(path, strings.TrimSuffix(filepath.Base(path), ".js"))
		for _, m := range scriptExport.FindAllStringSubmatch(text, -1) {
			report(path, m[1])
		}
	}
}

// scriptExport is the declaration of a name that other page scripts see.
var scriptExport = regexp.MustCompile(`(?m)^export (?:async )?(?:const|let|function\*?|class) (\w+)`)

// exported are the names that other packages see: declarations, methods, fields.
func exported(f *ast.File) map[string]token.Pos {
	names := map[string]token.Pos{}
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names[id.Name] = id.Pos()
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					add(s.Names...)
				case *ast.TypeSpec:
					add(s.Name)
					switch of := s.Type.(type) {
					case *ast.StructType:
						for _, field := range of.Fields.List {
							add(field.Names...)
						}
					case *ast.InterfaceType:
						for _, m := range of.Methods.List {
							add(m.Names...)
						}
					}
				}
			}
		}
	}
	return names
}

var wordBreak = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)

// words are the words of a name, in lower case: keepAlive and keep_alive have two.
func words(name string) []string {
	var list []string
	for _, w := range wordBreak.FindAllString(name, -1) {
		list = append(list, strings.ToLower(w))
	}
	return list
}
