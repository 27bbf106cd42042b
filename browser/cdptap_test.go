package browser

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// tap writes down what goes to Chromium. While it does, answers come late, so
// that what does not wait for one another is seen to be written together.
type tap struct {
	cdp.Transport

	mu       sync.Mutex
	on       bool
	answered bool
	trips    [][]cdp.Message
}

func (p *tap) Read(ctx context.Context, m *cdp.Message) error {
	err := p.Transport.Read(ctx, m)
	p.mu.Lock()
	on := p.on
	p.mu.Unlock()
	if on {
		time.Sleep(far / 10)
		p.mu.Lock()
		p.answered = p.answered || m.ID != 0
		p.mu.Unlock()
	}
	return err
}

func (p *tap) Write(ctx context.Context, m *cdp.Message) error {
	p.mu.Lock()
	if p.on {
		if p.answered || len(p.trips) == 0 {
			p.trips, p.answered = append(p.trips, nil), false
		}
		p.trips[len(p.trips)-1] = append(p.trips[len(p.trips)-1], *m)
	}
	p.mu.Unlock()
	return p.Transport.Write(ctx, m)
}

// taken is what do writes, by round trips.
func (p *tap) taken(do func()) [][]cdp.Message {
	p.mu.Lock()
	p.on, p.trips, p.answered = true, nil, false
	p.mu.Unlock()
	do()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on = false
	return p.trips
}

// has reports whether a message of that method has been written since taken began.
func (p *tap) has(method string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.trips, func(trip []cdp.Message) bool {
		return slices.ContainsFunc(trip, func(m cdp.Message) bool { return string(m.Method) == method })
	})
}

// What a command takes beside the bare CDP calls that it is made of, one after
// the other in one page: the same calls, written together where the command
// writes them together, and their answers thrown away. Medians, in
// microseconds; the transport's own share is BenchmarkPing's.
func BenchmarkOverhead(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, `<!doctype html><title>Counter</title><h1>Counter</h1><button onclick="n.textContent++">Count</button><p id=n>0</p><input aria-label=Name>`)
	}))
	b.Cleanup(srv.Close)
	cfg := defaults()
	cfg.StateDir = b.TempDir()
	cfg.AnswerTimeout = 0 // its calls would be counted
	var t *tap
	cfg.WrapTransport = func(transport cdp.Transport) cdp.Transport {
		t = &tap{Transport: transport}
		return t
	}
	log := slog.New(slog.DiscardHandler)
	supervisor := chromium.Start(b.Context(), cfg, log)
	b.Cleanup(func() { supervisor.Close(context.Background()) })
	ctx := b.Context()
	if err := supervisor.Warm(ctx); err != nil {
		b.Fatal(err)
	}
	conn, _, err := supervisor.Conn(ctx)
	if err != nil {
		b.Fatal(err)
	}
	c, err := New(supervisor, log).NewContext(ctx, ContextOptions{}, quietly)
	if err == nil {
		_, err = c.Open(ctx, srv.URL, protocol.WaitAuto)
	}
	if err != nil {
		b.Fatal(err)
	}
	refs := snapshot.NewRefs()
	look := func() error {
		_, err := c.Capture(ctx, snapshot.DefaultOptions(), refs)
		return err
	}
	got, err := c.Capture(ctx, snapshot.DefaultOptions(), refs)
	if err != nil {
		b.Fatal(err)
	}
	refOf := map[string]string{}
	for _, n := range got.Nodes {
		refOf[n.Role] = snapshot.RefOf(refs.Number(n))
	}
	for _, command := range []struct {
		name string
		do   func() error
	}{
		{"snapshot", look},
		{"click", func() error {
			_, err := c.Act(ctx, refs, protocol.Act{Action: protocol.Click{Ref: refOf["button"]}, Unshown: true})
			return err
		}},
		{"type", func() error {
			_, err := c.Act(ctx, refs, protocol.Act{Action: protocol.Type{Ref: refOf["textbox"], Text: "twenty characters ok", Clear: true}, Unshown: true})
			return err
		}},
		{"eval", func() error {
			_, err := c.Eval(ctx, refs, "", "1+1")
			return err
		}},
	} {
		b.Run(command.name, func(b *testing.B) {
			run := func() time.Duration {
				begin := time.Now()
				if err := command.do(); err != nil {
					b.Fatal(err)
				}
				return time.Since(begin)
			}
			run()
			trips := t.taken(func() { run() })
			bare := func() time.Duration {
				begin := time.Now()
				for _, trip := range trips {
					pending := make([]*cdp.Pending, len(trip))
					for i, m := range trip {
						pending[i] = conn.Session(m.SessionID).Send(string(m.Method), jsonv2.Value(m.Params))
					}
					for _, p := range pending {
						if err := p.Wait(ctx, nil); err != nil {
							b.Fatal(err)
						}
					}
				}
				return time.Since(begin)
			}
			var whole, calls []time.Duration
			b.ResetTimer()
			for range b.N {
				whole, calls = append(whole, run()), append(calls, bare())
			}
			median := func(list []time.Duration) float64 {
				slices.Sort(list)
				return float64(list[len(list)/2].Nanoseconds()) / 1000
			}
			w, n := median(whole), median(calls)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(w, "command-µs")
			b.ReportMetric(n, "bare-µs")
			b.ReportMetric(w-n, "overhead-µs")
			b.ReportMetric(float64(len(trips)), "round-trips")
		})
	}
}

func quietly(string, map[string]any) {}
