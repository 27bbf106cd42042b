//go:build linux

package e2e_test

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/protocol"
)

// ledgerFile is a daemon whose ledger is a SQLite file, in which its agent has
// three credits, and a page that costs one of them.
func ledgerFile(t *testing.T) (a *agent, d *testdaemon.Daemon, path string, w *pageServer) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ledger.db")
	d = testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_LEDGER__DSN": path, "BROWSERD_LEDGER__CREDITS": "true", "BROWSERD_LEDGER__INITIAL": "3",
	}})
	w = newPageServer(t)
	w.serve("/next", page("next", "<h1>Next</h1>"), "")
	return newAgent(t, d), d, path, w
}

// trailOf are the entries of a ledger's file.
func trailOf(t *testing.T, path string) []ledger.Entry {
	t.Helper()
	l, err := ledger.Open(t.Context(), ledger.Config{DSN: path, Audit: true, Keep: time.Hour}, "", nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(t.Context())
	list, err := l.Trail(t.Context(), ledger.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// inTrail waits until so many entries of a command are in the trail.
func inTrail(t *testing.T, path, command string, n int) {
	t.Helper()
	l, err := ledger.Open(t.Context(), ledger.Config{DSN: path, Audit: true, Keep: time.Hour}, "", nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(t.Context())
	var list []ledger.Entry
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if list, err = l.Trail(t.Context(), ledger.Query{Command: command}); err != nil {
			t.Fatal(err)
		}
		if len(list) == n {
			return
		}
	}
	t.Errorf("want %d entries of %s, got: %+v", n, command, list)
}

// each calls f for every file of the database that is there.
func each(path string, f func(path string) error) error {
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if _, err := os.Stat(path + suffix); err != nil {
			continue
		}
		if err := f(path + suffix); err != nil {
			return err
		}
	}
	return nil
}

// The ledger's file is moved away while the daemon runs: what costs credits is
// refused, nothing is written into a file that nobody can find, and the trail
// waits. It goes on with the file when that is back, and with a copy of it.
func TestTheSQLiteLedgerIsGoneAndBack(t *testing.T) {
	aboutOneProcess(t, "a ledger in a file")
	t.Parallel()
	a, d, path, w := ledgerFile(t)
	url := w.URL + "/next"
	charged := params{"url": url}
	read := func() { a.do("open", params{"url": url, "source": "http"}) }
	a.do("http_request", charged)
	inTrail(t, path, "http_request", 1)

	away := filepath.Join(t.TempDir(), "away.db")
	if err := each(path, func(p string) error { return os.Rename(p, away+strings.TrimPrefix(p, path)) }); err != nil {
		t.Fatal(err)
	}
	a.refused("http_request", charged, protocol.LedgerUnavailable)
	read()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(d.Log(), "was removed while it was in use"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log does not say so:\n%s", d.Log())
		}
	}
	if err := each(away, func(p string) error { return os.Rename(p, path+strings.TrimPrefix(p, away)) }); err != nil {
		t.Fatal(err)
	}
	a.do("http_request", charged)
	inTrail(t, path, "open", 1)

	// A copy that was taken now, put in the place of the file.
	inTrail(t, path, "http_request", 3)
	if err := each(path, func(p string) error {
		b, err := os.ReadFile(p)
		if err == nil && !strings.HasSuffix(p, "-shm") {
			err = os.WriteFile(away+strings.TrimPrefix(p, path), b, 0o600)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := each(path, os.Remove); err != nil {
		t.Fatal(err)
	}
	a.refused("http_request", charged, protocol.LedgerUnavailable)
	if err := each(away, func(p string) error { return os.Rename(p, path+strings.TrimPrefix(p, away)) }); err != nil {
		t.Fatal(err)
	}
	a.do("http_request", charged)
	a.refused("http_request", charged, protocol.CreditsExhausted)
	inTrail(t, path, "http_request", 6)
}

// Another process holds the database's lock: commands that cost credits are
// answered in their time, others do not wait for it, and the trail does.
func TestTheSQLiteLedgerIsLocked(t *testing.T) {
	aboutOneProcess(t, "a ledger in a file")
	t.Parallel()
	a, _, path, w := ledgerFile(t)
	url := w.URL + "/next"
	a.do("http_request", params{"url": url})
	inTrail(t, path, "http_request", 1)
	shm, err := os.OpenFile(path+"-shm", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer shm.Close()
	// SQLite's locks, as another process has them (os_unix.c, UNIX_SHM_DMS and
	// WAL_WRITE_LOCK): of whoever has the database open, and of whoever writes.
	open := syscall.Flock_t{Type: syscall.F_RDLCK, Start: 128, Len: 1}
	if err := syscall.FcntlFlock(shm.Fd(), syscall.F_SETLKW, &open); err != nil {
		t.Fatal(err)
	}
	lock := func(kind int16) error {
		return syscall.FcntlFlock(shm.Fd(), syscall.F_SETLKW, &syscall.Flock_t{Type: kind, Start: 120, Len: 1})
	}
	// It is taken when a call has been charged and is under way.
	taken := make(chan error, 1)
	w.mux.HandleFunc("/late", func(rw http.ResponseWriter, r *http.Request) { taken <- lock(syscall.F_WRLCK) })
	inTime := func(path string) error {
		began := time.Now()
		_, err := a.try("http_request", params{"url": w.URL + path, "timeout_ms": 2000})
		t.Logf("%s: answered after %v: %v", path, time.Since(began).Round(time.Millisecond), err)
		return err
	}
	if err := inTime("/late"); err != nil {
		t.Errorf("a call that has been charged: %v", err)
	}
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	if err := inTime("/next"); protocol.CodeOf(err) != protocol.LedgerUnavailable {
		t.Errorf("a call that is to be charged: %v, want ledger_unavailable", err)
	}
	a.do("open", params{"url": url, "source": "http"})
	if err := lock(syscall.F_UNLCK); err != nil {
		t.Fatal(err)
	}
	a.do("http_request", params{"url": url})
	a.refused("http_request", params{"url": url}, protocol.CreditsExhausted)
	inTrail(t, path, "open", 1)
}
