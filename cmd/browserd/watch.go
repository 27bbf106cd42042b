package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	socket "github.com/browserd/browserd/internal/client"
	"github.com/browserd/browserd/protocol"
)

func watchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "watch [SESSION]",
		Short:   "Show what happens in your sessions, or in one, until interrupted",
		GroupID: groupCommands,
		Args:    cobra.MaximumNArgs(1),
	}
	load := configured(cmd)
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object per event")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		cl, err := reach(ctx, c)
		if err != nil {
			return explain(err)
		}
		events, err := socket.Dial(ctx, strings.Replace(cl.base, "http", "ws", 1)+"/v1/ws", cl.token)
		if err != nil {
			return explain(err)
		}
		defer events.Close()
		for {
			e, err := events.Event(ctx, func(e protocol.Event) bool { return len(args) == 0 || e.Session == args[0] })
			if ctx.Err() != nil {
				return nil // interrupted
			}
			if err != nil {
				return explain(err)
			}
			if *asJSON {
				b, err := json.Marshal(e)
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), string(b))
				continue
			}
			fmt.Fprintln(cmd.OutOrStdout(), eventLine(e))
		}
	}
	return cmd
}

// eventLine is an event for a person: when, where, what, and its facts.
func eventLine(e protocol.Event) string {
	words := []string{time.Now().Format(time.TimeOnly), e.Session, e.Type}
	for _, key := range slices.Sorted(maps.Keys(e.Fields)) {
		if b, err := json.Marshal(e.Fields[key]); err == nil {
			words = append(words, key+"="+string(b))
		}
	}
	return harmless(strings.Join(words, " "))
}
