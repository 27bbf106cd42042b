package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
)

// npmLocked is a node_modules with what the package-lock.json of a folder names, each with
// its checksum. Nothing of it is run at that. It is installed once into the user's cache.
// Where npm cannot be reached the test is skipped; in CI it fails.
func npmLocked(t *testing.T, folder string, options ...string) string {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cached(t, "locked", lock, func(dir string) {
		if _, err := exec.LookPath("npm"); err != nil {
			untested.Missing(t, "%s cannot be installed: npm is not installed", folder)
		}
		for _, name := range []string{"package.json", "package-lock.json"} {
			text, err := os.ReadFile(filepath.Join(folder, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("npm", append([]string{"ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}, options...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			untested.Missing(t, "what %s names cannot be installed from npm: %v\n%s", folder, err, out)
		}
	}), "node_modules")
}

// typescriptPackage is the TypeScript client as npm would have it: what tsc makes of it, which
// is strict. It is made once of each state of the source.
func typescriptPackage(t *testing.T) string {
	t.Helper()
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(root, "clients/typescript")
	names := []string{"package.json", "package-lock.json", "tsconfig.json"}
	modules, err := filepath.Glob(filepath.Join(source, "src/*.ts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		names = append(names, filepath.Join("src", filepath.Base(m)))
	}
	var all []byte
	files := map[string][]byte{}
	for _, name := range names {
		if files[name], err = os.ReadFile(filepath.Join(source, name)); err != nil {
			t.Fatal(err)
		}
		all = append(append(append(all, name...), 0), files[name]...)
	}
	return cached(t, "typescript", all, func(dir string) {
		err := os.Mkdir(filepath.Join(dir, "src"), 0o755)
		for name, text := range files {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), text, 0o644))
		}
		if err = errors.Join(err, os.Symlink(npmLocked(t, source), filepath.Join(dir, "node_modules"))); err != nil {
			t.Fatal(err)
		}
		tsc := exec.Command("node", "node_modules/typescript/lib/tsc.js", "-p", ".")
		tsc.Dir = dir
		if out, err := tsc.CombinedOutput(); err != nil {
			t.Fatalf("tsc: %v\n%s", err, out)
		}
	})
}

// cached is a directory of the user's cache for what is made of key. It appears only when it is whole.
func cached(t *testing.T, kind string, key []byte, build func(dir string)) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(key)
	dir := filepath.Join(cache, "browserd-test", "npm", kind+"-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), ".part-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(part)
	build(part)
	if err := os.Rename(part, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	return dir
}
