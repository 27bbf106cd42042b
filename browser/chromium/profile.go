package chromium

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// profilePrefix begins the name of every directory that is made for a browser.
// Nothing else is ever removed.
const profilePrefix = "browserd-"

// profile is the directory of one launched browser: its profile, its HOME and its
// temporary files, with the mark that lets a later daemon find it.
type profile struct {
	dir  string
	mark string // path of the mark file, "" without a state directory
	data mark
	// owner is who Chromium runs as; nil: the daemon's own user.
	owner *account
}

// mark is the content of StateDir/browsers/ID.json, which is there while a browser runs.
// Start times tell a process from a later one with the same id.
type mark struct {
	PID         int    `json:"pid,omitempty"` // of the browser process; 0: not started yet
	Start       uint64 `json:"start,omitempty"`
	Daemon      int    `json:"daemon"` // 0: no daemon uses it any more
	DaemonStart uint64 `json:"daemon_start"`
	Boot        string `json:"boot,omitempty"`
	Profile     string `json:"profile"`
	User        int    `json:"user"`           // whom Profile belongs to
	Kept        string `json:"kept,omitempty"` // of Kept.ID; empty: the profile is discarded
}

// newProfile makes a fresh directory that belongs to owner (nil: the daemon's
// user), mode 0700, and writes its mark in stateDir first. If kept is not nil it fills the
// user data directory.
func newProfile(stateDir string, owner *account, kept *Kept) (*profile, error) {
	id := strings.ToLower(rand.Text()[:12])
	base, err := profileBase(owner)
	if err != nil {
		return nil, err
	}
	p := &profile{dir: filepath.Join(base, profilePrefix+id), owner: owner}
	p.data = mark{Daemon: os.Getpid(), Boot: bootID(), Profile: p.dir, User: os.Geteuid()}
	if owner != nil {
		p.data.User = int(owner.uid)
	}
	p.data.DaemonStart, _ = startTime(p.data.Daemon)
	if stateDir != "" {
		p.mark = filepath.Join(marksDir(stateDir), id+".json")
		if err := p.writeMark(); err != nil {
			return nil, err
		}
	}
	// Mkdir, not MkdirAll: another user's directory of this name is an error.
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		p.removeMark()
		return nil, err
	}
	for _, d := range []string{p.dir, p.userData(), p.home(), p.tmp()} {
		if d != p.dir {
			err = os.Mkdir(d, 0o700)
		}
		if err == nil && owner != nil {
			err = os.Lchown(d, int(owner.uid), int(owner.gid))
		}
		if err != nil {
			p.remove()
			return nil, err
		}
	}
	if kept == nil {
		return p, nil
	}
	if err := kept.Fill(p.userData()); err != nil {
		p.remove()
		return nil, err
	}
	if err := p.markKept(kept); err != nil {
		p.drop(kept, nil)
		return nil, err
	}
	return p, nil
}

// markKept makes the owner the owner of the filled user data directory, and then records in the mark
// that it is kept. Before that, Reap would store an incomplete one.
func (p *profile) markKept(kept *Kept) error {
	if p.owner != nil {
		err := filepath.WalkDir(p.userData(), func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, int(p.owner.uid), int(p.owner.gid))
		})
		if err != nil {
			return err
		}
	}
	p.data.Kept = kept.ID()
	if p.mark == "" {
		return nil
	}
	return p.writeMark()
}

// MakeDir makes a directory in the browser's profile directory, whose name begins with
// kind. Only Chromium and the daemon can write to it. It is removed with the profile.
func (p *Process) MakeDir(kind string) (string, error) { return p.profile.makeDir(kind) }

func (p *profile) makeDir(kind string) (string, error) {
	dir := filepath.Join(p.dir, kind+"-"+strings.ToLower(rand.Text()[:12]))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if p.owner == nil {
		return dir, nil
	}
	if err := os.Lchown(dir, int(p.owner.uid), int(p.owner.gid)); err != nil {
		os.Remove(dir)
		return "", err
	}
	return dir, nil
}

// MakeSharedDir makes a directory that every user may pass through, with kind in its
// name: for the files of a Chromium that browserd did not start, on this machine. The
// caller removes it. If the daemon is killed, Reap does.
func MakeSharedDir(kind string) (string, error) {
	base, err := profileBase(&overflow)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(base, profilePrefix+kind+"-")
	if err != nil {
		return "", err
	}
	m := mark{Daemon: os.Getpid(), Boot: bootID(), Profile: dir}
	m.DaemonStart, _ = startTime(m.Daemon)
	content, err := json.Marshal(m)
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, sharedMark), content, 0o600), os.Chmod(dir, 0o711))
	}
	if err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

// sharedMark is the file in a shared directory that names its daemon.
const sharedMark = ".daemon"

// disablePrompts prepares the profile so that the full browser opens no window of its own to ask
// the user: such a window blocks all input of its tab until somebody answers.
//   - A page that asks for screen capture is refused (pref hardware.screen_capture_enabled,
//     of the policy ScreenCaptureAllowed).
//   - For a link that another program should open, Chromium first asks xdg-settings for the
//     default program, and does nothing if that is itself.
func (p *profile) disablePrompts() error {
	for _, f := range []struct {
		path, content string
		mode          os.FileMode
	}{
		{filepath.Join(p.userData(), "Default", "Preferences"), `{"hardware":{"screen_capture_enabled":false}}`, 0o600},
		{filepath.Join(p.programs(), "xdg-settings"), "#!/bin/sh\necho yes\n", 0o700},
	} {
		dir := filepath.Dir(f.path)
		err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(f.path, []byte(f.content), f.mode))
		for _, of := range []string{dir, f.path} {
			if err == nil && p.owner != nil {
				err = os.Lchown(of, int(p.owner.uid), int(p.owner.gid))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *profile) userData() string { return filepath.Join(p.dir, "profile") }
func (p *profile) programs() string { return filepath.Join(p.dir, "programs") }
func (p *profile) home() string     { return filepath.Join(p.dir, "home") }
func (p *profile) tmp() string      { return filepath.Join(p.dir, "tmp") }

func marksDir(stateDir string) string { return filepath.Join(stateDir, "browsers") }

// profileBase returns a directory to make profiles in that the owner can access. The
// state directory of root is none, and neither is a TMPDIR below a HOME of mode 0700.
func profileBase(owner *account) (string, error) {
	var tried []string
	user := os.Geteuid()
	if owner != nil {
		user = int(owner.uid)
	}
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} {
		dir, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		// Chromium makes a unix socket below it, whose path has 107 bytes.
		short := len(dir) <= 40 || runtime.GOOS == "windows"
		if short && traversable(dir, owner) && checkSafePath(dir, user) == nil && writable(dir) {
			return dir, nil
		}
		tried = append(tried, dir)
	}
	return "", fmt.Errorf("no temporary directory can be used (tried %s)", strings.Join(tried, ", "))
}

func writable(dir string) bool {
	f, err := os.CreateTemp(dir, profilePrefix+"probe-")
	if err != nil {
		return false
	}
	f.Close()
	os.Remove(f.Name())
	return true
}

// started completes the mark with the browser process.
func (p *profile) started(pid int) error {
	p.data.PID = pid
	p.data.Start, _ = startTime(pid)
	if p.mark == "" {
		return nil
	}
	return p.writeMark()
}

// writeMark writes the mark so that a reader sees the old one or the new one.
func (p *profile) writeMark() error {
	if err := os.MkdirAll(filepath.Dir(p.mark), 0o700); err != nil {
		return err
	}
	b, err := json.Marshal(p.data)
	if err != nil {
		return err
	}
	part := p.mark + ".part"
	if err := os.WriteFile(part, b, 0o600); err != nil {
		os.Remove(part)
		return err
	}
	return os.Rename(part, p.mark)
}

func (p *profile) removeMark() error {
	if p.mark == "" {
		return nil
	}
	if err := os.Remove(p.mark); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// keep stores the user data directory if kept is not nil, and removes the profile.
func (p *profile) keep(kept *Kept) error {
	if kept == nil {
		return p.remove()
	}
	if err := checkPrivateDir(p.userData(), p.data.User); err != nil {
		return errors.Join(err, p.drop(kept, err))
	}
	err := kept.Keep(p.userData())
	if errors.Is(err, ErrLater) && p.mark != "" { // without a mark Reap would not find it
		p.data.Daemon, p.data.DaemonStart = 0, 0
		return errors.Join(err, p.writeMark())
	}
	return errors.Join(err, p.removeKept())
}

// drop removes the profile without storing it.
func (p *profile) drop(kept *Kept, why error) error {
	if kept == nil {
		return p.remove()
	}
	kept.Drop(why)
	return p.removeKept()
}

// removeKept removes a profile that has been stored or dropped. It first changes the mark, so that
// Reap never stores one that was removed in part.
func (p *profile) removeKept() error {
	p.data.Kept = ""
	if p.mark != "" && p.writeMark() != nil {
		if err := p.removeMark(); err != nil {
			return err // both stay
		}
	}
	return p.remove()
}

// remove removes the directory, then the mark: while the directory is there, a
// later daemon can still find it.
func (p *profile) remove() error {
	if err := removeProfile(p.dir); err != nil {
		return err
	}
	return p.removeMark()
}

// removeProfile removes a profile directory. Its processes are gone, but one
// that the kernel has not quite ended may add a last file, so an attempt that
// finds the directory not empty is repeated for a while.
func removeProfile(dir string) error {
	if !strings.HasPrefix(filepath.Base(dir), profilePrefix) || !filepath.IsAbs(dir) {
		return fmt.Errorf("%q is not a profile directory of browserd", dir)
	}
	for wait := time.Millisecond; ; wait *= 2 {
		err := os.RemoveAll(dir)
		if err == nil || wait > time.Second {
			return err
		}
		time.Sleep(wait)
	}
}
