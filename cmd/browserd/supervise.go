package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/server"
)

// confirmedFile is where, in the state directory, operators' answers are kept
// that are to hold for good.
func confirmedFile(stateDir string) string {
	if stateDir == "" {
		return ""
	}
	return filepath.Join(stateDir, "confirmed.json")
}

// supervise gives agents their rules, and the policy what operators have
// allowed for good in earlier runs.
func supervise(cfg config.Config, rules *policy.Policy, log *slog.Logger) (command.Rules, error) {
	confirmations, err := policy.NewConfirmations(confirmedFile(cfg.Browser.StateDir), cfg.Auth.HasOperator() || cfg.Browser.Attach)
	if err != nil {
		return command.Rules{}, err
	}
	for _, s := range confirmations.Settings() {
		if _, err := rules.AddUntil(s); err != nil {
			return command.Rules{}, fmt.Errorf("%s: %w", confirmedFile(cfg.Browser.StateDir), err)
		}
		log.Info("operators have added to the policy for good", "key", s.Key, "entries", s.Add, "file", confirmedFile(cfg.Browser.StateDir))
	}
	supervised := slices.ContainsFunc(cfg.Auth.Tokens, func(t server.Token) bool {
		return t.Autonomy == string(policy.Supervised) || t.Autonomy == "" && cfg.Policy.Autonomy == string(policy.Supervised)
	})
	if supervised && !cfg.Auth.HasOperator() && !cfg.Browser.Attach { // there the person answers, in browserd view
		log.Warn("agents are supervised, and there is no operator: what policy.confirm names is refused",
			"next", "add a token with role operator to auth.tokens")
	}
	return command.Rules{
		Autonomy:      policy.Autonomy(cfg.Policy.Autonomy),
		Confirm:       cfg.Policy.Confirm,
		Timeout:       cfg.Policy.ConfirmTimeout,
		Confirmations: confirmations,
		Add:           rules.AddUntil,
	}, nil
}
