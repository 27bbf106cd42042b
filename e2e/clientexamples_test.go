package e2e_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/demoapp"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
)

// loopPrints are what an example prints, in order: the page before, what
// changed, and the page after.
var loopPrints = []string{`[link`, `"Items"`, `+ `, `"Oat milk"`, "Oat milk"}

func demoServer(t testing.TB) string {
	s := httptest.NewServer(demoapp.Handler())
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// runLoop runs an example against a fresh daemon and the demo app, and without
// Chromium against an app that the server renders.
func runLoop(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	playLoop(t, sharedDaemon(t), demoServer(t), loopPrints, dir, name, args...)
	playLoop(t, withoutChromium(t), renderedServer(t), renderedPrints, dir, name, args...)
}

func playLoop(t *testing.T, d *testdaemon.Daemon, app string, prints []string, dir, name string, args ...string) {
	t.Helper()
	checkLoop(t, dir, d.Token, prints, append(append([]string{name}, args...), d.WS(), app))
}

// checkLoop runs an example's command line with a daemon's token, and holds it
// to what it has to print.
func checkLoop(t *testing.T, dir, token string, prints, line []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "BROWSERD_TOKEN="+token)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rest := string(out)
	for _, want := range prints {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not printed in its place:\n%s", want, out)
		}
		rest = after
	}
}

func TestGoLoop(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "loop")
	goBuild(t, bin, "./examples/go")
	runLoop(t, filepath.Dir(bin), bin)
}

// goBuild builds a program of this module, without cgo: it runs in any image.
func goBuild(t *testing.T, bin, pkg string) {
	t.Helper()
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, pkg)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestNodeLoop(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		untested.Missing(t, "the Node example cannot run: node is not installed")
	}
	runLoop(t, npmInstalled(t, "node"), "node", "loop.mjs")
}

// npmInstalled is a copy of an example's folder with what it depends on, as
// `npm install` would leave it.
func npmInstalled(t *testing.T, example string) string {
	t.Helper()
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	example = filepath.Join(root, "examples", example)
	b, err := os.ReadFile(filepath.Join(example, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var pkg struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal(b, &pkg); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(filepath.Join(dir, "node_modules"))
	for _, list := range []map[string]string{pkg.Dependencies, pkg.DevDependencies} {
		for name, version := range list {
			to := filepath.Join(dir, "node_modules", filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(npmPackage(t, name+"@"+version), to); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func TestPythonLoop(t *testing.T) {
	t.Parallel()
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	runLoop(t, root, "env", "PYTHONPATH=clients/python", "PYTHONDONTWRITEBYTECODE=1", python(t), "examples/python/loop.py")
}

// The TypeScript example passes the compiler's strictest look, and what the compiler makes of
// it runs, also in a Node that does not run TypeScript itself.
func TestTypeScriptLoop(t *testing.T) {
	t.Parallel()
	dir := typescriptProject(t, "examples/typescript/loop.ts", "examples/typescript/package.json")
	build := exec.Command("npm", "run", "--silent", "build")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	runLoop(t, dir, "node", "loop.js")
}

// The transcript comes out the same each time, on a fresh daemon each time.
func TestTheTranscriptIsAlwaysTheSame(t *testing.T) {
	t.Parallel()
	first, second := transcript(t), transcript(t)
	if first != second {
		t.Errorf("two transcripts differ:\n%s\n---\n%s", first, second)
	}
	for _, want := range []string{`→ open {"url":"http://demo/"}`, "→ click ", "→ type ", "→ select ", "→ check ", "→ read ", "announced: Saved", "\n  + ", `"Delete Bread?"`} {
		if !strings.Contains(first, want) {
			t.Errorf("%q is not in the transcript:\n%s", want, first)
		}
	}
}

func transcript(t *testing.T) string {
	t.Helper()
	a := newAgent(t, testdaemon.Start(t, testdaemon.Options{}))
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	call := func(ctx context.Context, method string, params any) (json.RawMessage, error) {
		var raw json.RawMessage
		err := a.c.Call(ctx, method, params, &raw)
		return raw, err
	}
	var out strings.Builder
	if err := demoapp.Transcript(ctx, call, demoServer(t), &out); err != nil {
		t.Fatalf("%v\nafter:\n%s", err, out.String())
	}
	return out.String()
}
