package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/config"
)

func attachCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "attach",
		Short: "Let agents use the Chrome that you have open, in windows of their own",
		Long: `Connects the daemon to the Chrome or Chromium that you have open, with your logins.
Set browser.attach: true first. Then, once, open chrome://inspect/#remote-debugging in that
browser and turn on remote debugging. When you run this, the browser asks whether browserd
may use it: press Allow. It asks once while the daemon runs. If you refuse, run this again.

Agents work in new windows of that browser, where pages have your logins. Agents cannot see,
read or close your own tabs, and cannot read cookies or your clipboard by keys. The jail and
the egress policy do not apply there. Each action of an agent waits for your answer in
browserd view, unless you set policy.autonomy. A session's windows close when it ends.`,
		Example: "  browserd attach\n  browserd status",
		Args:    cobra.NoArgs,
	}
	runConfigured(cmd, args, func(cmd *cobra.Command, _ []string, c *config.Loaded) error {
		if !c.Browser.Attach {
			return refusal{errors.New("browser.attach is not set: set it to true in your configuration file, and restart the daemon")}
		}
		token, err := tokenOf(c.Config)
		if err != nil {
			return err
		}
		at, err := find(cmd.Context(), c.Server, token)
		if err != nil {
			return refusal{errors.New("no daemon runs: browserd start starts one")}
		}
		state, err := (controlled{at}).attach(cmd.Context(), http.MethodPost)
		if err == nil && state == "waiting_for_consent" {
			fmt.Fprintln(cmd.ErrOrStderr(), "waiting: press Allow in your browser")
		}
		for err == nil && state == "waiting_for_consent" {
			select {
			case <-time.After(lookAgain):
				state, err = (controlled{at}).attach(cmd.Context(), http.MethodGet)
			case <-cmd.Context().Done():
				return context.Cause(cmd.Context())
			}
		}
		switch {
		case err != nil:
			return err
		case state != "attached":
			return refusal{fmt.Errorf("your browser says no: %s", state)}
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "attached: agents use your browser, in windows of their own")
		return err
	})
	return cmd
}

// lookAgain is how often the command asks the daemon whether the person has answered. It sends the
// browser nothing.
const lookAgain = 200 * time.Millisecond

// attach returns the state of the connection to the person's browser. With POST the daemon first asks
// the person, and the state comes after a second at the latest; with GET it asks nobody.
func (c controlled) attach(ctx context.Context, method string) (string, error) {
	state, err := c.ask(ctx, method, "attach", nil)
	return string(state), err
}
