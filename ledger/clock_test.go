package ledger

import (
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// The machine's clock is set back, by a year: what was charged in the future does not
// keep agents waiting until then, and their calls are counted from now on.
func TestTheClockIsSetBack(t *testing.T) {
	cfg := priced()
	cfg.PerHour, cfg.Initial, cfg.Audit = 3, 100, false
	on(t, func(t *testing.T, dsn string) {
		cfg := cfg
		cfg.DSN = dsn
		l := openTest(t, cfg, nil)
		now := time.Now()
		ahead := now.AddDate(1, 0, 0)
		for _, at := range []time.Time{ahead, now} {
			l.now = func() time.Time { return at }
			for range cfg.PerHour {
				charge, err := l.Begin(t.Context(), "a", "web_fetch", PerFetch)
				if err != nil {
					t.Fatalf("at %v: %v", at, err)
				}
				charge.Settle(t.Context(), Worked)
			}
			_, err := l.Begin(t.Context(), "a", "web_fetch", PerFetch)
			e := asError(t, err, protocol.RateLimited)
			if wait, _ := e.Details["retry_after_s"].(int); wait < 1 || wait > 3601 {
				t.Errorf("at %v: wait %v seconds", at, e.Details["retry_after_s"])
			}
		}
	})
}
