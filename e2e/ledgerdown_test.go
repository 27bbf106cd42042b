package e2e_test

import (
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

// The ledger's database goes away and comes back: what costs credits is refused
// meanwhile and in time, everything else goes on, and nothing is charged twice.
func TestTheLedgerIsGoneAndBack(t *testing.T) {
	t.Parallel()
	postgres := testpostgres.Start(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_LEDGER__DSN": postgres.DSN, "BROWSERD_LEDGER__CREDITS": "true", "BROWSERD_LEDGER__INITIAL": "3",
	}})
	w := newPageServer(t)
	w.serve("/next", page("next", "<h1>Next</h1>"), "")
	a := newAgent(t, d)
	a.open(w.URL + "/next")
	a.do("http_request", params{"url": w.URL + "/next"})
	postgres.Stop()
	began := time.Now()
	a.refused("http_request", params{"url": w.URL + "/next", "timeout_ms": 5000}, protocol.LedgerUnavailable)
	t.Logf("refused after %v", time.Since(began).Round(time.Millisecond))
	a.open(w.URL + "/next")
	a.snapshot()
	postgres.Run(t)
	a.do("http_request", params{"url": w.URL + "/next"})
	a.do("http_request", params{"url": w.URL + "/next"})
	a.refused("http_request", params{"url": w.URL + "/next"}, protocol.CreditsExhausted)
}
