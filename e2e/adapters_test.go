package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

// adapterPrints are what each adapter's example prints, in order: what the model reads of
// each page, and its answer.
var adapterPrints = []string{"Put oat milk on the list.", "[snapshot]", `"Items"`, `"New item"`, `value="Oat milk"`, `"Oat milk"`, "Done: Oat milk is on the list."}

// The commands are tools of each agent framework: its own loop, with a function in the
// model's place, does a task with them.
func TestAdapters(t *testing.T) {
	t.Parallel()
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(root, "examples/adapters")
	installed := npmLocked(t, folder, "--omit=optional")
	node := filepath.Join(installedMCPTools(t), nodePackage(t), "bin", "node") // ai needs 22
	dir := t.TempDir()
	modules := filepath.Join(dir, "node_modules")
	err = errors.Join(os.CopyFS(dir, os.DirFS(folder)), os.RemoveAll(modules), os.MkdirAll(filepath.Join(modules, "@browserd"), 0o755),
		os.Symlink(typescriptPackage(t), filepath.Join(modules, "@browserd/client")))
	links, globErr := filepath.Glob(filepath.Join(installed, "*"))
	for _, l := range links {
		err = errors.Join(err, os.Symlink(l, filepath.Join(modules, filepath.Base(l))))
	}
	if err = errors.Join(err, globErr); err != nil {
		t.Fatal(err)
	}
	t.Run("genkit", func(t *testing.T) {
		t.Parallel()
		bin := filepath.Join(t.TempDir(), "genkit")
		build := exec.Command("go", "build", "-o", bin, ".")
		build.Dir = filepath.Join(root, "examples/genkit")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		d := sharedDaemon(t)
		checkLoop(t, dir, d.Token, adapterPrints, []string{bin, d.URL(), demoServer(t)})
	})
	for _, name := range []string{"ai", "langchain", "openai", "claude"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playLoop(t, sharedDaemon(t), demoServer(t), adapterPrints, dir, node, name+".mjs")
		})
	}
}
