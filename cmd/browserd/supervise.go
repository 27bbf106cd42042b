package main

import (
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

// setAdditions adds to the policy what operators have allowed for good.
func setAdditions(rules *policy.Policy, settings []policy.Setting, log *slog.Logger) error {
	for _, s := range settings {
		log.Info("operators have added to the policy for good", "key", s.Key, "entries", s.Add)
	}
	return rules.SetAdditions(settings)
}

// supervise gives agents their rules. answers keeps what operators answer for good.
func supervise(cfg config.Config, answers policy.Answers, log *slog.Logger) command.Rules {
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
		Confirmations: policy.NewConfirmations(answers, cfg.Auth.HasOperator() || cfg.Browser.Attach),
	}
}
