package telemetry

import (
	"context"
	"strings"
	"testing"
	"time"
)

// off does what a command with one CDP call does, where no traces are made.
func off(ctx context.Context, sent time.Time) {
	var t *Tracer
	s := t.Command("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "click", "agent", "request")
	ctx = s.In(ctx)
	_, part := Part(ctx, "queue")
	part.End("")
	Called(ctx, "Page.navigate", sent, false)
	if TraceID(ctx) != "" || s.Forward(2).Parent() != "" {
		panic("a trace without a tracer")
	}
	s.EndCommand("session", "chromium", "timeout")
}

// Without a Tracer nothing is made, and nothing is allocated.
func TestOff(t *testing.T) {
	ctx, sent := context.WithValue(t.Context(), t, 1), time.Now()
	if n := testing.AllocsPerRun(100, func() { off(ctx, sent) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOff(b *testing.B) {
	ctx, sent := b.Context(), time.Now()
	for b.Loop() {
		off(ctx, sent)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		c    Config
		says string
	}{
		{Config{}, ""},
		{Config{Endpoint: "http://collector.example:4318/v1/traces", Sample: 0.1}, ""},
		{Config{Endpoint: "https://collector.example/v1/traces", Sample: 1}, ""},
		{Config{Endpoint: "collector.example:4318"}, "telemetry.otlp_endpoint: accepts http://"},
		{Config{Endpoint: "grpc://collector.example:4317"}, "telemetry.otlp_endpoint"},
		{Config{Endpoint: "http://user:pass@collector.example/"}, "without a password"},
		{Config{Sample: 1.1}, "telemetry.sample: 1.1: accepts a number from 0 to 1"},
		{Config{Sample: -1}, "telemetry.sample"},
	} {
		err := c.c.Check()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.c, err, c.says)
		}
	}
}

// A parent is passed on as it came, and what is none is not.
func TestParents(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range []struct{ parent, want string }{
		{parent, parent}, {"", ""}, {"00-canary", ""}, {strings.Repeat("0", 300), ""}, {"00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", ""},
	} {
		if got := ParentOf(WithParent(t.Context(), c.parent)); got != c.want {
			t.Errorf("%.60q: %q, want %q", c.parent, got, c.want)
		}
	}
}
