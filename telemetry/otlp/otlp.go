// Package otlp sends the spans of package telemetry to a collector by OTLP over HTTP, in
// protobuf. It owns the connection to the collector and the queue before it: spans wait there for
// at most 30 seconds, and when 2,048 wait, further ones are dropped, so that a collector that
// does not answer costs no command anything. It never logs a span.
package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	collected "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/browserd/browserd/telemetry"
)

// Limits of one request to the collector. It is sent again, later each time, while the collector
// says that it may be (OTLP 1.5, "OTLP/HTTP Response").
const (
	requestWithin = 10 * time.Second
	sendWithin    = 30 * time.Second // with all its repetitions
	firstRetry    = 500 * time.Millisecond
)

// Start returns a Tracer whose spans are sent to the collector of cfg, nil where cfg names none.
// stop sends what still waits, as far as its context allows. node and version name this daemon.
func Start(cfg telemetry.Config, node, version string, log *slog.Logger) (t *telemetry.Tracer, stop func(context.Context) error, err error) {
	if cfg.Endpoint == "" {
		return nil, func(context.Context) error { return nil }, nil
	}
	c := &client{url: cfg.Endpoint, header: http.Header{}, http: &http.Client{Timeout: requestWithin, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the headers are for the collector alone
	}}}
	for _, h := range strings.Split(cfg.Headers, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(h), "=")
		if ok {
			c.header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
		} else if h != "" {
			return nil, nil, fmt.Errorf("telemetry.otlp_headers: accepts name=value, separated by commas")
		}
	}
	otel.SetErrorHandler(&complaints{log: log})
	exporter, err := otlptrace.New(context.Background(), c)
	if err != nil {
		return nil, nil, err
	}
	about := resource.NewSchemaless(attribute.String("service.name", "browserd"), attribute.String("service.version", version), attribute.String("service.instance.id", node))
	p := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about), sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(cfg.Sample))))
	return telemetry.NewTracer(p), p.Shutdown, nil
}

// client is an otlptrace.Client. That of otlptracehttp brings gRPC with it, 7 MB.
type client struct {
	url    string
	header http.Header
	http   *http.Client
}

func (c *client) Start(context.Context) error { return nil }

func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans. A TracesData is, byte by byte, the ExportTraceServiceRequest that a
// collector expects: both have one field, of this number and type.
func (c *client) UploadTraces(ctx context.Context, spans []*collected.ResourceSpans) error {
	b, err := proto.Marshal(&collected.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	if _, err = z.Write(b); err == nil {
		err = z.Close()
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	for wait := firstRetry; ; wait *= 2 {
		again, err := c.post(ctx, body.Bytes())
		if err == nil || !again {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// post sends one request. again: the collector may take it later.
func (c *client) post(ctx context.Context, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header = c.header.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("User-Agent", "browserd")
	resp, err := c.http.Do(req)
	if err != nil {
		return true, err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("the collector answers %s", resp.Status)
}

// complaints logs what goes wrong with the spans, at most once a minute.
type complaints struct {
	log  *slog.Logger
	mu   sync.Mutex
	last time.Time
}

// Handle is otel.ErrorHandler's.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.last) >= time.Minute {
		c.last = now
		c.log.Warn("traces cannot be sent to telemetry.otlp_endpoint: start the collector, or correct the address", "error", err)
	}
}
