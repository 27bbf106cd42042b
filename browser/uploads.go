package browser

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

// uploads are the files that a session has uploaded, on disk where Chromium can read
// them. Any goroutine may call its methods, which lock mu.
type uploads struct {
	process *chromium.Process // nil where Chromium runs elsewhere

	mu     sync.Mutex
	dir    string // empty until the first file
	closed bool
}

// store writes the files where Chromium, which may run as another user, can
// read them: each in a directory of its own with a name that nobody can guess,
// in one that nobody else can list. They are removed with the context.
func (u *uploads) store(files []protocol.File) ([]string, error) {
	if len(files) == 0 {
		return []string{}, nil
	}
	parent, err := u.directory()
	if err != nil {
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
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// directory is the directory of the uploads, made by the first of them: in Chromium's
// profile, so that it goes with it although the daemon is killed.
func (u *uploads) directory() (string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return "", errClosed()
	case u.dir != "":
		return u.dir, nil
	}
	make := chromium.MakeSharedDir
	if u.process != nil {
		make = u.process.MakeDir
	}
	dir, err := make("uploads")
	if err == nil {
		u.dir = dir
	}
	return dir, err
}

// close lets no more files be stored.
func (u *uploads) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
}

// remove removes the files.
func (u *uploads) remove() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dir != "" {
		os.RemoveAll(u.dir)
	}
}

// fileName is a client's file name without any path, fit for a file system.
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
