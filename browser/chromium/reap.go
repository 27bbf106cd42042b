package chromium

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Keep stores the user data directory of an ID, as Kept.Keep does.
type Keep func(id, userData string) error

// Reaped is what Reap removed.
type Reaped struct {
	Browsers  int // marks of browsers whose daemon is gone
	Processes int // processes that were still there and were killed
}

// Reap removes what daemons that were killed left behind: it kills the
// processes of their browsers and removes the profile directories, by the marks
// in stateDir/browsers. Browsers of a daemon that runs are left alone. It is
// called at start, before the first launch, and again after ErrLater. What it cannot remove it
// reports, and leaves marked for the next start. If somebody else has made a directory at the
// path of a profile, it removes the mark only. keep is called with each user data directory
// that is kept, and its ID (Kept), before it is removed; nil: all are removed.
func Reap(stateDir string, keep Keep) (Reaped, error) {
	var r Reaped
	var errs []error
	marks, _ := filepath.Glob(filepath.Join(marksDir(stateDir), "*.json"))
	for _, path := range marks {
		n, err := reapOne(path, keep)
		switch {
		case errors.Is(err, errOwned):
			continue
		case err != nil:
			errs = append(errs, fmt.Errorf("reaping %s: %w", path, err))
			continue
		}
		r.Browsers++
		r.Processes += n
	}
	return r, errors.Join(append(errs, reapShared())...)
}

// reapShared removes the shared directories of daemons that are gone (MakeSharedDir).
// They are where every user may make directories: one without a valid sharedMark, or that
// belongs to somebody else, stays.
func reapShared() error {
	base, err := profileBase(&overflow)
	if err != nil {
		return nil // none can have been made
	}
	var errs []error
	marks, _ := filepath.Glob(filepath.Join(base, profilePrefix+"*", sharedMark))
	for _, path := range marks {
		dir := filepath.Dir(path)
		content, err := os.ReadFile(path)
		var m mark
		if err != nil || json.Unmarshal(content, &m) != nil || m.Profile != dir || m.Boot == bootID() && alive(m.Daemon, m.DaemonStart) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil && !errors.Is(err, os.ErrPermission) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

var errOwned = errors.New("the daemon of this browser lives")

func reapOne(path string, keep Keep) (int, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, errOwned // removed by its daemon just now
	}
	if err != nil {
		return 0, err
	}
	var m mark
	if err := json.Unmarshal(b, &m); err != nil {
		return 0, err
	}
	sameBoot := m.Boot == bootID()
	if sameBoot && m.Daemon != 0 && alive(m.Daemon, m.DaemonStart) {
		return 0, errOwned
	}
	p := profile{dir: m.Profile, mark: path, data: m}
	if !strings.HasPrefix(filepath.Base(p.dir), profilePrefix) {
		return 0, fmt.Errorf("%q is not a profile directory of browserd", p.dir)
	}
	n := 0
	if sameBoot {
		if n, err = killOrphans(m, p.userData()); err != nil {
			return n, err
		}
	}
	if err := checkPrivateDir(p.dir, m.User); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil // removed before its mark was
		}
		return n, errors.Join(err, p.removeMark())
	}
	if m.Kept == "" || keep == nil {
		return n, p.remove()
	}
	return n, p.keep(&Kept{Keep: func(userData string) error { return keep(m.Kept, userData) }, Drop: func(error) {}})
}
