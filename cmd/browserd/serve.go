package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/actions/loginform"
	"github.com/browserd/browserd/actions/script"
	"github.com/browserd/browserd/browser"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/contain"
	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/secret"
	"github.com/browserd/browserd/server"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/profile"
	"github.com/browserd/browserd/telemetry/otlp"
	"github.com/browserd/browserd/web/pdf"
)

func serveCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon until SIGTERM, SIGINT or SIGHUP",
		Long: `Runs the daemon in the foreground. SIGTERM, SIGINT or SIGHUP stops it: it closes
the sessions, ends Chromium and exits with 0. Under nohup it ignores SIGHUP, so
that it outlives the terminal.

Every key of the configuration is a flag: "browserd help configuration" lists them,
and "browserd config" shows the values in use. The log goes to standard error.`,
		Example: "  browserd serve --server.listen 127.0.0.1:9333",
		Args:    cobra.NoArgs,
	}
	load := configured(cmd, args)
	portOptional := cmd.Flags().Bool("port-optional", false, "do with the socket where something else has the port")
	cmd.Flags().MarkHidden("port-optional")
	logFile := cmd.Flags().String("log-file", "", "where a command that starts the daemon sends its log")
	cmd.Flags().MarkHidden("log-file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		// Whoever reads the log may go away, and Go would end the daemon for that. Not
		// ignored: Chromium would inherit it.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		log := newLog(c.Log, cmd.ErrOrStderr())
		if len(c.Ignored) > 0 {
			log.Debug("environment variables that are no keys", "names", c.Ignored)
		}
		if err := preventCoreDumps(); err != nil {
			log.Warn("a crash may leave memory on disk", "error", err)
		}
		contain.CloseOnExec()
		if err := prepare(&c.Config, log); err != nil {
			return refusal{err}
		}
		listeners, release, err := listen(c.Server.Listen, *portOptional, log)
		if err != nil {
			return refusal{err}
		}
		defer release()
		ctx, stop := context.WithCancel(cmd.Context())
		defer stop()
		return run(ctx, c.Config, listeners, newControls(c, *logFile, stop, log), log)
	}
	return cmd
}

// listen listens at the address and on the socket that belongs to it. Where the socket
// cannot be had, the address suffices, and with portOptional the other way round.
func listen(address string, portOptional bool, log *slog.Logger) (all []net.Listener, release func(), err error) {
	release = func() {}
	if path := socketPath(address); path != "" {
		l, end, err := listenSocket(path)
		switch {
		case errors.Is(err, errRuns):
			return nil, nil, fmt.Errorf("a browserd for %s runs already%s\n→ browserd stop ends it; or choose another server.listen", address, pidAt(path))
		case err == nil:
			all, release = append(all, l), end
		case !errors.Is(err, errNoSocket):
			log.Warn("no socket for the command line: it uses TCP", "cause", err)
		}
	}
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		return append([]net.Listener{l}, all...), release, nil
	case portOptional && len(all) > 0:
		log.Warn("listening on the socket alone: something else has the port", "server.listen", address, "cause", cause(err))
		return all, release, nil
	}
	release()
	return nil, nil, fmt.Errorf("server.listen: %q: %w: stop what listens there, or choose another address", address, cause(err))
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
		return fmt.Errorf("there is nowhere to keep a token, and %s is not set: %w", config.TokenEnv, err)
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

// run returns the daemon: it serves on the listeners, which it closes, until ctx ends, and then
// ends everything that it started. It returns nil if it was told to stop.
func run(ctx context.Context, cfg config.Config, listeners []net.Listener, controls *controls, log *slog.Logger) error {
	for _, l := range listeners {
		defer l.Close()
	}
	cfg.Browser.ApplyAttach()
	rules, err := policy.New(cfg.Policy, own(listeners, cfg.Server.PublicURL)...)
	if err != nil {
		return refusal{err}
	}
	node, err := joinFleet(ctx, cfg, rules, log)
	if err != nil {
		return refusal{err}
	}
	answers, err := node.answers(cfg.Browser.StateDir, rules, log)
	if err != nil {
		return refusal{err}
	}
	supervision := supervise(cfg, answers, log)
	saved := node.shelves(cfg.Browser.StateDir)
	kept := session.NewProfiles(saved("profiles"), cfg.State, cfg.Profile)
	profiles := profile.New(kept, cfg.Browser.StateDir, cfg.Profile.Open, log)
	if cfg.Browser.StateDir != "" {
		reaped, err := profiles.Reap()
		if err != nil {
			log.Warn("removing what a killed daemon left behind", "error", err)
		}
		if reaped.Browsers > 0 {
			log.Info("removed what a killed daemon left behind", "browsers", reaped.Browsers, "processes", reaped.Processes)
		}
	}
	egress, err := setUpEgress(&cfg.Browser.Config, cfg.Policy, rules, log)
	if err != nil {
		return refusal{err}
	}
	defer egress.close() // when Chromium has ended
	profiles.Configure(cfg.Browser.Config, egress.open(cfg.Browser.Config))
	db, err := ledger.Open(ctx, cfg.Ledger, cfg.Browser.StateDir, credits(cfg.Auth.Tokens), log)
	if err != nil {
		return refusal{err}
	}
	tracer, flush, err := otlp.Start(cfg.Telemetry, nodeName(cfg.Fleet), buildVersion(), log)
	if err != nil {
		return refusal{err}
	}
	// Chromium outlives ctx: the server ends the sessions first.
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	supervisor := chromium.Start(living, cfg.Browser.Config, log)
	found := lookForChromium(cfg.Browser.Config, supervisor, log)
	out, err := newDaemonEgress(cfg, rules)
	if err != nil {
		return refusal{err}
	}
	defer out.close()
	chain := fallback.NewSourceChain(cfg.Fallback, out.chainReader())
	pdfs, err := pdf.NewReader(cfg.Browser.StateDir)
	if err != nil {
		return refusal{err}
	}
	defer pdfs.Close()
	chain.ReadPDF = pdfs.Page
	sources := sourcesOf(found, chain)
	contexts := browser.New(supervisor, log)
	pool := browser.Pool{
		Egress: egress.open(cfg.Browser.Config), Ready: cfg.Browser.ReadyContexts, Idle: cfg.Browser.IdleTimeout, Ahead: cfg.Browser.Ahead && found.missing() == nil,
	}
	if cfg.Browser.Attach { // no window before a session wants one, and the person is asked once
		pool = browser.Pool{}
	}
	contexts.StartPool(pool)
	defer contexts.Close()
	source := pages{
		browser: contexts, chromium: found, chain: chain, rules: rules, egress: egress, cfg: cfg.Session, uploads: &uploadQuotas{node: node}, profiles: profiles, log: log,
	}
	scripts, err := script.NewPool(cfg.Scripts)
	if err != nil {
		return refusal{err}
	}
	defer scripts.Close()
	runtime := &command.Runtime{
		Commands:     actions.All,
		Sessions:     session.NewManager(cfg.Session, source, log),
		Profiles:     kept,
		States:       session.NewStates(saved("states"), cfg.State),
		Logins:       loginform.NewStore(saved("logins"), cfg.State),
		Passkeys:     session.NewPasskeys(saved("passkeys"), cfg.State.Key),
		Secrets:      secret.NewVault(newSecretFile(saved("secrets"), cfg).load, ourNames),
		SavedScripts: script.NewStore(saved("scripts"), cfg.State.Key, cfg.Scripts),
		Version:      buildVersion(),
		Log:          log,
		Rules:        supervision,
		CheckURL:     rules.CheckURLWithin,
		Web:          out.webWith(cfg, source, pdfs),
		Scripts:      scripts,
		Ledger:       db,
		Tracer:       tracer,
		Status: func() map[string]any {
			return map[string]any{"chromium": statusOf(supervisor.Info()), "sources": names(sources()), "source_chain": append([]fallback.SourceState{found.state()}, chain.States()...), "egress": egress.status(rules)}
		},
	}
	redactLog(log, runtime.Secrets)
	runtime.Sessions.Stores = session.Stores{States: runtime.States, Profiles: runtime.Profiles}
	runtime.Sessions.Unverified, runtime.Sessions.Redact = rules.Trust().Unverified, runtime.Secrets.RedactCut
	runtime.Sessions.EnableActionLogs(cfg.ActionLog)
	node.serve(runtime, contexts)
	keepRecordings(cfg, runtime, node)
	s, err := server.New(cfg.Server, cfg.Auth.Tokens, runtime, sources)
	if err != nil {
		return refusal{err}
	}
	runtime.View = s.ViewLink
	if controls != nil { // the demo's daemon has none
		controls.rules, controls.sessions, controls.view, controls.drain = rules, runtime.Sessions, s.ViewLink, func(ctx context.Context) (int, int, error) { return server.Drain(ctx, s) }
		controls.chromium = supervisor
		s.Control(controls)
	}
	s.Collect(func() []prometheus.Collector { return collectors(supervisor, egress.stats(cfg.Browser.Config), db) })
	if cfg.Server.ExitWhenIdle > 0 {
		var idle context.CancelFunc
		ctx, idle = context.WithCancel(ctx)
		defer idle()
		go func() {
			if s.AwaitIdle(ctx, cfg.Server.ExitWhenIdle) == nil {
				log.Info("nobody has used the daemon for server.exit_when_idle", "duration", cfg.Server.ExitWhenIdle)
				idle()
			}
		}()
	}
	scheme := "http://"
	if cfg.Server.TLS() {
		scheme = "https://"
	} else if cfg.Server.CheckExposure(false) != nil {
		log.Warn("tokens and pages cross the network as they are: set server.tls_cert and server.tls_key, or put a proxy that speaks TLS before the daemon")
	}
	for _, l := range listeners {
		if l.Addr().Network() == "unix" {
			log.Info("listening on the socket " + l.Addr().String())
		} else {
			log.Info("listening on " + scheme + l.Addr().String())
		}
	}
	go egress() // not before: it would take a processor from what answers
	err = s.Serve(ctx, listeners...)
	log.Info("stopping")
	contexts.Close()
	profiles.Close()
	err = errors.Join(err, bounded(living, chromiumEnds, supervisor.Close))
	if bounded(living, statesEnd, runtime.Sessions.Shutdown) != nil {
		log.Warn("sessions have not ended in time; what they keep may be as their last checkpoints left it")
	}
	err = errors.Join(err, bounded(living, ledgerEnds, node.Close), bounded(living, ledgerEnds, db.Close), bounded(living, ledgerEnds, flush))
	log.Info("stopped")
	return err
}

// How long the rest of the end may take. It does not depend on
// server.shutdown_timeout: whoever is in a hurry leaves nothing behind either.
const (
	chromiumEnds = 10 * time.Second // killed after one
	statesEnd    = 10 * time.Second // while the fleet's database does not answer
	ledgerEnds   = 2 * time.Second
)

// bounded calls f with so much time.
func bounded(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

// savedFiles is where what agents save is kept, such as the states of sessions; empty: nowhere.
func savedFiles(stateDir, what string) string {
	if stateDir == "" {
		return ""
	}
	return filepath.Join(stateDir, what)
}

// own returns the addresses on which the daemon listens, and at which its clients reach it: no page
// may reach them.
func own(listeners []net.Listener, public string) (own []netip.AddrPort) {
	if u, err := url.Parse(public); err == nil {
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		if addr, err := netip.ParseAddrPort(net.JoinHostPort(u.Hostname(), port)); err == nil { // not a name, which may be many
			own = append(own, addr)
		}
	}
	for _, l := range listeners {
		if addr, err := netip.ParseAddrPort(l.Addr().String()); err == nil {
			own = append(own, addr)
		}
	}
	return own
}

// cause strips what the sentence around it says already.
func cause(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Err
	}
	return err
}
