// Command release writes what is published of a release beside its archives: what installs
// the program (the npm and pip packages of packaging, the Homebrew formula), with the
// checksums of the archives, and the clients for npm and pip.
//
//	go run ./release -tag v1.2.3 -sums ../dist/SHA256SUMS -out ../dist/installers
//
// npm publish takes each .tgz, twine upload each .whl. It needs npm, and a Python with pip,
// setuptools and wheel: pip is asked for nothing that is not installed.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"text/template"
)

func main() {
	tag := flag.String("tag", "", "the release's tag, such as v1.2.3")
	sums := flag.String("sums", "../dist/SHA256SUMS", "its file of checksums")
	out := flag.String("out", "../dist/installers", "where to write, a directory that is not there yet")
	python := flag.String("python", "python3", "the Python that packs for pip")
	flag.Parse()
	if err := write("..", *tag, *sums, *out, *python); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is what a wrapper knows of its release: release.json.
type release struct {
	Version string            `json:"version"`
	URL     string            `json:"url"`
	SHA256  map[string]string `json:"sha256"` // by the archive's name
}

// placeholder is the version of the packages in the repository.
const placeholder = "0.0.0"

var (
	tagged = regexp.MustCompile(`^v(\d+\.\d+\.\d+)$`)
	sum    = regexp.MustCompile(`^([0-9a-f]{64})  (browserd_(\S+?)_(?:linux|darwin|windows)_(?:amd64|arm64)\.(?:tar\.gz|zip))$`)
)

// read takes the archives of the release from its checksums, and nothing of another.
func read(tag, file string) (*release, error) {
	m := tagged.FindStringSubmatch(tag)
	if m == nil {
		return nil, fmt.Errorf("the tag %q is not vMAJOR.MINOR.PATCH", tag)
	}
	r := &release{Version: m[1], URL: "https://github.com/browserd/browserd/releases/download/" + tag, SHA256: map[string]string{}}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if m := sum.FindStringSubmatch(lines.Text()); m != nil {
			if m[3] != r.Version {
				return nil, fmt.Errorf("%s names %s, which is not of %s", file, m[2], tag)
			}
			r.SHA256[m[2]] = m[1]
		}
	}
	if len(r.SHA256) == 0 {
		return nil, fmt.Errorf("%s names no archive", file)
	}
	return r, nil
}

// write packs the release of the repository at root into out.
func write(root, tag, sums, out, python string) error {
	r, err := read(tag, sums)
	if err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	if err := r.formula(filepath.Join(root, "packaging/browserd.rb.tmpl"), filepath.Join(out, "browserd.rb")); err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	for _, p := range packages {
		if err := r.pack(p, root, out, python); err != nil {
			return fmt.Errorf("packing %s: %w", p.dir, err)
		}
	}
	return nil
}

// formula writes the Homebrew formula. It wants all four archives that Homebrew's
// systems need.
func (r *release) formula(from, to string) error {
	type archive struct{ Brew, Name, SHA256 string }
	type system struct {
		Brew     string
		Archives []archive
	}
	var systems []system
	for _, s := range [][2]string{{"macos", "darwin"}, {"linux", "linux"}} {
		made := system{Brew: s[0]}
		for _, a := range [][2]string{{"arm", "arm64"}, {"intel", "amd64"}} {
			name := fmt.Sprintf("browserd_%s_%s_%s.tar.gz", r.Version, s[1], a[1])
			if r.SHA256[name] == "" {
				return fmt.Errorf("the checksums do not name %s", name)
			}
			made.Archives = append(made.Archives, archive{a[0], name, r.SHA256[name]})
		}
		systems = append(systems, made)
	}
	t, err := template.ParseFiles(from)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, map[string]any{"Version": r.Version, "URL": r.URL, "Systems": systems}); err != nil {
		return err
	}
	return os.WriteFile(to, text.Bytes(), 0o644)
}
