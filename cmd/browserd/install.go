package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/scripts"
)

func installCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install a Chromium with the system's packages, where there is none",
		Long: `Installs a Chromium with the packages of Debian, Ubuntu or Fedora, as root or with sudo.
Where there is one already it installs nothing, and elsewhere it says what to do.`,
		Example: "  browserd install",
		Args:    cobra.NoArgs,
	}
	runConfigured(cmd, args, func(cmd *cobra.Command, _ []string, c *config.Loaded) error {
		found, err := chromium.Find(c.Browser.Config)
		if err == nil {
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "there is one already:", found.Path)
			return err
		}
		if c.Browser.Path != "" || runtime.GOOS != "linux" {
			return explain(nil, err)
		}
		script, err := os.CreateTemp("", "browserd-setup-*.sh")
		if err != nil {
			return err
		}
		defer os.Remove(script.Name())
		_, err = script.WriteString(scripts.Setup)
		if err := errors.Join(err, script.Close()); err != nil {
			return err
		}
		// The terminal is its own, for sudo's question.
		setup := exec.CommandContext(cmd.Context(), "sh", script.Name(), "chromium")
		setup.Stdin, setup.Stdout, setup.Stderr = os.Stdin, cmd.OutOrStdout(), cmd.ErrOrStderr()
		if err := setup.Run(); err != nil {
			return fmt.Errorf("installing a Chromium: %w", err)
		}
		if found, err = chromium.Find(c.Browser.Config); err != nil {
			return explain(nil, err)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "installed:", found.Path)
		return err
	})
	return cmd
}
