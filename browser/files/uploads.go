package files

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/protocol"
)

// Uploads are the files that a browser context has uploaded, on disk where Chromium can
// read them. Set Process first; then any goroutine may call the methods, which lock mu.
type Uploads struct {
	Process *chromium.Process // nil if Chromium runs elsewhere

	mu     sync.Mutex
	dir    string   // empty until the first file
	quotas []*Quota // which the files count against, see Limit
	used   int64    // bytes that count
	closed bool
}

// Limit sets the quotas that the files count against. Call it before the first Store.
func (u *Uploads) Limit(quotas ...*Quota) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.quotas = quotas
}

// Store writes the files where Chromium, which may run as another user, can
// read them: each in a directory of its own with a name that nobody can guess,
// in one that nobody else can list. They are removed with the context. It returns
// too_large where they exceed the limit.
func (u *Uploads) Store(files []protocol.File) ([]string, error) {
	if len(files) == 0 {
		return []string{}, nil
	}
	if err := u.reserve(files); err != nil {
		return nil, err
	}
	parent, err := u.directory()
	if err != nil {
		u.Discard(nil, files)
		return nil, err
	}
	paths := make([]string, 0, len(files))
	for _, f := range files {
		dir := filepath.Join(parent, rand.Text())
		path := filepath.Join(dir, fileName(f.Name))
		err := errors.Join(os.Mkdir(dir, 0o711), os.WriteFile(path, f.Content, 0o644))
		if err == nil {
			// Neither may be kept from Chromium by the daemon's umask.
			err = errors.Join(os.Chmod(dir, 0o711), os.Chmod(path, 0o644))
		}
		if err != nil {
			os.RemoveAll(dir) // half a file takes up space too
			u.Discard(paths, files)
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// reserve counts files against the quotas. Pages read a file at any time after it was
// given to them, so each counts until the session ends.
func (u *Uploads) reserve(files []protocol.File) error {
	size := sizeOf(files)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return errClosed()
	}
	for i, q := range u.quotas {
		if err := q.take(size); err != nil {
			for _, taken := range u.quotas[:i] {
				taken.give(size)
			}
			return err
		}
	}
	u.used += size
	return nil
}

// giveBack no longer counts so many bytes. The caller holds mu.
func (u *Uploads) giveBack(bytes int64) {
	u.used -= bytes
	for _, q := range u.quotas {
		q.give(bytes)
	}
}

// Discard removes files that no page was given, and no longer counts them. paths are
// those that Store returned for files.
func (u *Uploads) Discard(paths []string, files []protocol.File) {
	for _, path := range paths {
		os.RemoveAll(filepath.Dir(path))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.giveBack(min(sizeOf(files), u.used)) // Remove may have given all back
}

// leastFile is how many bytes a file counts at least: an empty one takes up room too.
const leastFile = 4096

func sizeOf(files []protocol.File) (bytes int64) {
	for _, f := range files {
		bytes += max(int64(len(f.Content)), leastFile)
	}
	return bytes
}

// Dir returns the directory, empty until the first file.
func (u *Uploads) Dir() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.dir
}

// directory returns the directory of the uploads, made by the first of them: in Chromium's
// profile, so that it goes with it although the daemon is killed.
func (u *Uploads) directory() (string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return "", errClosed()
	case u.dir != "":
		return u.dir, nil
	}
	make := chromium.MakeSharedDir
	if u.Process != nil {
		make = u.Process.MakeDir
	}
	dir, err := make("uploads")
	if err == nil {
		u.dir = dir
	}
	return dir, err
}

// Close has Store return session_not_found from now on.
func (u *Uploads) Close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
}

func errClosed() error { return protocol.Errorf(protocol.SessionNotFound, "the session is closed") }

// Remove removes the files, which then no longer count, and has Store return
// session_not_found from now on.
func (u *Uploads) Remove() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	u.giveBack(u.used)
	if u.dir != "" {
		os.RemoveAll(u.dir)
	}
}

// fileName returns a client's file name without any path, fit for a file system.
func fileName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, name)
	for len(name) > 200 {
		name = string([]rune(name)[1:]) // the end has the extension
	}
	if name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}
