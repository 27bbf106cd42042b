package driver

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Versions are pinned: a figure says what it was measured with.
const (
	agentBrowserPackage = "agent-browser@0.41.2"
	playwrightPackage   = "@playwright/mcp@0.0.83"
	devtoolsPackage     = "chrome-devtools-mcp@1.11.0"
	pinchtabPackage     = "pinchtab@" + pinchtabVersion
	todoPackage         = "todomvc@0.1.1" // a page, not a tool
)

// pinchtabModule is pinchtab's program for `go install`.
const (
	pinchtabModule  = "github.com/pinchtab/pinchtab/cmd/pinchtab"
	pinchtabVersion = "0.15.0"
)

// Install brings the tools that are no part of this module, and TodoMVC, into dir, at their
// versions, where they are not there yet: with npm, and pinchtab with go. Where one of the
// two is missing or does not get what it is asked for, the error says so, and a tool that is
// not in dir fails to start with ErrMissing.
func Install(ctx context.Context, dir string, tools []Tool) error {
	wanted := []string{todoPackage}
	var err error
	for _, t := range tools {
		switch {
		case t.Package == pinchtabPackage:
			err = installPinchtab(ctx, dir)
		case t.Package != "" && !slices.Contains(wanted, t.Package):
			wanted = append(wanted, t.Package)
		}
	}
	return errors.Join(installNPM(ctx, dir, wanted), err)
}

// installNPM runs none of the packages' install scripts: they would download
// browsers, and all are pointed at the one that is here.
func installNPM(ctx context.Context, dir string, packages []string) error {
	missing := func(spec string) bool { return installed(dir, spec) != nil }
	if !slices.ContainsFunc(packages, missing) {
		return nil
	}
	// npm removes what it is not told to keep, so it is told of all that is there.
	for _, spec := range []string{agentBrowserPackage, playwrightPackage, devtoolsPackage, todoPackage} {
		if !missing(spec) && !slices.Contains(packages, spec) {
			packages = append(packages, spec)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args := []string{"install", "--silent", "--ignore-scripts", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--prefix", dir}
	cmd := exec.CommandContext(ctx, "npm", append(args, packages...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install %s: %w: %s", strings.Join(packages, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

func installPinchtab(ctx context.Context, dir string) error {
	if _, err := pinchtabProgram(Options{Peers: dir}); err == nil {
		return nil
	}
	spec := pinchtabModule + "@v" + pinchtabVersion
	cmd := exec.CommandContext(ctx, "go", "install", spec)
	cmd.Env = append(os.Environ(), "GOBIN="+filepath.Join(dir, "bin"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go install %s: %w: %s", spec, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// pinchtabProgram is the program of the pinned version in the peers' directory,
// where it may have been put by hand, or else on PATH.
func pinchtabProgram(o Options) (string, error) {
	bin := filepath.Join(o.Peers, "bin", "pinchtab")
	if _, err := os.Stat(bin); err != nil {
		if bin, err = exec.LookPath("pinchtab"); err != nil {
			return "", fmt.Errorf("%s: %w in %s, and not on PATH", pinchtabPackage, ErrMissing, filepath.Join(o.Peers, "bin"))
		}
	}
	if has := versionOfPinchtab(bin); has != pinchtabVersion {
		return "", fmt.Errorf("%s: %w: %s is %s", pinchtabPackage, ErrMissing, bin, has)
	}
	return bin, nil
}

// versionOfPinchtab is what `go install` wrote into the program, or, as with its
// releases, what it says of itself.
func versionOfPinchtab(bin string) string {
	if info, err := buildinfo.ReadFile(bin); err == nil && info.Main.Version == "v"+pinchtabVersion {
		return pinchtabVersion
	}
	out, err := exec.Command(bin, "--version").Output()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), "pinchtab "))
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

// TodoMVC is the directory of the apps of TodoMVC that Install brought; it is empty
// where it did not.
func TodoMVC(dir string) string {
	if installed(dir, todoPackage) != nil {
		return ""
	}
	return filepath.Join(dir, "node_modules", "todomvc", "examples")
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
