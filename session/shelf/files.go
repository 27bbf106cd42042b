package shelf

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/session/filelock"
)

// ErrNoFile is the error of a name that is not a regular file, such as a directory.
var ErrNoFile = errors.New("it is not a file")

// Files is a Shelf in a directory. It has one directory for each agent, which no other agent can name, and in
// it one file (mode 0600) for each item.
type Files struct {
	dir      string
	changing sync.Mutex // held together with the file lock of any agent's directory: see lock
}

// NewFiles returns the shelf below dir, which is created with the first item. For an empty dir it returns a nil
// Shelf.
func NewFiles(dir string) Shelf {
	if dir == "" {
		return nil
	}
	return &Files{dir: dir}
}

// open opens the directory of an agent. Its name is a digest of the agent's name, so that no
// agent's name can be a path.
func (f *Files) open(agent string, create bool) (*os.Root, error) {
	sum := sha256.Sum256([]byte(agent))
	dir := filepath.Join(f.dir, hex.EncodeToString(sum[:16]))
	if create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return os.OpenRoot(dir)
}

// List implements Shelf.
func (f *Files) List(agent string) ([]Item, error) {
	root, err := f.open(agent, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return directory{root}.List()
}

// Stat implements Shelf.
func (f *Files) Stat(agent, name string) (Item, error) {
	root, err := f.open(agent, false)
	if err != nil {
		return Item{}, err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	if err != nil {
		return Item{}, err
	}
	return item(info), nil
}

func item(info fs.FileInfo) Item { return Item{info.Name(), info.Size(), info.ModTime().UTC()} }

// Open implements Shelf. Its error may also be ErrNoFile.
func (f *Files) Open(agent, name string) (io.ReadCloser, error) {
	root, err := f.open(agent, false)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return directory{root}.Open(name)
}

// lockFile is the file in each agent's directory that lock locks. It is empty and stays there.
const lockFile = ".lock"

// lockWait is how long lock waits for another process.
const lockWait = 30 * time.Second

// lock locks an agent's directory for writing, against this process and others, until unlock is called.
func (f *Files) lock(root *os.Root) (unlock func(), err error) {
	f.changing.Lock()
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	release, err := filelock.Lock(ctx, filepath.Join(root.Name(), lockFile))
	if err != nil {
		f.changing.Unlock()
		return nil, fmt.Errorf("waiting for another process that writes in the same directory: %w", err)
	}
	return func() {
		release()
		f.changing.Unlock()
	}, nil
}

// Change implements Shelf. Unlike in a database, changes that do made before an error stay. Change also removes
// files that a killed process left half-written.
func (f *Files) Change(agent string, do func(Changes) error) error {
	root, err := f.open(agent, true)
	if err != nil {
		return err
	}
	defer root.Close()
	unlock, err := f.lock(root)
	if err != nil {
		return err
	}
	defer unlock()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && e.Name() != lockFile {
			root.Remove(e.Name())
		}
	}
	return do(directory{root})
}

// Hold implements Shelf.
func (f *Files) Hold(agent, base string) (release func(), ok bool, err error) {
	root, err := f.open(agent, true)
	if err != nil {
		return nil, false, err
	}
	defer root.Close()
	return filelock.TryLock(filepath.Join(root.Name(), base+".hold"))
}

// Salt implements Shelf.
func (*Files) Salt() []byte { return nil }

// draftMark follows the base in the file name of a draft. No base contains it.
const draftMark = "~"

// Draft implements Shelf.
func (f *Files) Draft(agent, base string) (Draft, error) {
	root, err := f.open(agent, true)
	if err != nil {
		return nil, err
	}
	tidy(root, base)
	name := base + draftMark + rand.Text()
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		root.Close()
		return nil, err
	}
	return &draft{file, root, name}, nil
}

// Tidy implements Shelf.
func (f *Files) Tidy(agent, base string) {
	if root, err := f.open(agent, false); err == nil {
		defer root.Close()
		tidy(root, base)
	}
}

func tidy(root *os.Root, base string) {
	entries, _ := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), base+draftMark) {
			root.Remove(e.Name())
		}
	}
}

// draft is a file beside those that are complete.
type draft struct {
	*os.File
	root *os.Root
	name string
}

func (d *draft) Finish() error { return errors.Join(d.Sync(), d.Close()) }

func (d *draft) Discard() {
	d.Close()
	d.root.Remove(d.name) // does nothing if the draft was placed: that renamed it
	d.root.Close()
}

// directory is an agent's directory. It implements Changes.
type directory struct{ root *os.Root }

func (d directory) List() ([]Item, error) {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var list []Item
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && !strings.HasPrefix(e.Name(), ".") && !strings.Contains(e.Name(), draftMark) {
			list = append(list, item(info))
		}
	}
	slices.SortFunc(list, func(a, b Item) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

func (d directory) Open(name string) (io.ReadCloser, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, ErrNoFile
	}
	return f, nil
}

// Put writes a temporary file and renames it, so that no reader sees half a file.
func (d directory) Put(name string, content []byte) error {
	part := "." + rand.Text()
	f, err := d.root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = d.root.Rename(part, name)
	}
	if err != nil {
		d.root.Remove(part)
	}
	return err
}

func (d directory) Place(from Draft, name string) error {
	return d.root.Rename(from.(*draft).name, name)
}

func (d directory) Remove(name string) error { return d.root.Remove(name) }
