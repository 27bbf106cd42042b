package server

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// Requests that are refused, a million of them, make a few lines in the log.
func TestRefusalsDoNotFillTheLog(t *testing.T) {
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	var r refusals
	now := time.Unix(1000, 0)
	for i := range 1_000_000 {
		r.log(context.Background(), log, now.Add(time.Duration(i)*100*time.Microsecond), slog.LevelWarn, "remote", "10.0.0.1:1", "reason", "host")
	}
	lines := strings.Count(said.String(), "\n")
	if want := 2*(maxRefusals+1) + 1; lines != want { // 100 s: two minutes begin
		t.Errorf("%d lines, want %d", lines, want)
	}
	if !strings.Contains(said.String(), "omitted=599940") {
		t.Errorf("what was left out is not counted:\n%s", said.String())
	}
}
