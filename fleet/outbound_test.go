package fleet

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
)

// logBuffer is a log that several goroutines may write.
type logBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

// with returns the lines that have all these words.
func (l *logBuffer) with(words ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
next:
	for line := range strings.Lines(l.all.String()) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}

// A node whose port takes connections and says nothing: who wants to reach it waits no longer
// than it wants to, one connection is tried at a time, what it came to holds until the next
// heartbeat, and the log says once what to do.
func TestANodeIsNotReached(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var tried atomic.Int32
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			tried.Add(1)
			serving.Go(func() {
				for b := make([]byte, 1024); err == nil; {
					_, err = conn.Read(b)
				}
				conn.Close()
			})
		}
	})
	log := &logBuffer{}
	a, err := Join(t.Context(), Config{DSN: dsn, Name: "a", Listen: "127.0.0.1:0"}, testOptions(), slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Join(t.Context(), Config{DSN: dsn, Name: "c", Listen: "127.0.0.1:0", Advertise: silent.Addr().String()}, testOptions(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		began := time.Now()
		a.Close(context.Background())
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the node ended after %v", took)
		}
		c.Close(context.Background())
		silent.Close()
		serving.Wait()
	})
	for range 20 {
		if err := a.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reach := func(within time.Duration) (took time.Duration) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		began := time.Now()
		if a.EnsureConnected(ctx, c.ID()) == nil {
			t.Error("the node is reached")
		}
		return time.Since(began)
	}
	if took := reach(100 * time.Millisecond); took > time.Second {
		t.Errorf("who wanted to wait 100 ms waited %v", took)
	}
	if n := tried.Load(); n > 1 {
		t.Errorf("%d connections were tried at once", n)
	}
	await(t, "a try that failed is remembered", func() bool { return reach(time.Second) < 200*time.Millisecond })
	await(t, "it is tried again", func() bool { return tried.Load() > 2 })
	warned := log.with("level=WARN", "node 2 is not reached at "+silent.Addr().String()+": open that port, or correct fleet.advertise there")
	if len(warned) != 1 {
		t.Errorf("the log says %d times that the node is not reached: %v", len(warned), log.with(""))
	}
}
