package vuln

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, file string, content any) {
	t.Helper()
	text, isText := content.(string)
	if !isText {
		b, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

type object = map[string]any

// database writes a database in the format of https://go.dev/doc/security/vuln/database
// with one entry, of every version of the standard library, and returns its address.
func database(t *testing.T, pkg, symbol string) string {
	t.Helper()
	const id, modified = "GO-2000-0001", "2000-01-01T00:00:00Z"
	dir := t.TempDir()
	write(t, filepath.Join(dir, "index", "db.json"), object{"modified": modified})
	write(t, filepath.Join(dir, "index", "modules.json"), []object{{"path": "stdlib", "vulns": []object{{"id": id, "modified": modified}}}})
	write(t, filepath.Join(dir, "index", "vulns.json"), []object{{"id": id, "modified": modified}})
	write(t, filepath.Join(dir, "ID", id+".json"), object{
		"schema_version": "1.3.1", "id": id, "modified": modified, "published": modified, "summary": "made up for a test", "database_specific": object{"url": "https://example.com/" + id},
		"affected": []object{{
			"package":            object{"name": "stdlib", "ecosystem": "Go"},
			"ranges":             []object{{"type": "SEMVER", "events": []object{{"introduced": "0"}}}},
			"ecosystem_specific": object{"imports": []object{{"path": pkg, "symbols": []string{symbol}}}},
		}},
	})
	return "file://" + filepath.ToSlash(dir)
}

// govulncheck of tools/go.mod, as make vuln runs it, needs no network for a database
// that lies on disk; it fails where a vulnerable function is called, and only there.
func TestVulnerableCallIsFound(t *testing.T) {
	checker := filepath.Join(t.TempDir(), "govulncheck")
	if out, err := exec.Command("go", "build", "-o", checker, "golang.org/x/vuln/cmd/govulncheck").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := t.TempDir()
	write(t, filepath.Join(program, "go.mod"), "module example.com/program\n\ngo 1.26.0\n")
	write(t, filepath.Join(program, "main.go"), "package main\n\nimport \"html\"\n\nfunc main() { println(html.EscapeString(\"<\")) }\n")
	for _, c := range []struct {
		symbol string
		found  bool
	}{{"EscapeString", true}, {"UnescapeString", false}} {
		cmd := exec.Command(checker, "-db", database(t, "html", c.symbol), "./...")
		cmd.Dir = program
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		found := err != nil && cmd.ProcessState.ExitCode() == 3 && strings.Contains(string(out), "html."+c.symbol)
		if found != c.found || !found && err != nil {
			t.Errorf("%s: found is %v, want %v: %v\n%s", c.symbol, found, c.found, err, out)
		}
	}
}
