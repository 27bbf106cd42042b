// Package hold reserves a name for one holder at a time, in this process and in others, by a
// lock on a file. It owns the file: nothing else may write or remove it. The lock ends with the
// process at the latest. Any goroutine may call it.
package hold

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// Take locks the file at path, which it makes with mode 0600. ok is false if somebody else holds
// it. release gives it up, and removes the file.
func Take(path string) (release func(), ok bool, err error) {
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
			return func() { // removed while it is locked: nobody else has locked this one
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

// Wait locks the file at path, which it makes with mode 0600, and waits until nobody else holds it.
// release gives it up; the file stays.
func Wait(ctx context.Context, path string) (release func(), err error) {
	f := flock.New(path, flock.SetPermissions(0o600))
	if _, err := f.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
