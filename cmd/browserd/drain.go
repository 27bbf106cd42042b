package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/config"
)

// drained is what a daemon answers to a drain.
type drained struct {
	Moved int `json:"moved"`
	Stay  int `json:"stay"`
}

func drainCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Hand the daemon's sessions over to the other nodes of its fleet",
		Long: `Hands the sessions of the daemon at server.listen over to the other nodes of its fleet,
each between two commands, and waits for that. From then on the daemon opens no
session, and /readyz is 503; it goes on answering until it is stopped. A daemon
that gets SIGTERM drains by itself. While PostgreSQL does not answer, a drain is
given up when the daemon's lease is over, 10 s at most: drain again when it answers.`,
		Example: "  browserd drain\n  browserd drain --within 2m",
		Args:    cobra.NoArgs,
	}
	within := cmd.Flags().Duration("within", 30*time.Second, "how long running commands may take until their sessions are handed over")
	runConfigured(cmd, args, func(cmd *cobra.Command, _ []string, c *config.Loaded) error {
		at, err := running(cmd.Context(), c)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), *within+findWithin)
		defer cancel()
		d, err := controlled{at}.drain(ctx, *within)
		if err != nil {
			return fmt.Errorf("draining: %w", err)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "handed over: %d\n", d.Moved)
		if d.Stay > 0 {
			return fmt.Errorf("%d sessions stay, since their commands did not end in time: try again, or stop the daemon, which ends them", d.Stay)
		}
		return nil
	})
	return cmd
}

func (c controlled) drain(ctx context.Context, within time.Duration) (d drained, err error) {
	body, err := c.await(ctx, http.MethodPost, "drain?within="+within.String(), nil)
	if err == nil {
		err = json.Unmarshal(body, &d)
	}
	return d, err
}

// serveDrain drains the daemon.
func (c *controls) serveDrain(w http.ResponseWriter, r *http.Request) {
	within, err := time.ParseDuration(r.URL.Query().Get("within"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	moved, stay, err := c.drain(ctx)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(drained{moved, stay})
}
