package ledger

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"
)

// Another process is putting the file into WAL mode, or has its lock for
// another reason, when a daemon starts and when an operator asks for the
// accounts: both wait for it, longer than SQLite does by itself.
func TestADatabaseThatIsLockedIsWaitedFor(t *testing.T) {
	dsn := filepath.Join(t.TempDir(), "ledger.db")
	held := func() (release func()) {
		t.Helper()
		other, err := sql.Open("sqlite", "file:"+dsn+"?_pragma=busy_timeout(5000)&_pragma=locking_mode(EXCLUSIVE)&_txlock=exclusive")
		if err != nil {
			t.Fatal(err)
		}
		tx, err := other.Begin()
		if err != nil {
			t.Fatal(err)
		}
		return func() { tx.Rollback(); other.Close() }
	}
	cfg := priced()
	cfg.DSN = dsn

	time.AfterFunc(3*busyTimeout, held())
	l := openTest(t, cfg, map[string]int{"rich": 1000})

	l.db.SetMaxIdleConns(0) // as after five idle minutes: the next question opens the file anew
	time.AfterFunc(3*busyTimeout, held())
	if credits, err := l.Balance(t.Context(), "rich"); err != nil || credits != 1000 {
		t.Errorf("the balance is %d (%v), want 1000", credits, err)
	}
	time.AfterFunc(3*busyTimeout, held())
	if accounts, err := l.Accounts(t.Context()); err != nil || len(accounts) != 1 {
		t.Errorf("the accounts are %v (%v), want one", accounts, err)
	}
	time.AfterFunc(3*busyTimeout, held())
	if trail, err := l.Trail(t.Context(), Query{}); err != nil {
		t.Errorf("the trail is %v (%v)", trail, err)
	}
}
