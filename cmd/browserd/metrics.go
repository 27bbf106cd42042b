package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/policy"
)

// collectors returns what /metrics shows of the browser, of its pages' egress
// (nil: they have their own) and of the ledger. Sums alone: no label
// names an agent, a session or a host.
func collectors(chromium *chromium.Supervisor, egress func() policy.EgressStats, db *ledger.Ledger) []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	counter := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value)
	}
	list := []prometheus.Collector{
		gauge("browserd_chromium_processes", "Chromium's processes.", func() float64 {
			n, _ := chromium.Usage()
			return float64(n)
		}),
		gauge("browserd_chromium_resident_bytes", "Memory of Chromium's processes; pages that they share are counted in each.", func() float64 {
			_, bytes := chromium.Usage()
			return float64(bytes)
		}),
		counter("browserd_chromium_launches_total", "How often Chromium has been started.", func() float64 {
			return float64(chromium.Info().Generation)
		}),
		gauge("browserd_ledger_unsettled", "Charges whose end waits for the ledger's database.", func() float64 {
			unsettled, _ := db.Waiting()
			return float64(unsettled)
		}),
		counter("browserd_ledger_dropped_total", "Entries of the audit trail that were lost, since the database did not take them in time.", func() float64 {
			_, dropped := db.Waiting()
			return float64(dropped)
		}),
	}
	list = append(list, charges{db})
	if egress == nil {
		return list
	}
	return append(list, refusals{egress},
		gauge("browserd_egress_connections", "Connections that pages hold open through the egress proxy.", func() float64 { return float64(egress().Open) }),
		counter("browserd_egress_requests_total", "Requests and tunnels of pages that the egress proxy let through.", func() float64 { return float64(egress().Requests) }),
		counter("browserd_egress_bytes_total", "Bytes that pages sent and received through the egress proxy.", func() float64 { return float64(egress().Bytes) }),
	)
}

// refusals are the requests of pages that the egress proxy refused, by reason.
type refusals struct{ egress func() policy.EgressStats }

var refused = prometheus.NewDesc("browserd_egress_refused_total", "Requests and tunnels of pages that the egress proxy refused, by details.reason.", []string{"reason"}, nil)

// Describe and Collect are those of prometheus.Collector.
func (refusals) Describe(c chan<- *prometheus.Desc) { c <- refused }

func (r refusals) Collect(c chan<- prometheus.Metric) {
	for reason, n := range r.egress().Refused {
		c <- prometheus.MustNewConstMetric(refused, prometheus.CounterValue, float64(n), string(reason))
	}
}

// charges are what the ledger did with calls: by command, and by the code of
// what it refused.
type charges struct{ db *ledger.Ledger }

var (
	ledgerCalls   = prometheus.NewDesc("browserd_ledger_calls_total", "Calls of the web tools that the ledger has settled, by command, and whether they were charged or got everything back.", []string{"command", "end"}, nil)
	ledgerCredits = prometheus.NewDesc("browserd_ledger_credits_total", "Credits that calls have cost, by command.", []string{"command"}, nil)
	ledgerRefused = prometheus.NewDesc("browserd_ledger_refused_total", "Calls that the ledger did not let begin, by the error's code.", []string{"code"}, nil)
)

// Describe and Collect are those of prometheus.Collector.
func (charges) Describe(c chan<- *prometheus.Desc) {
	c <- ledgerCalls
	c <- ledgerCredits
	c <- ledgerRefused
}

func (b charges) Collect(c chan<- prometheus.Metric) {
	sum := func(what *prometheus.Desc, n int, labels ...string) {
		c <- prometheus.MustNewConstMetric(what, prometheus.CounterValue, float64(n), labels...)
	}
	f := b.db.Metrics()
	for command, n := range f.Charged {
		sum(ledgerCalls, n, command, "charged")
		sum(ledgerCredits, f.Credits[command], command)
	}
	for command, n := range f.Refunded {
		sum(ledgerCalls, n, command, "refunded")
	}
	for code, n := range f.Refused {
		sum(ledgerRefused, n, string(code))
	}
}
