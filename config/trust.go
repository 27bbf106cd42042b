package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A browserd.yaml in the working directory came with the directory: whoever wrote
// it may be a stranger, and browserd runs programs and sends tokens as its
// configuration says. So it is read only after the user has trusted it, only as it
// was then, and only for keys that name no program and weaken no protection.

// maxWorkdirFile is how large a working directory's file may be, in bytes.
const maxWorkdirFile = 1 << 20

// IgnoredFile is the working directory's file that was not read.
type IgnoredFile struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// String says what to do about it.
func (f IgnoredFile) String() string {
	return fmt.Sprintf("%s in the working directory is ignored: %s: to use it, read it, then run browserd trust", fileName, f.Why)
}

// seal is what the user trusts of a file: its content and its owner.
type seal struct {
	SHA256 string `json:"sha256"`
	Owner  string `json:"owner"` // the user's number; empty on Windows
}

// Trust remembers that the user trusts the file at path as it is, and returns its
// absolute path. It refuses one that no working directory's file may be: of another
// name, or with a key that such a file may not set.
func Trust(path string) (string, error) {
	dir, err := StateDir()
	if err != nil {
		return "", err
	}
	f, err := readWorkdirFile(path)
	if err != nil {
		return "", err
	}
	l := &loader{schema: keys(), inForce: map[string]any{}, origins: map[string]string{}, inWorkdir: true}
	if err := errors.Join(append([]error{l.readFile(f.path, f.data)}, l.faults...)...); err != nil {
		return "", err
	}
	return f.path, changeTrusted(dir, func(trusted map[string]seal) { trusted[f.path] = f.seal })
}

// Forget ends the user's trust in the file at path, and returns its absolute path.
func Forget(path string) (string, error) {
	dir, err := StateDir()
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil { // it may be gone
		path = real
	}
	return path, changeTrusted(dir, func(trusted map[string]seal) { delete(trusted, path) })
}

// loadWorkdir reads ./browserd.yaml over the file before it, where the user trusts it
// and named no other.
func (l *loader) loadWorkdir(src Sources) error {
	path := filepath.Join(src.Dir, fileName)
	info, err := os.Stat(path)
	if err != nil || l.named {
		return nil
	}
	if own, err := os.Stat(l.file); err == nil && os.SameFile(own, info) {
		return nil // the working directory is the user's configuration directory
	}
	f, err := readWorkdirFile(path)
	if err != nil {
		l.ignoredFile = &IgnoredFile{path, err.Error()}
		return nil
	}
	if why := untrusted(src.TrustDir, f); why != "" {
		l.ignoredFile = &IgnoredFile{f.path, why}
		return nil
	}
	l.workdirFile, l.inWorkdir = f.path, true
	defer func() { l.inWorkdir = false }()
	return l.readFile(f.path, f.data)
}

// untrusted is why a file is not read; empty: it is trusted.
func untrusted(trustDir string, f workdirFile) string {
	if trustDir == "" {
		var err error
		if trustDir, err = StateDir(); err != nil {
			return err.Error()
		}
	}
	trusted, err := readTrusted(trustDir)
	if err != nil {
		return err.Error()
	}
	s, known := trusted[f.path]
	switch {
	case !known:
		return "you have not trusted it"
	case s.Owner != f.seal.Owner:
		return "it has another owner than when you trusted it"
	case s != f.seal:
		return "it has changed since you trusted it"
	}
	return ""
}

// workdirFile is a file as it was read, once.
type workdirFile struct {
	path string // absolute, without links
	data []byte
	seal seal
}

func readWorkdirFile(path string) (workdirFile, error) {
	f := workdirFile{}
	path, err := filepath.Abs(path)
	if err != nil {
		return f, err
	}
	if filepath.Base(path) != fileName {
		return f, fmt.Errorf("%s: only a file called %s is read from a working directory", path, fileName)
	}
	if f.path, err = filepath.EvalSymlinks(path); err != nil {
		return f, err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return f, err
	}
	if !info.Mode().IsRegular() { // a device may act when it is opened
		return f, fmt.Errorf("%s is no plain file", path)
	}
	in, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now, which would wait forever
	if err != nil {
		return f, err
	}
	defer in.Close()
	if info, err = in.Stat(); err != nil {
		return f, err
	}
	if !info.Mode().IsRegular() {
		return f, fmt.Errorf("%s is no plain file", path)
	}
	if f.data, err = io.ReadAll(io.LimitReader(in, maxWorkdirFile+1)); err != nil {
		return f, err
	}
	if len(f.data) > maxWorkdirFile {
		return f, fmt.Errorf("%s has more than %d bytes", path, maxWorkdirFile)
	}
	sum := sha256.Sum256(f.data)
	f.seal = seal{hex.EncodeToString(sum[:]), ownerOf(info)}
	return f, nil
}

func trustedFile(dir string) string { return filepath.Join(dir, "trusted.json") }

// readTrusted returns what the user trusts, by absolute path.
func readTrusted(dir string) (map[string]seal, error) {
	trusted := map[string]seal{}
	data, err := os.ReadFile(trustedFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return trusted, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &trusted)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", trustedFile(dir), err)
	}
	return trusted, nil
}

func changeTrusted(dir string, change func(map[string]seal)) error {
	trusted, err := readTrusted(dir)
	if err != nil {
		return err
	}
	change(trusted)
	data, err := json.MarshalIndent(trusted, "", "  ")
	if err != nil {
		return err
	}
	return ReplaceFile(trustedFile(dir), append(data, '\n'))
}
