package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// published is a directory of the repository that becomes a package.
type published struct {
	dir   string
	files []string // patterns; the first names its manifest. What else lies there, such as node_modules, is left
	facts string   // where release.json goes; empty: the package installs no program
}

var packages = []published{
	{"packaging/npm", []string{"package.json", "*.js"}, "release.json"},
	{"packaging/pip", []string{"pyproject.toml", "browserd_cli/*.py"}, "browserd_cli/release.json"},
	{"clients/typescript", []string{"package.json", "package-lock.json", "tsconfig.json", "src/*.ts"}, ""},
	{"clients/python", []string{"pyproject.toml", "browserd/*.py", "browserd/py.typed"}, ""},
}

// pack writes the package's file into out, made of a copy that has the release's version and
// the licence.
func (r *release) pack(p published, root, out, python string) error {
	dir, err := os.MkdirTemp("", "browserd-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyFile(filepath.Join(root, "LICENSE"), filepath.Join(dir, "LICENSE")); err != nil {
		return err
	}
	for _, pattern := range p.files {
		found, err := filepath.Glob(filepath.Join(root, p.dir, pattern))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("there is no %s: %v", pattern, err)
		}
		for _, file := range found {
			if err := copyFile(file, filepath.Join(dir, filepath.Dir(pattern), filepath.Base(file))); err != nil {
				return err
			}
		}
	}
	if err := r.version(filepath.Join(dir, p.files[0])); err != nil {
		return err
	}
	if p.facts != "" {
		facts, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, p.facts), append(facts, '\n'), 0o644); err != nil {
			return err
		}
	}
	var steps [][]string
	if p.files[0] == "pyproject.toml" {
		steps = [][]string{{python, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-build-isolation", "--no-deps", "--wheel-dir", out, "."}}
	} else {
		if slices.Contains(p.files, "package-lock.json") {
			steps = [][]string{{"npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"}}
		}
		// It calls the script prepare, which compiles the client.
		steps = append(steps, []string{"npm", "pack", "--silent", "--pack-destination", out})
	}
	for _, step := range steps {
		cmd := exec.Command(step[0], step[1:]...)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(step, " "), err, said)
		}
	}
	return nil
}

// version writes the release's version into a manifest, in the place of the repository's.
func (r *release) version(manifest string) error {
	text, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	if n := bytes.Count(text, []byte(`"`+placeholder+`"`)); n != 1 {
		return fmt.Errorf("%s has the version %s %d times, want once", filepath.Base(manifest), placeholder, n)
	}
	text = bytes.Replace(text, []byte(`"`+placeholder+`"`), []byte(`"`+r.Version+`"`), 1)
	return os.WriteFile(manifest, text, 0o644)
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
