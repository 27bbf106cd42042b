package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/config"
)

func configCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the configuration and where each value comes from",
		Long: `Prints every key with the value that browserd uses and where it comes from: the
default, a file, the environment or a flag. Secrets are masked. A browserd.yaml in
the working directory that is not trusted ("browserd trust") is named as ignored. A
daemon that runs already may have others: what differs is said on standard error.`,
		Example: "  browserd config\n  browserd config --config browserd.yaml --json",
		Args:    cobra.NoArgs,
	}
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object: {file, workdir_file, ignored_file: {path, why}, values: [{key, value, from}]}")
	runConfigured(cmd, args, func(cmd *cobra.Command, _ []string, c *config.Loaded) error {
		if *asJSON {
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetIndent("", "  ")
			return enc.Encode(struct {
				File        string              `json:"file"`
				WorkdirFile string              `json:"workdir_file,omitempty"`
				IgnoredFile *config.IgnoredFile `json:"ignored_file,omitempty"`
				Values      []config.Value      `json:"values"`
			}{c.File, c.WorkdirFile, c.IgnoredFile, c.Values})
		}
		if err := c.Explain(cmd.OutOrStdout()); err != nil {
			return err
		}
		for _, name := range c.Ignored {
			fmt.Fprintf(cmd.ErrOrStderr(), "browserd: environment %s is no key and is ignored\n", name)
		}
		if at, err := running(cmd.Context(), c); err == nil {
			if d, err := (controlled{at}).about(cmd.Context()); err == nil {
				for _, v := range d.shown(c.Values) {
					fmt.Fprintf(cmd.ErrOrStderr(), "browserd: %s: the running daemon (%s) has %s, this shell would use %s: %s\n",
						v.here.Key, d.who(), compact(v.there.Value), compact(v.here.Value), d.replaceIt())
				}
			}
		}
		return nil
	})
	return cmd
}
