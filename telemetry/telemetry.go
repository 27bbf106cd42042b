// Package telemetry says, by OpenTelemetry's spans, what a command did and how long each part of
// it took: from the transport through its session's queue, over to another daemon of a fleet, to
// the calls of the DevTools protocol. It owns the spans' names and attributes. These are commands
// of the repertoire, error codes, methods of the DevTools protocol, and the names of agents,
// sessions and nodes; a span never holds a parameter, a URL, a secret or text of a page.
//
// Without a Tracer nothing is made: a nil *Tracer and a nil *Span are ready for use and do
// nothing. All types are safe for concurrent use. The package starts no goroutine and sends
// nothing: package telemetry/otlp does.
package telemetry

import (
	"context"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Config says where spans are sent.
type Config struct {
	Endpoint string  `koanf:"otlp_endpoint" default:"" doc:"where traces are sent by OTLP over HTTP, such as http://collector.example:4318/v1/traces; empty: no traces are made"`
	Headers  string  `koanf:"otlp_headers" secret:"true" doc:"headers for the collector, as name=value separated by commas, such as authorization=Bearer…"`
	Sample   float64 `koanf:"sample" default:"1" doc:"which share of the commands is traced, from 0 to 1, where the client's traceparent does not say"`
}

// Check returns an error that names the first invalid value.
func (c Config) Check() error {
	if u, err := url.Parse(c.Endpoint); c.Endpoint != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil) {
		return fmt.Errorf("telemetry.otlp_endpoint: accepts http://HOST:PORT/PATH or https://…, without a password: that belongs into telemetry.otlp_headers")
	}
	if !(c.Sample >= 0 && c.Sample <= 1) {
		return fmt.Errorf("telemetry.sample: %v: accepts a number from 0 to 1", c.Sample)
	}
	return nil
}

// Tracer makes spans.
type Tracer struct{ makes trace.Tracer }

// NewTracer returns a Tracer that makes spans by p.
func NewTracer(p trace.TracerProvider) *Tracer {
	return &Tracer{p.Tracer("github.com/browserd/browserd")}
}

// Header is the name of the HTTP header, and of the field of a message, in which a client says
// which of its spans a command belongs to (Trace Context, section 3.2).
const Header = "traceparent"

// maxParent is more than a traceparent has.
const maxParent = 256

// Span is a command, or a part of one.
type Span struct {
	tracer *Tracer
	span   trace.Span
	calls  *calls // of the command
}

// calls are what a command's CDP calls have in common.
type calls struct {
	spans atomic.Int64 // that were made for them, or would have been
}

// maxCalls is for how many CDP calls of a command spans are made. The others are counted.
const maxCalls = 64

// Command begins the span of a command that arrived just now. parent is the traceparent that came
// with it; one that is none is ignored. name is that of a command of the repertoire.
func (t *Tracer) Command(parent, name, agent, request string) *Span {
	if t == nil {
		return nil
	}
	ctx := WithParent(context.Background(), parent)
	_, span := t.makes.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("browserd.command", name), attribute.String("browserd.agent", agent), attribute.String("browserd.request", request)))
	return &Span{t, span, &calls{}}
}

// carried is how a context has a Span.
type carried struct {
	trace.Span
	span *Span
}

// In returns ctx in which what is done is a part of s.
func (s *Span) In(ctx context.Context) context.Context {
	if s == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, carried{s.span, s})
}

func of(ctx context.Context) *Span {
	c, _ := trace.SpanFromContext(ctx).(carried)
	return c.span
}

// Part begins a part of what ctx belongs to.
func Part(ctx context.Context, name string) (context.Context, *Span) {
	s := of(ctx).part(name, trace.SpanKindInternal)
	return s.In(ctx), s
}

func (s *Span) part(name string, kind trace.SpanKind, attrs ...attribute.KeyValue) *Span {
	if s == nil || !s.span.IsRecording() {
		return s
	}
	_, span := s.tracer.makes.Start(trace.ContextWithSpan(context.Background(), s.span), name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
	return &Span{s.tracer, span, s.calls}
}

// Forward begins the part of s that another node of the fleet does.
func (s *Span) Forward(node int) *Span {
	if s == nil {
		return nil
	}
	return s.part("forward", trace.SpanKindClient, attribute.Int("browserd.node", node))
}

// Parent returns the traceparent by which another process continues s; empty: there is none.
func (s *Span) Parent() string {
	if s == nil {
		return ""
	}
	return ParentOf(trace.ContextWithSpan(context.Background(), s.span))
}

// TraceID returns the id of the trace that ctx belongs to; empty: to none.
func TraceID(ctx context.Context) string {
	s := of(ctx)
	if s == nil || !s.span.SpanContext().HasTraceID() {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// End ends a part. code is the code of the error with which it ended; empty: it did not fail.
func (s *Span) End(code string) {
	if s == nil {
		return
	}
	if code != "" {
		s.span.SetAttributes(attribute.String("error.type", code))
		s.span.SetStatus(codes.Error, code)
	}
	s.span.End()
}

// EndCommand ends the span of a command. source is what served the page; session and source may
// be empty.
func (s *Span) EndCommand(session, source, code string) {
	if s == nil {
		return
	}
	for key, value := range map[string]string{"browserd.session": session, "browserd.source": source} {
		if value != "" {
			s.span.SetAttributes(attribute.String(key, value))
		}
	}
	if n := s.calls.spans.Load(); n > 0 {
		s.span.SetAttributes(attribute.Int64("browserd.cdp_calls", n))
	}
	s.End(code)
}

// Called says that a CDP call which was sent at a time has ended now. A command has spans for its
// first maxCalls calls.
func Called(ctx context.Context, method string, sent time.Time, failed bool) {
	s := of(ctx)
	if s == nil || !s.span.IsRecording() || s.calls.spans.Add(1) > maxCalls {
		return
	}
	_, span := s.tracer.makes.Start(trace.ContextWithSpan(context.Background(), s.span), method, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(sent))
	if failed {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// WithParent returns ctx with the traceparent of a request whose command is not known yet.
func WithParent(ctx context.Context, parent string) context.Context {
	if parent == "" || len(parent) > maxParent {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{Header: parent})
}

// ParentOf returns what WithParent put into ctx.
func ParentOf(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[Header]
}
