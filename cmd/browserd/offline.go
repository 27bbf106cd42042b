package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/server"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
	"github.com/browserd/browserd/web/pdf"
)

// needsNoDaemon reports whether a command may be run without a daemon: one of the
// web tools, outside every session, not to be rendered by Chromium, and for an
// agent who needs nobody's confirmation.
func needsNoDaemon(cfg config.Config, row *command.Command, params map[string]any) bool {
	if !row.Is(command.Offline) {
		return false
	}
	if _, named := params["session"]; named || params["source"] == session.SourceChromium {
		return false
	}
	autonomy := agentOf(cfg).Autonomy
	if autonomy == "" {
		autonomy = cfg.Policy.Autonomy
	}
	return policy.Autonomy(autonomy) != policy.Supervised
}

// agentOf returns the agent that tokenOf speaks for.
func agentOf(cfg config.Config) server.Token {
	own := os.Getenv(config.TokenEnv)
	for _, t := range cfg.Auth.Tokens {
		if own == "" && t.Role != server.RoleOperator || own != "" && t.Token == own {
			return t
		}
	}
	return server.Token{Agent: config.DefaultAgent, Role: server.RoleAgent}
}

// runOffline runs a web tool in this process, by the same policy and with the
// same ledger as the daemon would: without Chromium and without a session.
func runOffline(ctx context.Context, cfg config.Config, name string, params map[string]any) (result json.RawMessage, err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if dir, err := config.StateDir(); err == nil {
		cfg.Browser.StateDir = dir
	}
	rules, err := policy.New(cfg.Policy)
	if err != nil {
		return nil, refusal{err}
	}
	if cfg.Fleet.DSN == "" { // a fleet's additions to the policy hold at its nodes
		if _, err := policy.ReadAnswers(confirmedFile(cfg.Browser.StateDir), rules.SetAdditions); err != nil {
			return nil, refusal{err}
		}
	}
	supervision := supervise(cfg, nil, log)
	supervision.Confirmations = nil // nobody is there to answer one
	db, err := ledger.Open(ctx, cfg.Ledger, cfg.Browser.StateDir, credits(cfg.Auth.Tokens), log)
	if err != nil {
		return nil, refusal{err}
	}
	defer func() { err = errors.Join(err, db.Close(context.WithoutCancel(ctx))) }()
	out, err := newDaemonEgress(cfg, rules)
	if err != nil {
		return nil, refusal{err}
	}
	defer out.close()
	pdfs, err := pdf.NewReader(cfg.Browser.StateDir)
	if err != nil {
		return nil, err
	}
	defer pdfs.Close()
	runtime := &command.Runtime{
		Commands: actions.All,
		Version:  buildVersion(), Log: log, Rules: supervision, CheckURL: rules.CheckURLWithin, Ledger: db,
		Web: out.web(cfg, fallback.NewSourceChain(cfg.Fallback, out.chainReader()), pdfs),
	}
	given, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	agent := agentOf(cfg)
	job, err := runtime.Prepare(&command.Caller{Agent: agent.Agent, Role: agent.Role, Autonomy: policy.Autonomy(agent.Autonomy)}, nil, name, given)
	if err != nil {
		return nil, err
	}
	got, err := job.Run(ctx)
	if err != nil {
		return nil, err
	}
	return snapshot.EscapeJSON([]byte(compact(got))), nil
}
