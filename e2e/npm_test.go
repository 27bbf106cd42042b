package e2e_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/untested"
)

// npmPackage returns a directory that holds the files of one exact version of
// an npm package ("bootstrap@5.3.8"), without its dependencies and without
// running anything of it. It is fetched once into the user's cache, never into
// the repository. Where npm cannot be reached the test is skipped; in CI it fails.
func npmPackage(t testing.TB, spec string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "browserd-test", "npm", spec)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if _, err := exec.LookPath("npm"); err != nil {
		untested.Missing(t, "%s cannot be fetched: npm is not installed", spec)
	}
	tmp := t.TempDir()
	cmd := exec.Command("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", tmp, spec)
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		untested.Missing(t, "%s cannot be fetched from npm: %v\n%s", spec, err, out)
	}
	tarballs, err := filepath.Glob(filepath.Join(tmp, "*.tgz"))
	if err != nil || len(tarballs) != 1 {
		t.Fatalf("npm pack %s made %v, %v", spec, tarballs, err)
	}
	if err := unpack(tarballs[0], dir); err != nil {
		t.Fatalf("unpacking %s: %v", spec, err)
	}
	return dir
}

// unpack writes the regular files of an npm tarball into dir, which appears
// only when it is whole.
func unpack(tarball, dir string) error {
	f, err := os.Open(tarball)
	if err != nil {
		return err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), ".part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	// os.Root refuses names that lead out of it.
	root, err := os.OpenRoot(part)
	if err != nil {
		return err
	}
	defer root.Close()
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		// Everything in a package lies below one directory, most often "package".
		_, name, below := strings.Cut(h.Name, "/")
		if h.Typeflag != tar.TypeReg || !below {
			continue
		}
		if err := write(root, name, files); err != nil {
			return err
		}
	}
	if err := os.Rename(part, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func write(root *os.Root, name string, from io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	to, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
