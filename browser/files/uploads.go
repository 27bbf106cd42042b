package files

import (
	"crypto/rand"
	"errors"
	"io"
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
	if err := u.reserve(sizeOf(files)); err != nil {
		return nil, err
	}
	parent, err := u.directory()
	if err != nil {
		u.Discard(nil, files)
		return nil, err
	}
	paths := make([]string, 0, len(files))
	for _, f := range files {
		path, err := write(parent, f.Name, func(to io.Writer) error { _, err := to.Write(f.Content); return err })
		if err != nil {
			u.Discard(paths, files)
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// Next returns the next of the files that come as a stream, or io.EOF. The content is read before it is called again.
type Next func() (name string, content io.Reader, err error)

// StoreStream is Store for files that are written while they are read, through a buffer, which is not empty: what is in it
// counts before it is written. discard removes them again, which no page was given. After an error, which is also that
// of next or of a content, nothing is left.
func (u *Uploads) StoreStream(buffer []byte, next Next) (paths []string, discard func(), err error) {
	parent, err := u.directory()
	if err != nil {
		return nil, nil, err
	}
	var counted int64
	discard = sync.OnceFunc(func() { u.discard(paths, counted) })
	for {
		name, content, err := next()
		if err == io.EOF {
			return paths, discard, nil
		}
		var path string
		if err == nil {
			path, err = write(parent, name, func(to io.Writer) error { return u.copy(to, content, buffer, &counted) })
		}
		if err != nil {
			discard()
			return nil, nil, err
		}
		paths = append(paths, path)
	}
}

// copy writes the content by as much as the buffer holds, and adds what counts of it to counted.
func (u *Uploads) copy(to io.Writer, content io.Reader, buffer []byte, counted *int64) error {
	for least := int64(leastFile); ; least = 0 {
		n, ended := 0, error(nil)
		for n < len(buffer) && ended == nil {
			var m int
			m, ended = content.Read(buffer[n:])
			n += m
		}
		if ended != nil && ended != io.EOF {
			return ended
		}
		size := max(int64(n), least)
		if err := u.reserve(size); err != nil {
			return err
		}
		*counted += size
		if _, err := to.Write(buffer[:n]); err != nil || ended != nil {
			return err
		}
	}
}

// write makes a file in a directory of its own and calls fill with it. After an error neither is left: half a file
// takes up space too.
func write(parent, name string, fill func(io.Writer) error) (path string, err error) {
	dir := filepath.Join(parent, rand.Text())
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	if err := os.Mkdir(dir, 0o711); err != nil {
		return "", err
	}
	path = filepath.Join(dir, fileName(name))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	// Neither may be kept from Chromium by the daemon's umask.
	err = errors.Join(fill(f), os.Chmod(dir, 0o711), f.Chmod(0o644))
	return path, errors.Join(err, f.Close())
}

// reserve counts so many bytes against the quotas. Pages read a file at any time after it was
// given to them, so each counts until the session ends.
func (u *Uploads) reserve(bytes int64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return errClosed()
	}
	for i, q := range u.quotas {
		if err := q.take(bytes); err != nil {
			for _, taken := range u.quotas[:i] {
				taken.give(bytes)
			}
			return err
		}
	}
	u.used += bytes
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
func (u *Uploads) Discard(paths []string, files []protocol.File) { u.discard(paths, sizeOf(files)) }

// discard is Discard for files that count as so many bytes.
func (u *Uploads) discard(paths []string, bytes int64) {
	for _, path := range paths {
		os.RemoveAll(filepath.Dir(path))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.giveBack(min(bytes, u.used)) // Remove may have given all back
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
