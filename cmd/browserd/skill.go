package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/docs"
)

func skillCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "skill",
		Short:   "Print the instructions that teach a model to use browserd",
		Example: "  browserd skill > .claude/skills/browserd/SKILL.md",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), docs.Skill)
			return err
		},
	}
}
