package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/snapshot"
)

// statusCommand returns the command status for a person: what the daemon answers, and beside
// it what it tells its own user alone. It starts no daemon.
func statusCommand(args []string) *cobra.Command {
	row := actions.Status
	cmd := &cobra.Command{
		Use: row.Name, Short: row.Summary, GroupID: groupCommands, Args: cobra.NoArgs,
		Long: `Shows the daemon that runs: its process, program, log and configuration, what of that
differs from what this shell would start it with, its Chromium and your sessions.`,
		Example: "  browserd status\n  browserd status --json",
	}
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object: the result of the command, with the member daemon")
	runConfigured(cmd, args, func(cmd *cobra.Command, _ []string, c *config.Loaded) error {
		at, err := running(cmd.Context(), c)
		if !errors.Is(err, errNoDaemon) && err != nil {
			return coded{err, exitNoDaemon}
		}
		if err != nil {
			return coded{fmt.Errorf("%w\n→ browserd start, or any command of a session, which starts one", err), exitNoDaemon}
		}
		token, err := tokenOf(c.Config)
		if err != nil {
			return err
		}
		answer, err := (&client{endpoint: at, token: token}).call(cmd.Context(), row.Name, nil)
		if err != nil {
			return explain(row, err)
		}
		d, unknown := controlled{at}.about(cmd.Context())
		if *asJSON {
			all := map[string]any{}
			numbers := json.NewDecoder(bytes.NewReader(answer))
			numbers.UseNumber()
			if err := numbers.Decode(&all); err != nil {
				return err
			}
			if unknown == nil {
				all["daemon"] = d
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), compact(all))
			return err
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		if unknown == nil {
			d.write(w, c.Values)
		} else {
			fmt.Fprintf(w, "daemon\tat %s\n", c.Server.Listen)
		}
		if err := writeStatus(w, answer); err != nil {
			return err
		}
		return w.Flush()
	})
	return cmd
}

// write tells a person about the daemon, and what differs from the values here.
func (a about) write(w io.Writer, here []config.Value) {
	fmt.Fprintf(w, "daemon\tpid %d, up %s, at %s\n", a.PID, a.uptime(), a.Address)
	fmt.Fprintf(w, "program\t%s, version %s\n", a.Program, a.Version)
	if is := a.otherProgram(); is != "" {
		fmt.Fprintf(w, "\tit %s: %s\n", is, a.replaceIt())
	}
	if a.LogFile != "" {
		fmt.Fprintf(w, "log\t%s\n", a.LogFile)
	} else {
		fmt.Fprintf(w, "log\tstandard error of the daemon, which was not started in the background\n")
	}
	file := a.File
	if file == "" {
		file = "no file when it was started"
	}
	if a.WorkdirFile != "" {
		file += ", over it " + a.WorkdirFile
	}
	fmt.Fprintf(w, "configuration\t%s\n", file)
	for _, v := range a.Settings {
		if v.From != config.FromDefault && !strings.HasPrefix(v.Key, "auth.") {
			fmt.Fprintf(w, "\t%s = %s (from %s)\n", v.Key, compact(v.Value), v.From)
		}
	}
	if len(a.Allowed) > 0 {
		fmt.Fprintf(w, "\tallowed since it runs: %s\n", strings.Join(a.Allowed, ", "))
	}
	for _, v := range a.shown(here) {
		fmt.Fprintf(w, "\tdiffers: %s would be %s here (from %s): %s\n", v.here.Key, compact(v.here.Value), v.here.From, a.replaceIt())
	}
}

// writeStatus tells a person what the command answered.
func writeStatus(w io.Writer, answer json.RawMessage) error {
	var s struct {
		Agent    string `json:"agent"`
		Autonomy string `json:"autonomy"`
		Chromium struct {
			Running  bool   `json:"running"`
			Product  string `json:"product"`
			Path     string `json:"path"`
			Sandbox  string `json:"sandbox"`
			Attached string `json:"attached"`
		} `json:"chromium"`
		Egress struct {
			Mode string `json:"mode"`
			Why  string `json:"why"`
		} `json:"egress"`
		Chain    []fallback.SourceState `json:"source_chain"`
		Sessions []listedSession        `json:"sessions"`
	}
	if err := json.Unmarshal(answer, &s); err != nil {
		return err
	}
	fmt.Fprintf(w, "agent\t%s, autonomy %s\n", snapshot.Literally(s.Agent), s.Autonomy)
	if s.Chromium.Running {
		fmt.Fprintf(w, "Chromium\t%s, %s, sandbox %s, egress %s\n", s.Chromium.Product, s.Chromium.Path, s.Chromium.Sandbox, s.Egress.Mode)
	} else {
		fmt.Fprintf(w, "Chromium\tnot running, egress %s\n", s.Egress.Mode)
	}
	switch s.Chromium.Attached {
	case "":
	case "waiting_for_consent":
		fmt.Fprintf(w, "\twaiting for you: press Allow in your browser\n")
	case "attached":
		fmt.Fprintf(w, "\tit is your own: neither the jail nor the egress policy holds there\n")
	default:
		fmt.Fprintf(w, "\tyour own browser, %s: browserd attach\n", strings.ReplaceAll(s.Chromium.Attached, "_", " "))
	}
	for _, source := range s.Chain {
		if !source.OK {
			fmt.Fprintf(w, "\t%s does not work: %s\n", source.Source, snapshot.Literally(source.Why))
		}
	}
	if len(s.Sessions) == 0 {
		fmt.Fprintf(w, "sessions\tnone\n")
	}
	for i, one := range s.Sessions {
		label := ""
		if i == 0 {
			label = "sessions"
		}
		fmt.Fprintf(w, "%s\t%s\n", label, one)
	}
	return nil
}

// listedSession is a session as status and session_list have it.
type listedSession struct {
	Session string `json:"session"`
	Command string `json:"command"` // that runs; empty: none
	Page    struct {
		URL   string `json:"url"`
		Title string `json:"title"`
	} `json:"page"`
}

// String is its line for a person.
func (s listedSession) String() string {
	line := snapshot.Literally(s.Session) + "  " + snapshot.Literally(s.Page.URL)
	if s.Page.Title != "" {
		line += "  " + compact(s.Page.Title)
	}
	return line
}
