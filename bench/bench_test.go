package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpages"
	"github.com/browserd/browserd/snapshot"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testdaemon.RemoveBinary()
	os.Exit(code)
}

// shop is a daemon with one of the pages open.
type shop struct {
	b      testing.TB
	daemon *testdaemon.Daemon
	client *client.Client
	url    string // of the pages; the number of elements follows
}

func newShop(b testing.TB) *shop {
	b.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, testpages.Page(n))
	}))
	b.Cleanup(server.Close)
	d := testdaemon.Start(b, testdaemon.Options{})
	return &shop{b, d, d.Dial(b), server.URL + "/"}
}

func (s *shop) call(method string, params map[string]any, result any) {
	s.b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := s.client.Call(ctx, method, params, result); err != nil {
		s.b.Fatalf("%s: %v", method, err)
	}
}

func (s *shop) open(elements int) {
	s.b.Helper()
	s.call("open", map[string]any{"url": s.url + strconv.Itoa(elements), "snapshot": "none"}, nil)
}

// ref finds a node of the open page by role and name.
func (s *shop) ref(role, name string) string {
	s.b.Helper()
	var r struct{ Snapshot snapshot.Snapshot }
	s.call("snapshot", map[string]any{"format": "json"}, &r)
	for _, n := range r.Snapshot.Nodes {
		if n.Role == role && n.Name == name {
			return n.Ref
		}
	}
	s.b.Fatalf("no %s %q in:\n%s", role, name, r.Snapshot.Text)
	return ""
}

// measure runs op b.N times and reports, beside the time, the processor time
// of the daemon and of its Chromium together. The clock of that has ticks of
// 10 ms: it means something from some dozens of runs on.
func (s *shop) measure(b *testing.B, op func()) {
	b.Helper()
	op() // the first one pays for what later ones find ready
	before := s.cpu()
	b.ResetTimer()
	for range b.N {
		op()
	}
	b.StopTimer()
	b.ReportMetric(float64((s.cpu()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

func (s *shop) daemonCPU() time.Duration { return testdaemon.Process{PID: s.daemon.PID}.CPU() }

func (s *shop) cpu() time.Duration {
	total := s.daemonCPU()
	for _, p := range testdaemon.Descendants(s.daemon.PID) {
		total += p.CPU()
	}
	return total
}

// each runs a benchmark on a page of every size.
func each(b *testing.B, run func(b *testing.B, s *shop)) {
	for _, n := range testpages.Sizes {
		b.Run(fmt.Sprintf("elements=%d", n), func(b *testing.B) {
			s := newShop(b)
			s.open(n)
			run(b, s)
		})
	}
}

// A snapshot with the default budgets.
func BenchmarkSnapshot(b *testing.B) {
	each(b, func(b *testing.B, s *shop) {
		s.measure(b, func() { s.call("snapshot", map[string]any{}, nil) })
	})
}

// A snapshot after each change of the page, which drops what Chromium keeps of the
// whole document. With it is the time of the eval that changes the page.
func BenchmarkSnapshotAfterAChange(b *testing.B) {
	each(b, func(b *testing.B, s *shop) {
		s.measure(b, func() {
			s.call("eval", map[string]any{"expression": "document.body.append(document.createElement('i')), 0"}, nil)
			s.call("snapshot", map[string]any{}, nil)
		})
	})
}

// A snapshot of everything, whatever it costs.
func BenchmarkSnapshotWhole(b *testing.B) {
	each(b, func(b *testing.B, s *shop) {
		whole := map[string]any{"interactive_only": false, "max_chars": 4_000_000, "max_nodes": 100_000, "max_depth": 60}
		s.measure(b, func() { s.call("snapshot", whole, nil) })
	})
}

// A click that changes one line of text, and no snapshot after it.
func BenchmarkClick(b *testing.B) {
	each(b, func(b *testing.B, s *shop) {
		click := map[string]any{"ref": s.ref("button", "Count"), "snapshot": "none"}
		s.measure(b, func() { s.call("click", click, nil) })
	})
}

// The same click with the delta that says what it changed.
func BenchmarkClickDelta(b *testing.B) {
	each(b, func(b *testing.B, s *shop) {
		click := map[string]any{"ref": s.ref("button", "Count")}
		s.measure(b, func() { s.call("click", click, nil) })
	})
}

// Twenty characters into an empty field.
func BenchmarkType(b *testing.B) {
	each(b, func(b *testing.B, s *shop) {
		typing := map[string]any{"ref": s.ref("textbox", "Search"), "text": "twenty characters ok", "clear": true, "snapshot": "none"}
		s.measure(b, func() { s.call("type", typing, nil) })
	})
}

// A page opened anew, from loopback, with its snapshot.
func BenchmarkOpen(b *testing.B) {
	for _, n := range testpages.Sizes {
		b.Run(fmt.Sprintf("elements=%d", n), func(b *testing.B) {
			s := newShop(b)
			s.measure(b, func() { s.call("open", map[string]any{"url": s.url + strconv.Itoa(n)}, nil) })
		})
	}
}

// The cheapest command: what the transport itself costs.
func BenchmarkPing(b *testing.B) {
	s := newShop(b)
	s.measure(b, func() { s.call("ping", map[string]any{}, nil) })
}
