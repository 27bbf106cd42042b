package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/protocol/local"
)

// stopWithin is how long a daemon may take to end: its own limits are lower.
const stopWithin = time.Minute

const idleKey = "server.exit_when_idle"

func startCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start the daemon in the background",
		Long: `Starts the daemon in the background, until "browserd stop". It gets this shell's
environment and the flags that are given here ("browserd help configuration").

You need not start it: every command starts a daemon where none runs, which stops
after 15 idle minutes.`,
		Example: "  browserd start\n  browserd start --policy.allow_hosts localhost:8000",
		Args:    cobra.NoArgs,
	}
	runConfigured(cmd, args, func(cmd *cobra.Command, _ []string, c *config.Loaded) error {
		ctx, out := cmd.Context(), cmd.OutOrStdout()
		at, err := running(ctx, c)
		switch {
		case err == nil && at.socket == "":
			_, err = fmt.Fprintf(out, "a daemon runs at %s already\n", c.Server.Listen)
			return err
		case err == nil:
			if err := compare(ctx, c, at, cmd.ErrOrStderr()); err != nil {
				return err
			}
			return tell(ctx, at, "runs already", out)
		case !errors.Is(err, errNoDaemon):
			return err
		}
		return startAndTell(ctx, c, out)
	})
	return cmd
}

func stopCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Stop the daemon; its sessions end",
		Long: `Stops the daemon at server.listen and waits until it has ended, with its sessions and
its Chromium.`,
		Example: "  browserd stop",
		Args:    cobra.NoArgs,
	}
	runConfigured(cmd, args, func(cmd *cobra.Command, _ []string, c *config.Loaded) error {
		at, err := running(cmd.Context(), c)
		if err != nil {
			if errors.Is(err, errNoDaemon) {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), err)
			}
			return err
		}
		_, err = end(cmd.Context(), at, cmd.OutOrStdout())
		return err
	})
	return cmd
}

func restartCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restart",
		Short: "Stop the daemon and start it with this program and configuration",
		Long: `Stops the daemon that runs in the background and starts it again: with this program,
this shell's environment, the configuration's files as they are now, and the flags
that are given here. Its sessions end.`,
		Example: "  browserd restart\n  browserd restart --policy.allow_hosts localhost:8000",
		Args:    cobra.NoArgs,
	}
	runConfigured(cmd, args, func(cmd *cobra.Command, _ []string, c *config.Loaded) error {
		ctx, out := cmd.Context(), cmd.OutOrStdout()
		at, err := running(ctx, c)
		if errors.Is(err, errNoDaemon) {
			return startAndTell(ctx, c, out)
		}
		if err != nil {
			return err
		}
		was, err := controlled{at}.about(ctx)
		if err == nil && was.LogFile == "" {
			return refusal{fmt.Errorf("the daemon (%s) was not started in the background\n→ %s", was.who(), was.replaceIt())}
		}
		if was, err = end(ctx, at, out); err != nil {
			return err
		}
		var idle []string
		if i := slices.IndexFunc(was.Settings, func(v config.Value) bool { return v.Key == idleKey }); i >= 0 && strings.HasPrefix(was.Settings[i].From, "flag ") {
			idle = []string{"--" + idleKey, fmt.Sprint(was.Settings[i].Value)}
		}
		return startAndTell(ctx, c, out, idle...)
	})
	return cmd
}

// errNoDaemon is returned where none runs.
var errNoDaemon = errors.New("no daemon runs")

// running returns the daemon at server.listen; errNoDaemon says that there is none. Where
// nothing listens, no token is made to ask.
func running(ctx context.Context, c *config.Loaded) (endpoint, error) {
	if path := socketPath(c.Server.Listen); path != "" {
		if conn, err := dialSocket(ctx, path); err == nil {
			return bySocket(path), conn.Close()
		}
	}
	if conn, err := net.DialTimeout("tcp", dialable(c.Server.Listen), findWithin); err == nil {
		conn.Close()
	} else {
		return endpoint{}, fmt.Errorf("%w at %s", errNoDaemon, c.Server.Listen)
	}
	token, err := tokenOf(c.Config)
	if err != nil {
		return endpoint{}, err
	}
	at, err := find(ctx, c.Server, token)
	switch {
	case errors.Is(err, local.ErrNotProved) && !byDefault(c):
		return endpoint{}, notProved(err)
	case err != nil:
		return endpoint{}, fmt.Errorf("%w at %s", errNoDaemon, c.Server.Listen)
	}
	return at, nil
}

// end stops the daemon, waits for its end and says so. was is what it said of itself.
func end(ctx context.Context, at endpoint, out io.Writer) (was about, err error) {
	if was, err = (controlled{at}).about(ctx); err != nil {
		return was, fmt.Errorf("stopping the daemon: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	if err := (controlled{at}).stop(ctx); err != nil {
		return was, fmt.Errorf("stopping the daemon (%s): %w", was.who(), err)
	}
	_, err = fmt.Fprintf(out, "stopped (pid %d, was up %s)\n", was.PID, was.uptime())
	return was, err
}

func startAndTell(ctx context.Context, c *config.Loaded, out io.Writer, more ...string) error {
	token, err := tokenOf(c.Config)
	if err != nil {
		return err
	}
	at, err := startDaemon(ctx, c, token, more...)
	if err != nil {
		return coded{err, exitNoDaemon}
	}
	return tell(ctx, at, "runs", out)
}

// tell says which daemon runs.
func tell(ctx context.Context, at endpoint, how string, out io.Writer) error {
	d, err := controlled{at}.about(ctx)
	if err == nil {
		_, err = fmt.Fprintf(out, "browserd %s %s at %s (%s)\n", d.Version, how, d.Address, d.who())
	}
	if err == nil && d.LogFile != "" {
		_, err = fmt.Fprintf(out, "log: %s\n", d.LogFile)
	}
	return err
}
