//go:build linux

package e2e_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// disk is a small file system that a daemon sees in its own mount namespace.
type disk struct {
	t    *testing.T
	path string // as it is reached from outside
}

// onSmallDisks starts a daemon whose temporary directory (profiles, downloads,
// uploads) and whose state directory (states, ledger, marks, logs) are
// file systems of so many MiB. Its actions are logged there too.
func onSmallDisks(t *testing.T, tmp, state int, o testdaemon.Options) (d *testdaemon.Daemon, profiles, kept disk) {
	t.Helper()
	o.Wrap = smallDisks(t, tmp, state, "")
	return onDisks(t, o)
}

// smallDisks is the command line that mounts such file systems and does more, in
// the shell, before it runs what follows it.
func smallDisks(t *testing.T, tmp, state int, more string) []string {
	t.Helper()
	if os.Getuid() != 0 {
		untested.Missing(t, "only root may mount a file system")
	}
	return []string{"unshare", "--mount", "sh", "-ec", fmt.Sprintf(`
		mkdir -p "$HOME/state"
		mount -t tmpfs -o size=%dm,mode=1777 tmpfs "$HOME/tmp"
		mount -t tmpfs -o size=%dm,mode=700 tmpfs "$HOME/state"
		%s
		exec "$@" --action_log.dir "$HOME/state/actions" 2> "$HOME/state/log"`, tmp, state, more), "sh"}
}

func onDisks(t *testing.T, o testdaemon.Options) (d *testdaemon.Daemon, profiles, kept disk) {
	t.Helper()
	d = testdaemon.Start(t, o)
	at := func(dir string) disk {
		return disk{t, filepath.Join(fmt.Sprintf("/proc/%d/root", d.PID), d.Home, dir)}
	}
	return d, at("tmp"), at("state")
}

// fill takes all the room that is left; the func it returns gives it back.
func (d disk) fill() (free func()) {
	d.t.Helper()
	path := filepath.Join(d.path, "filling")
	f, err := os.Create(path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			d.t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			d.t.Error(err)
		}
	}
}

// used is how many bytes lie on the disk.
func (d disk) used() uint64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.path, &s); err != nil {
		d.t.Fatal(err)
	}
	return (s.Blocks - s.Bfree) * uint64(s.Bsize)
}

// No room for Chromium: said so, or it runs without; with room again it works.
func TestFullDiskBeforeChromiumStarts(t *testing.T) {
	t.Parallel()
	d, profiles, _ := onSmallDisks(t, 24, 4, testdaemon.Options{})
	r := rowTest{newAgent(t, d), newPageServer(t), "full"}
	r.w.serve("/next", page("next", "<h1>Next</h1>"), "")
	free := profiles.fill()
	_, err := r.try("open", params{"url": r.w.URL + "/next", "source": "chromium", "timeout_ms": 20000})
	t.Logf("on a full disk: %v", err)
	if err != nil && protocol.CodeOf(err) != protocol.ChromiumUnavailable {
		t.Errorf("open: %v, want chromium_unavailable", err)
	}
	free()
	r.opensSoon("/next")
	r.works()
}

// opensSoon opens a page as soon as Chromium starts again: after failures the
// daemon waits a while.
func (r rowTest) opensSoon(path string) {
	r.t.Helper()
	var err error
	for began := time.Now(); time.Since(began) < 15*time.Second; time.Sleep(100 * time.Millisecond) {
		if _, err = r.try("open", params{"url": r.w.URL + path, "source": "chromium", "timeout_ms": 10000}); err == nil {
			return
		}
	}
	r.t.Fatalf("with room again: %v", err)
}

// The daemon starts although its state directory has no room: what needs none
// works, the rest says so and works when there is room; the trail was kept.
func TestFullDiskBeforeTheDaemonStarts(t *testing.T) {
	aboutOneProcess(t, "its disk; a fleet saves in its database")
	t.Parallel()
	d, _, kept := onDisks(t, testdaemon.Options{Wrap: smallDisks(t, 64, 3, `head -c 4m /dev/zero > "$HOME/state/filling" || true`)})
	r := rowTest{newAgent(t, d), newPageServer(t), "full"}
	r.w.serve("/next", page("next", "<h1>Next</h1>"), "")
	r.do("open", params{"url": r.w.URL + "/next", "source": "http"})
	_, err := r.try("open", params{"url": r.w.URL + "/next", "source": "chromium", "timeout_ms": 20000})
	if protocol.CodeOf(err) != protocol.ChromiumUnavailable {
		t.Errorf("open: %v, want chromium_unavailable", err)
	}
	r.refused("state_save", params{"name": "early"}, protocol.NoSpace)
	if left, err := filepath.Glob(filepath.Join(kept.path, "browserd", "browsers", "*")); err != nil || len(left) > 0 {
		t.Errorf("half-written marks: %v, %v", left, err)
	}
	if err := os.Remove(filepath.Join(kept.path, "filling")); err != nil {
		t.Fatal(err)
	}
	r.opensSoon("/next")
	r.do("state_save", params{"name": "late"})
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		audit := exec.Command("nsenter", "--mount", "--target", fmt.Sprint(d.PID), bin, "audit", "--json", "--command", "open")
		audit.Env = d.Environ()
		said, err := audit.CombinedOutput()
		if strings.Contains(string(said), `"source":"http"`) {
			break // the first, of when there was no room
		}
		if time.Now().After(deadline) {
			t.Fatalf("the trail was not kept: %v\n%s", err, said)
		}
	}
}

// With credits, which need the ledger, it does not start, and says why.
func TestFullDiskAndNoLedger(t *testing.T) {
	t.Parallel()
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	wrap := smallDisks(t, 1, 1, `head -c 2m /dev/zero > "$HOME/state/filling" || true`)
	wrap[4] = strings.Replace(wrap[4], `2> "$HOME/state/log"`, "", 1) // said to whoever started it
	cmd := exec.Command(wrap[0], slices.Concat(wrap[1:], []string{bin, "serve", "--ledger.credits=true"})...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home+"/state", "TMPDIR="+home+"/tmp", "BROWSERD_TOKEN=0123456789abcdef0123", "BROWSERD_SERVER__LISTEN=127.0.0.1:0")
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(said), "database or disk is full") || !strings.Contains(string(said), "make room on its disk") {
		t.Errorf("%v: %s", err, said)
	}
}

// The disk fills while a page is open: pages are read and acted on all the
// same, what needs the disk says so, and a download ends by itself.
func TestFullDiskWhileAPageIsOpen(t *testing.T) {
	t.Parallel()
	d, profiles, _ := onSmallDisks(t, 32, 4, testdaemon.Options{})
	r := rowTest{newAgent(t, d), newPageServer(t), "full"}
	r.w.serve("/next", page("full", "<h1>Next</h1><a href=/small>Small</a> <a href=/large>Large</a> <input type=file aria-label=Send onchange='report(files.length)'>"), "")
	for name, size := range map[string]int{"small": 1000, "large": 64 << 20} {
		r.w.mux.HandleFunc("/"+name, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Disposition", "attachment; filename="+name+".bin")
			for left := size; left > 0; left -= min(left, 1<<16) {
				if _, err := rw.Write(make([]byte, min(left, 1<<16))); err != nil {
					return
				}
			}
		})
	}
	r.do("session_open", params{"downloads": true})
	r.open(r.w.URL + "/next")
	before := profiles.used()
	v := r.snapshot()

	r.do("click", click(v.ref(t, "link", "Large"), nil))
	got := ask[downloadsAnswer](r.agent, "downloads", params{"wait": true, "timeout_ms": 20000})
	if len(got.Entries) != 1 || got.Entries[0].State != protocol.DownloadFailed && got.Entries[0].State != protocol.DownloadCancelled {
		t.Errorf("a download larger than the disk: %+v", got.Entries)
	}
	for deadline := time.Now().Add(3 * time.Second); profiles.used() > before+4<<20; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the download that failed keeps %d bytes", profiles.used()-before)
		}
	}

	free := profiles.fill()
	large := base64.StdEncoding.EncodeToString(make([]byte, 1<<20))
	send := params{"ref": v.ref(t, "button", "Send"), "files": []params{{"name": "a.bin", "base64": large}}}
	if _, err := r.try("upload", send); protocol.CodeOf(err) != protocol.NoSpace {
		t.Errorf("upload: %v, want no_space", err)
	}
	r.works()
	r.open(r.w.URL + "/next")
	free()
	v = r.snapshot()
	send["ref"] = v.ref(t, "button", "Send")
	r.do("upload", send)
	r.saw(1.0)
	r.do("click", click(v.ref(t, "link", "Small"), nil))
	got = ask[downloadsAnswer](r.agent, "downloads", params{"wait": true, "timeout_ms": 20000})
	if last := got.Entries[len(got.Entries)-1]; last.State != protocol.DownloadDone {
		t.Errorf("with room again: %+v", last)
	}
	r.do("session_close", nil)
}

// The state directory is full, with the log and the action log on it: what
// must be kept is refused and said, what is only written down is not missed.
func TestFullStateDirectory(t *testing.T) {
	aboutOneProcess(t, "its disk; a fleet saves in its database")
	t.Parallel()
	d, _, kept := onSmallDisks(t, 64, 3, testdaemon.Options{
		Args: []string{"--log.level", "debug"},
		Env: map[string]string{
			"BROWSERD_LEDGER__CREDITS": "true", "BROWSERD_LEDGER__INITIAL": "1000",
		},
	})
	r := rowTest{newAgent(t, d), newPageServer(t), "full"}
	r.w.serve("/next", page("next", "<h1>Next</h1>"), "")
	r.w.serve("/plain", "gold", "text/plain")
	r.open(r.w.URL + "/next")
	r.do("cookies_set", params{"cookies": []params{{"name": "kept", "value": "yes"}}})
	r.do("state_save", params{"name": "early"})
	r.do("http_request", params{"url": r.w.URL + "/plain"})

	free := kept.fill()
	r.refused("state_save", params{"name": "late"}, protocol.NoSpace)
	r.refused("state_save", params{"name": "early"}, protocol.NoSpace)
	began := time.Now()
	var err error
	for range 50 { // until what SQLite still had room for is used up
		if _, err = r.try("http_request", params{"url": r.w.URL + "/plain"}); err != nil {
			break
		}
	}
	if protocol.CodeOf(err) != protocol.LedgerUnavailable {
		t.Errorf("a call that costs credits: %v, want ledger_unavailable", err)
	}
	t.Logf("refused after %v", time.Since(began).Round(time.Millisecond))
	r.works()
	r.do("state_load", params{"name": "early"})
	r.refused("state_load", params{"name": "late"}, protocol.InvalidParams)

	free()
	r.do("state_save", params{"name": "late"})
	r.do("http_request", params{"url": r.w.URL + "/plain"})
	left, err := filepath.Glob(filepath.Join(kept.path, "browserd", "states", "*", ".[^l]*")) // without .lock
	if err != nil || len(left) > 0 {
		t.Errorf("half-written states: %v, %v", left, err)
	}
	if log, err := os.ReadFile(filepath.Join(kept.path, "log")); err != nil || !strings.Contains(string(log), "the ledger's database is back") && !strings.Contains(string(log), "command=state_save") {
		t.Errorf("the log does not go on: %v", err)
	}
}

// A daemon that may write no file of the size says so, and what to do; once it may, it
// works.
func TestNoFileMayGrow(t *testing.T) {
	aboutOneProcess(t, "its disk; a fleet saves in its database")
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": "true", "BROWSERD_LEDGER__AUDIT": "false"}})
	r := rowTest{newAgent(t, d), newPageServer(t), "limit"}
	r.do("open", params{"url": "about:blank"})
	var before unix.Rlimit
	if err := unix.Prlimit(d.PID, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1, Max: unix.RLIM_INFINITY}, &before); err != nil {
		t.Fatal(err)
	}
	e := r.refused("state_save", params{"name": "early"}, protocol.NoSpace)
	if !strings.Contains(e.Next, "limit on the size of files") {
		t.Errorf("next: %s", e.Next)
	}
	if err := unix.Prlimit(d.PID, unix.RLIMIT_FSIZE, &before, nil); err != nil {
		t.Fatal(err)
	}
	r.do("state_save", params{"name": "late"})
}

// No room to seal a profile, to take one over or to unseal one: what was sealed last stays whole, nothing is
// left in the clear, the errors say what to do, and with room again it goes on.
func TestFullDiskAndAProfile(t *testing.T) {
	aboutOneProcess(t, "its disk; a fleet saves in its database")
	t.Parallel()
	w := databaseSite(t)
	d, profiles, kept := onSmallDisks(t, 64, 8, testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__KEY": profileKey}, Binary: os.Getenv("BROWSERD_PLAIN_BIN")})
	a := newAgent(t, d)
	s := a.do("session_open", params{"profile": "shop"}).Session
	a.logIn(w)
	if got := a.account(w); got != wholeLogin {
		t.Fatalf("logged in: %q", got)
	}
	a.do("session_close", params{"session": s})
	const passphrase = "correct horse battery staple"
	exported := ask[struct{ Content string }](a, "profile_export", params{"name": "shop", "passphrase": passphrase}).Content
	sealed := func() string {
		list, _ := filepath.Glob(filepath.Join(kept.path, "browserd", "profiles", "*", "*.profile"))
		if len(list) != 1 {
			t.Fatalf("sealed: %v", list)
		}
		content, err := os.ReadFile(list[0])
		if err != nil {
			t.Fatal(err)
		}
		if parts, _ := filepath.Glob(filepath.Join(filepath.Dir(list[0]), "*~*")); len(parts) > 0 {
			t.Errorf("half-written: %v", parts)
		}
		return string(content)
	}
	good := sealed()

	s = a.do("session_open", params{"profile": "shop"}).Session
	a.open(w.URL + "/account")
	a.do("eval", params{"expression": "localStorage.lost = 'yes'"})
	free := kept.fill()
	closed := ask[struct{ Note string }](a, "session_close", params{"session": s})
	if !strings.HasPrefix(closed.Note, "the profile was not kept: ") || !strings.Contains(closed.Note, "could not be sealed") || !strings.Contains(closed.Note, "no space left") || !strings.Contains(closed.Note, "make room") {
		t.Errorf("sealed on a full disk: %q", closed.Note)
	}
	if sealed() != good {
		t.Error("what was sealed last is another now")
	}
	for _, name := range []string{"shop", "other"} {
		if e := a.refused("profile_import", params{"name": name, "passphrase": passphrase, "content": exported}, protocol.NoSpace); e.Next == "" {
			t.Errorf("importing on a full disk: %v", e)
		}
	}
	if sealed() != good {
		t.Error("after an import that had no room it is another")
	}
	free()

	free = profiles.fill()
	e := a.refused("session_open", params{"name": "unsealed", "profile": "shop", "timeout_ms": 20000}, protocol.ChromiumUnavailable)
	if !strings.Contains(e.Next, "make room") {
		t.Errorf("unsealed on a full disk: %v, next %q", e, e.Next)
	}
	free()
	if sealed() != good {
		t.Error("after unsealing without room it is another")
	}
	until(t, 30*time.Second, "the profile with room again", func() bool {
		_, err := a.try("session_open", params{"name": "again", "profile": "shop"})
		if err == nil {
			return true
		}
		a.try("session_close", params{"session": "unsealed"})
		return false
	})
	if got := a.account(w); got != wholeLogin {
		t.Errorf("with room again: %q", got)
	}
	if note := ask[struct{ Note string }](a, "session_close", params{"session": "again"}).Note; note != "" {
		t.Errorf("with room again: %s", note)
	}
	if sealed() == good {
		t.Error("it was not sealed again")
	}
	until(t, 10*time.Second, "nothing in the clear", func() bool {
		left, _ := filepath.Glob(filepath.Join(profiles.path, "*", "*", "Default", "IndexedDB"))
		more, _ := filepath.Glob(filepath.Join(profiles.path, "*", "Default", "IndexedDB"))
		return len(left)+len(more) == 0
	})
}
