package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/session/handoff"
)

// waitFlag declares --wait of handoff; for other rows it returns a false.
func waitFlag(flags *pflag.FlagSet, row *command.Command) *bool {
	if row != actions.Handoff {
		return new(bool)
	}
	return flags.Bool("wait", false, "print the link, and end when the person is done")
}

// untilHandedBack prints the link of a hand-off that has begun, and asks until it is over.
// It returns the last answer.
func untilHandedBack(ctx context.Context, result json.RawMessage, stderr io.Writer, run func(ctx context.Context, params map[string]any) (json.RawMessage, error)) (json.RawMessage, error) {
	for told := ""; ; {
		var r actions.HandoffResult
		if err := json.Unmarshal(result, &r); err != nil || r.State != handoff.Waiting {
			return result, err
		}
		if r.URL != "" && r.URL != told {
			fmt.Fprintln(stderr, r.URL)
			told = r.URL
		}
		var err error
		if result, err = run(ctx, map[string]any{"session": r.Session, "wait_ms": 110_000, "timeout_ms": 115_000}); err != nil {
			return nil, err
		}
	}
}
