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
default, the file, the environment or a flag. Secrets are masked.`,
		Example: "  browserd config\n  browserd config --config browserd.yaml --json",
		Args:    cobra.NoArgs,
	}
	load := configured(cmd, args)
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object: {file, values: [{key, value, from}]}")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		if *asJSON {
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetIndent("", "  ")
			return enc.Encode(struct {
				File   string         `json:"file"`
				Values []config.Value `json:"values"`
			}{c.File, c.Values})
		}
		if err := c.Explain(cmd.OutOrStdout()); err != nil {
			return err
		}
		for _, name := range c.Ignored {
			fmt.Fprintf(cmd.ErrOrStderr(), "browserd: environment %s is no key and is ignored\n", name)
		}
		return nil
	}
	return cmd
}
