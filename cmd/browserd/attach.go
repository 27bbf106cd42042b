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
It needs browser.attach: true, and, once, in that browser: chrome://inspect/#remote-debugging,
turn on remote debugging. The browser then asks you: press Allow. It asks once for as long
as the daemon runs, and again after you have refused when you run this.

Agents open windows of their own there. They see, read and close no tab of yours, and get
no cookies; pages have your logins. Neither the jail nor the egress policy holds there, and
what agents do waits for your answer in browserd view, unless policy.autonomy says otherwise.
When a session ends its windows are closed. Tabs of yours are never touched.`,
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
			return refusal{errors.New("no daemon runs: browserd serve --background starts one")}
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

// lookAgain is how often the daemon is asked whether the person has answered; their browser is not.
const lookAgain = 200 * time.Millisecond

// attach has the daemon ask the person (POST) and returns the state after a second at the latest, or
// only the state (GET).
func (c controlled) attach(ctx context.Context, method string) (string, error) {
	state, err := c.ask(ctx, method, "attach", nil)
	return string(state), err
}
