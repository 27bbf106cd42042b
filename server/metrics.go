package server

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// metrics holds what /metrics serves in Prometheus's text format. No label has a value chosen
// by a page or a client: the values are commands of the repertoire, and sources and codes of
// the protocol.
type metrics struct {
	commands *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	// more are metrics whose values are read at each scrape. They are made and registered at the first scrape.
	more    []func() []prometheus.Collector
	handler func() http.Handler
}

func newMetrics() *metrics {
	m := &metrics{
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "browserd_commands_total", Help: "Commands that have ended, by command, by who served the page, and by the error's code (ok where it ended well).",
		}, []string{"command", "source", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "browserd_command_seconds", Help: "From a command's arrival to its answer, the wait in its session's queue included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
		}, []string{"command"}),
	}
	m.handler = sync.OnceValue(func() http.Handler {
		registry := prometheus.NewRegistry()
		registry.MustRegister(m.commands, m.seconds, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		for _, more := range m.more {
			registry.MustRegister(more()...)
		}
		return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
	})
	return m
}

// ended counts one command.
func (m *metrics) ended(command, source string, code protocol.Code, took time.Duration) {
	m.commands.WithLabelValues(command, source, string(code)).Inc()
	m.seconds.WithLabelValues(command).Observe(took.Seconds())
}

// collectors returns the metrics of the server itself.
func (s *Server) collectors() []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		gauge("browserd_sessions", "Sessions that are open.", func() float64 { return float64(s.runtime.Sessions.Count()) }),
		gauge("browserd_sessions_wanted", "Sessions that clients of this daemon want: those that it holds or opens, and those that were refused in the last 30 s because there was no room. The sum over a fleet's nodes is the fleet's.", func() float64 { return float64(session.DemandOf(s.runtime.Sessions).Wanted) }),
		gauge("browserd_sessions_capacity", "Sessions that this daemon may hold (session.max); 0 while it drains or stops.", func() float64 { return float64(session.DemandOf(s.runtime.Sessions).Capacity) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "browserd_sessions_refused_total", Help: "Sessions that clients of this daemon were refused because there was no room, here or at any node of the fleet."},
			func() float64 { return float64(session.DemandOf(s.runtime.Sessions).Refused) }),
		gauge("browserd_commands_queued", "Commands that wait for their session's turn.", func() float64 { return float64(s.runtime.Sessions.Queued()) }),
		gauge("browserd_commands_running", "Commands that run or wait.", func() float64 { return float64(s.dispatch.runningCount()) }),
		gauge("browserd_websockets", "WebSocket connections that are open.", func() float64 {
			s.mu.Lock()
			defer s.mu.Unlock()
			return float64(len(s.sockets))
		}),
	}
}

// Collect adds metrics of another package to /metrics. more is called once, at the first scrape. A metric whose
// name is taken makes that scrape panic, since it is a bug. Call Collect before Serve.
func (s *Server) Collect(more func() []prometheus.Collector) {
	s.dispatch.metrics.more = append(s.dispatch.metrics.more, more)
}
