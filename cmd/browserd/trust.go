package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/config"
)

func trustCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust [FILE]",
		Short: "Let browserd read the browserd.yaml of a working directory",
		Long: `Lets browserd read browserd.yaml, or FILE, whenever it is started in that
directory. Read the file first. browserd forgets your trust when the file changes
or gets another owner. docs/configuration.md lists the keys that the file can set:
none names a program, an address or a token, or weakens a protection.`,
		Example: "  browserd trust\n  browserd trust --forget",
		Args:    cobra.MaximumNArgs(1),
	}
	forget := cmd.Flags().Bool("forget", false, "no longer read the file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file := "browserd.yaml"
		if len(args) > 0 {
			file = args[0]
		}
		if *forget {
			path, err := config.Forget(file)
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), "no longer trusted:", path)
			}
			return err
		}
		path, err := config.Trust(file)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("there is no %s to trust; settings of your own go into ~/.config/browserd/browserd.yaml\n%sbrowserd config shows those in use, and from where", file, nextMark)
			}
			return refusal{err}
		}
		fmt.Fprintln(cmd.OutOrStdout(), "trusted:", path)
		return nil
	}
	return cmd
}
