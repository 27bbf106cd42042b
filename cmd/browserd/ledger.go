package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/server"
)

// credits returns what the agents start with, by name, where their tokens say so.
func credits(tokens []server.Token) map[string]int {
	initial := map[string]int{}
	for _, t := range tokens {
		if t.Role == server.RoleAgent && t.Credits > 0 {
			initial[t.Agent] = max(initial[t.Agent], t.Credits)
		}
	}
	return initial
}

// openLedger opens the ledger that a daemon with this configuration keeps, also
// while that daemon runs.
func openLedger(ctx context.Context, cfg config.Config) (*ledger.Ledger, error) {
	dir, err := config.StateDir()
	if err != nil && cfg.Ledger.DSN == "" {
		return nil, refusal{err}
	}
	db, err := ledger.Open(ctx, cfg.Ledger, dir, credits(cfg.Auth.Tokens), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, refusal{err}
	}
	return db, nil
}

func creditsCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "credits [AGENT]",
		Short: "Show the agents' credits, or set one's",
		Long: `Shows the credits that each agent, or one agent, has left. --set and --add change
them. This uses the database of ledger.dsn; the daemon need not run.`,
		Example: "  browserd credits\n  browserd credits alice --set 100",
		Args:    cobra.MaximumNArgs(1),
	}
	load := configured(cmd, args)
	set := cmd.Flags().Int("set", 0, "give AGENT exactly so many")
	add := cmd.Flags().Int("add", 0, "give AGENT so many more; a number below 0 takes them away")
	asJSON := cmd.Flags().Bool("json", false, "print one JSON array: [{agent, balance}]")
	cmd.MarkFlagsMutuallyExclusive("set", "add")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		setting, adding := cmd.Flags().Changed("set"), cmd.Flags().Changed("add")
		if (setting || adding) && len(args) == 0 {
			return refusal{errors.New("--set and --add need the agent: browserd credits AGENT --set 100")}
		}
		c, err := load()
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		db, err := openLedger(ctx, c.Config)
		if err != nil {
			return err
		}
		defer db.Close(ctx)
		switch {
		case setting:
			err = db.SetBalance(ctx, args[0], *set)
		case adding:
			_, err = db.AddCredits(ctx, args[0], *add)
		}
		if err != nil {
			return err
		}
		accounts, err := accountsOf(ctx, db, args)
		if err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(accounts)
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		for _, a := range accounts {
			fmt.Fprintf(w, "%s\t%d\n", printable(a.Agent), a.Balance)
		}
		w.Flush()
		if len(accounts) == 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "browserd: no agent has credits yet: each gets ledger.initial at its first command that costs some")
		}
		if !c.Ledger.Credits {
			fmt.Fprintln(cmd.ErrOrStderr(), "browserd: ledger.credits is false: nothing is charged")
		}
		return nil
	}
	return cmd
}

func accountsOf(ctx context.Context, db *ledger.Ledger, args []string) ([]ledger.Account, error) {
	if len(args) == 0 {
		return db.Accounts(ctx)
	}
	balance, err := db.Balance(ctx, args[0])
	return []ledger.Account{{Agent: args[0], Balance: balance}}, err
}

func auditCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show the audit trail: what agents opened, did and were refused",
		Long: `Shows the audit trail, newest last, from the database of ledger.dsn; the daemon
need not run.`,
		Example: "  browserd audit --agent alice --since 24h\n  browserd audit --verdict policy_denied --json",
		Args:    cobra.NoArgs,
	}
	load := configured(cmd, args)
	q := ledger.Query{}
	cmd.Flags().StringVar(&q.Agent, "agent", "", "of this agent alone")
	cmd.Flags().StringVar(&q.Command, "command", "", "of this command alone")
	cmd.Flags().StringVar(&q.Verdict, "verdict", "", "that ended so: ok, policy_denied, policy_denied:ip_private, …")
	cmd.Flags().IntVar(&q.Limit, "limit", 100, "at most so many, the newest")
	since := cmd.Flags().Duration("since", 0, "no older than this, such as 24h")
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object per line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if q.Limit < 1 {
			return refusal{fmt.Errorf("--limit: %d: accepts 1 or more", q.Limit)}
		}
		c, err := load()
		if err != nil {
			return err
		}
		if *since > 0 {
			q.Since = time.Now().Add(-*since)
		}
		db, err := openLedger(cmd.Context(), c.Config)
		if err != nil {
			return err
		}
		defer db.Close(cmd.Context())
		trail, err := db.Trail(cmd.Context(), q)
		if err != nil {
			return err
		}
		if *asJSON {
			for _, e := range trail {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), compact(e)); err != nil {
					return err
				}
			}
			return nil
		}
		return writeTrail(cmd.OutOrStdout(), trail)
	}
	return cmd
}

// printable is s without what a terminal would obey.
func printable(s string) string {
	q := strconv.QuoteToGraphic(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

func writeTrail(out io.Writer, trail []ledger.Entry) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, e := range trail {
		status := ""
		if e.Status > 0 {
			status = fmt.Sprint(e.Status)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d ms\t%s\n", e.Time.Local().Format(time.DateTime), printable(e.Agent), e.Command,
			printable(e.Verdict), status, e.Source, e.MS, printable(e.URL))
	}
	return w.Flush()
}
