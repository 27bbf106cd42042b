package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/internal/demoapp"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/server"
)

func demoCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Print a transcript of an agent using a small app; needs no network and no setup",
		Long: `Starts a small web app and a daemon on this machine, drives the app as an agent
would, and prints the transcript. It needs no network and no setup.

With --serve it goes on serving the app afterwards, for you to try. With --app it
serves the app alone, at an address of your choice.`,
		Example: "  browserd demo\n  browserd demo --serve\n  browserd demo --app 127.0.0.1:8080",
		Args:    cobra.NoArgs,
	}
	load := configured(cmd, args)
	app := cmd.Flags().String("app", "", "serve only the app at this address, until interrupted")
	serve := cmd.Flags().Bool("serve", false, "serve the app afterwards, until interrupted")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *app != "" {
			return serveApp(cmd.Context(), *app, cmd.OutOrStdout())
		}
		c, err := load()
		if err != nil {
			return err
		}
		// Between the lines of a transcript only trouble is worth a log line.
		for _, v := range c.Values {
			if v.Key == "log.level" && v.From == "default" {
				c.Log.Level = "warn"
			}
		}
		if dir, err := config.StateDir(); err == nil {
			c.Browser.StateDir = dir // without one a killed demo is not reaped
		}
		visit := func(ctx context.Context, call caller, base string, w io.Writer) error {
			return demoapp.Transcript(ctx, call, base, w)
		}
		err = demo(cmd.Context(), c.Config, demoapp.Handler(), visit, cmd.OutOrStdout(), newLog(c.Log, cmd.ErrOrStderr()))
		if err != nil || !*serve {
			return err
		}
		fmt.Fprint(cmd.OutOrStdout(), "\nThe app goes on until Ctrl-C; browserd open asks whether to allow it: ")
		return serveApp(cmd.Context(), "127.0.0.1:0", cmd.OutOrStdout())
	}
	return cmd
}

// serveApp serves the app at address until ctx ends, and writes its URL to w.
func serveApp(ctx context.Context, address string, w io.Writer) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	site := &http.Server{Handler: demoapp.Handler(), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { site.Close() })()
	fmt.Fprintf(w, "http://%s/\n", l.Addr())
	if err := site.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// play shows an app that is served at base (http://127.0.0.1:port/) by sending
// commands with call, and writes to w what it sent and what came back.
type play func(ctx context.Context, call caller, base string, w io.Writer) error

// caller sends one command to a daemon and returns its result.
type caller = func(ctx context.Context, method string, params any) (json.RawMessage, error)

// demoWithin is how long a demo may take, Chromium's start included.
const demoWithin = 2 * time.Minute

// demo serves app on loopback, runs a daemon on a free port beside it with a
// token of its own, has them played, and ends both. Nothing outside this
// process and its Chromium is used: of the machine's configuration only what
// cfg says of the browser counts.
func demo(ctx context.Context, cfg config.Config, app http.Handler, p play, w io.Writer, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, demoWithin)
	defer cancel()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("a port for the app: %w", err)
	}
	site := &http.Server{Handler: app, ReadHeaderTimeout: 10 * time.Second}
	shown := make(chan error, 1) // one send, received last
	go func() { shown <- site.Serve(at) }()
	defer func() { site.Close(); <-shown }()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("a port for the daemon: %w", err)
	}
	cfg.Server.Listen = l.Addr().String()
	cfg.Server.AllowedHosts, cfg.Server.AllowedOrigins = nil, nil
	cfg.Server.TLSCert, cfg.Server.TLSKey = "", ""
	cfg.Policy = policy.Config{AllowHosts: []string{at.Addr().String()}}
	cfg.Ledger = ledger.Config{}
	token := rand.Text()
	cfg.Auth.Tokens = []server.Token{{Agent: config.DefaultAgent, Token: token, Role: server.RoleAgent}}

	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1) // one send, received after stop
	go func() { ended <- run(running, cfg, []net.Listener{l}, nil, log) }()

	c := &client{endpoint: endpoint{base: "http://" + l.Addr().String()}, token: token}
	played := p(ctx, c.call, "http://"+at.Addr().String()+"/", w)
	stop()
	return errors.Join(played, <-ended)
}
