package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/server"
)

func serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon until SIGTERM or SIGINT",
		Long: `Run the daemon until SIGTERM or SIGINT, then end the sessions and Chromium and exit with 0.

Every key of the configuration is a flag; docs/configuration.md explains them,
and "browserd config" shows what is in force. The log goes to standard error.`,
		Args: cobra.NoArgs,
	}
	load := configured(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		log := newLog(c.Log, cmd.ErrOrStderr())
		if len(c.Ignored) > 0 {
			log.Debug("environment variables that are no keys", "names", c.Ignored)
		}
		if err := prepare(&c.Config, log); err != nil {
			return refusal{err}
		}
		l, err := net.Listen("tcp", c.Server.Listen)
		if err != nil {
			return refusal{fmt.Errorf("server.listen: %q: %w: stop what listens there, or choose another address", c.Server.Listen, cause(err))}
		}
		return run(cmd.Context(), c.Config, l, log)
	}
	return cmd
}

// prepare completes cfg with what the state directory holds: a token where none
// is configured, and the place for the browsers' marks. Without a state
// directory a daemon with a configured token still runs.
func prepare(cfg *config.Config, log *slog.Logger) error {
	dir, err := config.StateDir()
	switch {
	case err == nil:
		cfg.Browser.StateDir = dir
	case len(cfg.Auth.Tokens) == 0:
		return fmt.Errorf("there is nowhere to keep a token: %w, or set %s", err, config.TokenEnv)
	default:
		log.Warn("no state directory: Chromium that a killed daemon leaves behind will not be reaped", "cause", err)
	}
	if len(cfg.Auth.Tokens) > 0 {
		return nil
	}
	token, err := config.Token(dir)
	if err != nil {
		return err
	}
	cfg.Auth.Tokens = []server.Token{{Agent: config.DefaultAgent, Token: token, Role: server.RoleAgent}}
	log.Info("no token is configured: clients use the one in the state directory", "file", config.TokenFile(dir))
	return nil
}

// run is the daemon: it serves on l, which it closes, until ctx ends, and then
// ends everything that it started. It returns nil where it was told to stop.
func run(ctx context.Context, cfg config.Config, l net.Listener, log *slog.Logger) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, "ok\n")
	})
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}

	failed := make(chan error, 1) // one send, never waited for
	go func() { failed <- s.Serve(l) }()
	log.Info("listening on http://" + l.Addr().String())

	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	log.Info("stopping")
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Server.ShutdownTimeout)
	defer cancel()
	if err := s.Shutdown(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stopping: %w", err)
	}
	s.Close()
	<-failed
	log.Info("stopped")
	return nil
}

// cause strips what the sentence around it says already.
func cause(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Err
	}
	return err
}
