package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/untested"
)

// The tools of the Model Context Protocol's own makers, and the Node that they
// need, which is newer than what a system has. Their dependencies are those of
// one day, so that a run next year installs the same.
var (
	mcpTools     = []string{"@modelcontextprotocol/inspector@2.12.0", "@modelcontextprotocol/conformance@0.1.16"}
	mcpToolsDate = "2026-11-21"
	mcpToolsNode = "22.23.3"
)

// mcpTool is a command that runs one of the tools, by its script below
// node_modules, with args and a home of its own, for at most two minutes.
func mcpTool(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	modules := installedMCPTools(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	node := filepath.Join(modules, nodePackage(t), "bin", "node")
	cmd := exec.CommandContext(ctx, node, append([]string{filepath.Join(modules, script)}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "NO_COLOR=1")
	return cmd
}

// output is what a tool wrote, and its exit code.
func output(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// nodePackage is the npm package that holds Node's program for this machine.
func nodePackage(t *testing.T) string {
	t.Helper()
	word := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if runtime.GOOS != "linux" || word == "" {
		untested.Skip(t, "there is no Node of npm's for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	return "node-linux-" + word
}

// installedMCPTools is the node_modules that holds them.
func installedMCPTools(t *testing.T) string {
	t.Helper()
	return npmModules(t, mcpToolsDate, append([]string{nodePackage(t) + "@" + mcpToolsNode}, mcpTools...)...)
}

// npmModules is a node_modules with those exact versions of npm packages and with their
// dependencies of one day. They are installed once into the user's cache, and nothing of them
// is run at that. Where npm cannot be reached the test is skipped; in CI it fails.
func npmModules(t *testing.T, date string, want ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(date + strings.Join(want, " ")))
	dir := filepath.Join(cache, "browserd-test", "npm", "installed-"+hex.EncodeToString(sum[:8]))
	modules := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules
	}
	if _, err := exec.LookPath("npm"); err != nil {
		untested.Missing(t, "%v cannot be installed: npm is not installed", want)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), ".part-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(part)
	args := []string{"install", "--ignore-scripts", "--omit=optional", "--legacy-peer-deps", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", "--before=" + date, "--prefix", part}
	cmd := exec.Command("npm", append(args, want...)...)
	cmd.Dir = part
	if out, err := cmd.CombinedOutput(); err != nil {
		untested.Missing(t, "%v cannot be installed from npm: %v\n%s", want, err, out)
	}
	if err := os.Rename(part, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	return modules
}
