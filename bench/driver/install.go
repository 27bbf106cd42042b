package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Versions are pinned: a figure says what it was measured with.
const (
	agentBrowserPackage = "agent-browser@0.41.2"
	playwrightPackage   = "@playwright/mcp@0.0.83"
	devtoolsPackage     = "chrome-devtools-mcp@1.11.0"
)

// Install brings the peers into dir with npm, at their versions, where they are
// not there yet. None of their install scripts runs: they would download
// browsers, and all are pointed at the one that is here. Where npm is missing or
// cannot reach its registry, the error says so, and a tool that is not in dir
// fails to start with ErrMissing.
func Install(ctx context.Context, dir string) error {
	var wanted []string
	for _, spec := range []string{agentBrowserPackage, playwrightPackage, devtoolsPackage} {
		if installed(dir, spec) != nil {
			wanted = append(wanted, spec)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args := []string{"install", "--silent", "--ignore-scripts", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--prefix", dir}
	cmd := exec.CommandContext(ctx, "npm", append(args, agentBrowserPackage, playwrightPackage, devtoolsPackage)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install %s: %w: %s", strings.Join(wanted, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// installed is nil where dir has the package at its version.
func installed(dir, spec string) error {
	at := strings.LastIndexByte(spec, '@')
	name, version := spec[:at], spec[at+1:]
	b, err := os.ReadFile(filepath.Join(dir, "node_modules", name, "package.json"))
	if err != nil {
		return fmt.Errorf("%s: %w in %s", spec, ErrMissing, dir)
	}
	var p struct{ Version string }
	if err := json.Unmarshal(b, &p); err != nil || p.Version != version {
		return fmt.Errorf("%s: %w in %s, which has %s", spec, ErrMissing, dir, p.Version)
	}
	return nil
}

// script is a JavaScript file of an installed package, with node to run it.
func (o Options) script(spec, path string) ([]string, error) {
	if err := installed(o.Peers, spec); err != nil {
		return nil, err
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("node: %w", ErrMissing)
	}
	name := spec[:strings.LastIndexByte(spec, '@')]
	return []string{node, filepath.Join(o.Peers, "node_modules", name, path)}, nil
}
