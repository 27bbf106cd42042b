// Package filelock is a mutex between goroutines and processes: a lock on a file (flock). It owns the file:
// nothing else may write or remove it. The lock ends with the process at the latest. Any goroutine may call its
// functions.
package filelock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// TryLock locks the file at path, which it creates with mode 0600. ok is false if somebody else has locked it.
// release unlocks and removes the file.
func TryLock(path string) (release func(), ok bool, err error) {
	for {
		f := flock.New(path, flock.SetPermissions(0o600))
		if ok, err := f.TryLock(); !ok || err != nil {
			f.Close()
			return nil, false, err
		}
		// Whoever held it before may have removed it between opening and locking it.
		held, err := f.Stat()
		var there os.FileInfo
		if err == nil {
			there, err = os.Lstat(path)
		}
		switch {
		case err == nil && os.SameFile(held, there):
			return func() { // remove it while it is locked, when nobody else can have locked it
				os.Remove(path)
				f.Close()
			}, true, nil
		case err == nil || errors.Is(err, fs.ErrNotExist):
			f.Close()
		default:
			f.Close()
			return nil, false, err
		}
	}
}

// Lock waits until nobody else has locked the file at path, and locks it. It creates the file with mode 0600.
// release unlocks it; the file stays.
func Lock(ctx context.Context, path string) (release func(), err error) {
	f := flock.New(path, flock.SetPermissions(0o600))
	if _, err := f.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
