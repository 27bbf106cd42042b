package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

// Pyright, which is strict with the Python client and its example, accepts a program that uses
// the client's types rightly, and finds each mistake of another.
func TestPythonClientIsTyped(t *testing.T) {
	t.Parallel()
	pyright := filepath.Join(npmLocked(t, "testdata/pyright", "--omit=optional"), "pyright/index.js")
	if out, err := exec.Command("node", pyright, "-p", "testdata/pyright").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Likewise tsc, which is strict with the TypeScript client when it is built.
func TestTypeScriptClientIsTyped(t *testing.T) {
	t.Parallel()
	dir := typescriptProject(t, "e2e/testdata/typed.ts")
	tsc := exec.Command("node", "node_modules/.bin/tsc", "--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--types", "node", "typed.ts")
	tsc.Dir = dir
	if out, err := tsc.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// typescriptProject is a folder with files of the repository and, as npm would install them, the
// TypeScript client and its compiler.
func typescriptProject(t *testing.T, files ...string) string {
	t.Helper()
	client := typescriptPackage(t)
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	err = errors.Join(
		os.MkdirAll(filepath.Join(dir, "node_modules/@browserd"), 0o755),
		os.Symlink(client, filepath.Join(dir, "node_modules/@browserd/client")),
		os.Symlink(filepath.Join(client, "node_modules/@types"), filepath.Join(dir, "node_modules/@types")),
		os.Symlink(filepath.Join(client, "node_modules/.bin"), filepath.Join(dir, "node_modules/.bin")),
		os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o644),
	)
	for _, name := range files {
		text, readErr := os.ReadFile(filepath.Join(root, name))
		err = errors.Join(err, readErr, os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
