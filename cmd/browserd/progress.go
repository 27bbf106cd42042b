package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/browserd/browserd/actions/command"
)

// patience is after how long a command that still runs says so.
const patience = time.Second

// clearLine goes to the line's beginning and erases it (ECMA-48, EL).
const clearLine = "\r\x1b[K"

// progress says on w, where that is a terminal, that the command still runs, and with
// what: a line that counts the seconds, has what more says, and is gone when stop returns.
func progress(w io.Writer, row *command.Command, params map[string]any, more func(context.Context) string) (stop func()) {
	if !isTerminal(w) {
		return func() {}
	}
	limit := command.DefaultTimeout
	if ms, err := json.Number(fmt.Sprint(params["timeout_ms"])).Int64(); err == nil {
		limit = time.Duration(ms) * time.Millisecond
	}
	doing := row.Name
	if of, ok := params[row.Main].(string); ok {
		doing += " " + compact(clipped(of, 60))
	}
	began := time.Now()
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(patience)
		defer tick.Stop()
		said := false
		for {
			select {
			case <-tick.C:
				far := more(ctx)
				fmt.Fprintf(w, "%s%s: %.0f s%s, at most %.0f s (Ctrl-C ends it)", clearLine, doing, time.Since(began).Seconds(), far, limit.Seconds())
				said = true
			case <-ctx.Done():
				if said {
					io.WriteString(w, clearLine)
				}
				return
			}
		}
	}()
	return func() { end(); <-done }
}

// isTerminal reports whether f is a terminal at which a person sits.
func isTerminal(of any) bool {
	f, ok := of.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	about, err := f.Stat()
	return err == nil && about.Mode()&os.ModeCharDevice != 0
}

// clipped returns a text of at most so many runes.
func clipped(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
