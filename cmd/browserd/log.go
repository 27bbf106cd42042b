package main

import (
	"io"
	"log"
	"log/slog"

	"github.com/browserd/browserd/config"
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
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
