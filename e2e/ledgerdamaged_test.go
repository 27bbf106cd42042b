//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

// damage writes over all of a file behind its first keep bytes.
func damage(path string, keep int) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, max(len(content)-keep, 0)), int64(keep))
	return err
}

// The SQLite file is damaged while the daemon runs: no credit is spent twice, a call that
// cannot be charged is refused, pages are read on, and the daemon ends as it should.
func TestADamagedSQLiteLedger(t *testing.T) {
	aboutOneProcess(t, "a ledger in a file")
	t.Parallel()
	a, _, path, w := ledgerFile(t)
	url := w.URL + "/next"
	a.do("http_request", params{"url": url})
	inTrail(t, path, "http_request", 1)
	if err := each(path, func(p string) error {
		if strings.HasSuffix(p, "-shm") {
			return nil
		}
		return damage(p, 100)
	}); err != nil {
		t.Fatal(err)
	}
	served := 1
	for range 5 {
		_, err := a.try("http_request", params{"url": url, "timeout_ms": 5000})
		if err == nil {
			served++ // SQLite has what it needs in its memory
		} else if code := protocol.CodeOf(err); code != protocol.LedgerUnavailable && code != protocol.CreditsExhausted {
			t.Errorf("damaged while it runs: %v, want ledger_unavailable", err)
		}
	}
	if served > 3 {
		t.Errorf("%d calls were served for 3 credits", served)
	}
	a.do("open", params{"url": url, "source": "http"})
	a.do("snapshot", nil)
}

// A daemon whose SQLite file was damaged before it starts: with credits it does not start,
// and says which file it is and what to do; for the trail alone it starts, and works.
// The file is left as it was.
func TestADamagedSQLiteLedgerBeforeTheStart(t *testing.T) {
	aboutOneProcess(t, "a ledger in a file")
	t.Parallel()
	a, d, real, w := ledgerFile(t)
	a.do("http_request", params{"url": w.URL + "/next"})
	inTrail(t, real, "http_request", 1)
	d.Stop()
	if err := damage(real, 100); err != nil {
		t.Fatal(err)
	}
	pages, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"another file":  strings.Repeat("this is no database\n", 1000),
		"no header":     "SQLite format 3\x00" + strings.Repeat("\xff", 8000),
		"half a header": "SQLite for",
		"every page":    string(pages),
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, "ledger.db")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, bin, "serve", "--ledger.credits=true")
			cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home+"/state", "BROWSERD_LEDGER__DSN="+path, "BROWSERD_TOKEN=0123456789abcdef0123", "BROWSERD_SERVER__LISTEN=127.0.0.1:0", "BROWSERD_BROWSER__DISABLED=true")
			said, _ := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(said), "put a copy of "+path) {
				t.Errorf("with credits: exit code %d: %s", cmd.ProcessState.ExitCode(), said)
			}
			d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_LEDGER__DSN": path, "BROWSERD_BROWSER__DISABLED": "true"}})
			newAgent(t, d).do("open", params{"url": w.URL + "/next"})
			d.Stop()
			if now, err := os.ReadFile(path); err != nil || string(now) != content {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

// PostgreSQL goes away in the middle of calls that have been charged: they are answered,
// and when it is back each call has been paid for once.
func TestPostgreSQLGoesInTheMiddleOfACharge(t *testing.T) {
	t.Parallel()
	postgres := testpostgres.Start(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_LEDGER__DSN": postgres.DSN, "BROWSERD_LEDGER__CREDITS": "true", "BROWSERD_LEDGER__INITIAL": "7", "BROWSERD_BROWSER__DISABLED": "true",
	}})
	w := newPageServer(t)
	arrived, release := make(chan struct{}, 5), make(chan struct{})
	w.mux.HandleFunc("/held", func(rw http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	w.serve("/next", page("next", "<h1>Next</h1>"), "")
	a := newAgent(t, d)
	answers := make(chan error, 5)
	for range 5 {
		go func() {
			_, err := a.try("http_request", params{"url": w.URL + "/held", "timeout_ms": 20000})
			answers <- err
		}()
	}
	for range 5 {
		<-arrived
	}
	postgres.Stop()
	close(release)
	began := time.Now()
	for range 5 {
		if err := <-answers; err != nil {
			t.Errorf("a call that had been charged: %v", err)
		}
	}
	t.Logf("answered %v after PostgreSQL was gone", time.Since(began).Round(time.Millisecond))
	a.refused("http_request", params{"url": w.URL + "/next", "timeout_ms": 3000}, protocol.LedgerUnavailable)
	postgres.Run(t)
	a.do("http_request", params{"url": w.URL + "/next"})
	a.do("http_request", params{"url": w.URL + "/next"})
	a.refused("http_request", params{"url": w.URL + "/next"}, protocol.CreditsExhausted)
}
