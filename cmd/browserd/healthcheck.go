package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/server"
)

func healthcheckCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Check that the daemon at server.listen is alive (for containers)",
		Long: `Asks the daemon at server.listen whether it is alive. The exit code is 1 if it
does not answer.`,
		Example: "  browserd healthcheck",
		Args:    cobra.NoArgs,
	}
	runConfigured(cmd, args, func(cmd *cobra.Command, _ []string, c *config.Loaded) error {
		if err := healthy(cmd.Context(), c.Server); err != nil {
			return fmt.Errorf("no browserd answers at %s: %w", c.Server.Listen, err)
		}
		return nil
	})
	return cmd
}

// healthy asks the daemon that cfg describes for /healthz, for at most three
// seconds. An address that stands for all is asked on loopback.
func healthy(ctx context.Context, cfg server.Config) error {
	base, secured, err := addressOf(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := endpoint{secured: secured}.http().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !bytes.Equal(body, []byte("ok\n")) {
		return fmt.Errorf("something else answers there (HTTP %d)", resp.StatusCode)
	}
	return nil
}
