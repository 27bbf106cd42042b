package main

import (
	"context"
	"io"
	"log"
	"log/slog"
	"sync/atomic"

	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/secret"
	"github.com/browserd/browserd/telemetry"
)

// newLog returns the log that cfg asks for. Level and format were checked when
// the configuration was loaded.
//
// What net/http says by package log goes nowhere: it quotes what servers send.
func newLog(cfg config.Log, w io.Writer) *slog.Logger {
	log.SetOutput(io.Discard)
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Level)); err != nil {
		level = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: level}
	lines := &logLines{Writer: w}
	w = lines
	if cfg.Format == "json" {
		return slog.New(ofRequests{slog.NewJSONHandler(w, opts), lines})
	}
	return slog.New(ofRequests{slog.NewTextHandler(w, opts), lines})
}

// ofRequests is a handler that says of a line which command it belongs to, by
// request and session, where the line does not say so itself, and to which trace.
type ofRequests struct {
	slog.Handler
	lines *logLines
}

// logLines writes the log's lines, each with one call of Write, without the secrets that
// agents were given.
type logLines struct {
	io.Writer
	secrets atomic.Pointer[secret.Vault]
}

func (l *logLines) Write(line []byte) (int, error) {
	if _, err := l.Writer.Write(l.secrets.Load().RedactAll(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// redactLog keeps the secrets of v from a log that newLog made.
func redactLog(log *slog.Logger, v *secret.Vault) {
	if h, ok := log.Handler().(ofRequests); ok {
		h.lines.secrets.Store(v)
	}
}

// Handle is slog.Handler's.
func (h ofRequests) Handle(ctx context.Context, r slog.Record) error {
	id, session := protocol.RequestOf(ctx)
	said := map[string]bool{}
	r.Attrs(func(a slog.Attr) bool { said[a.Key] = true; return true })
	if id != "" && !said["request"] {
		r.AddAttrs(slog.String("request", id))
	}
	if session != "" && !said["session"] {
		r.AddAttrs(slog.String("session", session))
	}
	if trace := telemetry.TraceID(ctx); trace != "" {
		r.AddAttrs(slog.String("trace", trace))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs is slog.Handler's.
func (h ofRequests) WithAttrs(attrs []slog.Attr) slog.Handler {
	return ofRequests{h.Handler.WithAttrs(attrs), h.lines}
}

// WithGroup is slog.Handler's.
func (h ofRequests) WithGroup(name string) slog.Handler {
	return ofRequests{h.Handler.WithGroup(name), h.lines}
}
