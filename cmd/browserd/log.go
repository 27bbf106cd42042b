package main

import (
	"context"
	"io"
	"log"
	"log/slog"

	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/protocol"
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
	if cfg.Format == "json" {
		return slog.New(ofRequests{slog.NewJSONHandler(w, opts)})
	}
	return slog.New(ofRequests{slog.NewTextHandler(w, opts)})
}

// ofRequests is a handler that says of a line which command it belongs to, by
// request and session, where the line does not say so itself.
type ofRequests struct{ slog.Handler }

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
	return h.Handler.Handle(ctx, r)
}

// WithAttrs is slog.Handler's.
func (h ofRequests) WithAttrs(attrs []slog.Attr) slog.Handler {
	return ofRequests{h.Handler.WithAttrs(attrs)}
}

// WithGroup is slog.Handler's.
func (h ofRequests) WithGroup(name string) slog.Handler { return ofRequests{h.Handler.WithGroup(name)} }
