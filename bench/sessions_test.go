package bench

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/snapshot"
)

// smallPage is how many elements the page of the sessions' cycles has.
const smallPage = 30

// visitor is a client with a session of its own.
type visitor struct {
	b       testing.TB
	client  *client.Client
	session string
}

// enter opens a session that answers: the first command that needs its page
// comes back.
func (s *shop) enter(c *client.Client) *visitor {
	s.b.Helper()
	var opened struct{ Session string }
	v := &visitor{b: s.b, client: c}
	v.call("session_open", map[string]any{}, &opened)
	v.session = opened.Session
	v.call("eval", map[string]any{"expression": "1"}, nil)
	return v
}

func (v *visitor) call(method string, params map[string]any, result any) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if v.session != "" {
		params["session"] = v.session
	}
	if err := v.client.Call(ctx, method, params, result); err != nil {
		v.b.Errorf("%s: %v", method, err)
	}
}

func (v *visitor) leave() { v.call("session_close", map[string]any{}, nil) }

// cycle is what an agent does to a page: open it, look at it, click, and read
// what the click has changed.
func (v *visitor) cycle(url string) {
	var seen struct{ Snapshot snapshot.Snapshot }
	v.call("open", map[string]any{"url": url, "snapshot": "none"}, nil)
	v.call("snapshot", map[string]any{"format": "json"}, &seen)
	for _, n := range seen.Snapshot.Nodes {
		if n.Role == "button" && n.Name == "Count" {
			v.call("click", map[string]any{"ref": n.Ref}, nil)
			return
		}
	}
	v.b.Error("the page has no button Count")
}

// benchSessions runs cycles in n sessions at once, each with a connection of
// its own, until b.N are done.
func benchSessions(b *testing.B, n int) {
	s := newShop(b)
	url := s.url + strconv.Itoa(smallPage)
	visitors := make([]*visitor, n)
	for i := range visitors {
		visitors[i] = s.enter(s.daemon.Dial(b))
		visitors[i].cycle(url)
	}
	before, own := s.cpu(), s.daemonCPU()
	var done atomic.Int64
	var work sync.WaitGroup
	b.ResetTimer()
	for _, v := range visitors {
		work.Go(func() {
			for done.Add(1) <= int64(b.N) && !b.Failed() {
				v.cycle(url)
			}
		})
	}
	work.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cycles/s")
	b.ReportMetric(float64((s.cpu()-before).Microseconds())/1000/float64(b.N), "cpu-ms/cycle")
	b.ReportMetric(float64((s.daemonCPU()-own).Microseconds())/1000/float64(b.N), "daemon-ms/cycle")
}

func BenchmarkSessions1(b *testing.B)  { benchSessions(b, 1) }
func BenchmarkSessions8(b *testing.B)  { benchSessions(b, 8) }
func BenchmarkSessions32(b *testing.B) { benchSessions(b, 32) }

// A session opened until its page answers, in a daemon that has opened one
// before: after a moment of rest, and one right after the other.
func BenchmarkSessionOpen(b *testing.B) {
	for _, c := range []struct {
		name string
		rest time.Duration
	}{{"rested", 500 * time.Millisecond}, {"back-to-back", 0}} {
		b.Run(c.name, func(b *testing.B) {
			s := newShop(b)
			first := s.enter(s.client)
			defer first.leave()
			before := s.cpu()
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				time.Sleep(c.rest)
				b.StartTimer()
				v := s.enter(s.client)
				b.StopTimer()
				v.leave()
				b.StartTimer()
			}
			b.StopTimer()
			b.ReportMetric(float64((s.cpu()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// The first command of a daemon that has just been started: from the start of
// its process to the answer, Chromium's start in it where the command needs it.
func BenchmarkFirstAnswer(b *testing.B) {
	for _, c := range []struct {
		method string
		params map[string]any
	}{{"ping", map[string]any{}}, {"open", map[string]any{"url": "about:blank"}}} {
		b.Run(c.method, func(b *testing.B) {
			if _, err := testdaemon.Binary(); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for range b.N {
				d := testdaemon.Start(b, testdaemon.Options{})
				v := &visitor{b: b, client: d.Dial(b)}
				v.call(c.method, c.params, nil)
				b.StopTimer()
				d.Stop()
				b.StartTimer()
			}
		})
	}
}
