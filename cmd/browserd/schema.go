package main

import (
	"encoding/json"
	"sync"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/schema"
)

func schemaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the schema of every command, event and error",
		Long: `Prints one JSON Schema (draft 2020-12) of the parameters and results of all commands, of
the events and of the errors; with --openapi the HTTP transport as OpenAPI 3.1.`,
		Example: "  browserd schema > browserd.schema.json\n  browserd schema --openapi > openapi.json",
		Args:    cobra.NoArgs,
	}
	openAPI := cmd.Flags().Bool("openapi", false, "OpenAPI 3.1 of the HTTP transport")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		document := schema.Document(actions.All, buildVersion())
		if *openAPI {
			var err error
			if document, err = schema.OpenAPI(actions.All, buildVersion()); err != nil {
				return err
			}
		}
		out := json.NewEncoder(cmd.OutOrStdout())
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		return out.Encode(document)
	}
	return cmd
}

// membersOfAnswers are the names of all members of answers and events. They are asked for when a
// secret is found in such a name, and so seldom.
var membersOfAnswers = sync.OnceValue(func() map[string]bool { return schema.Names(actions.All) })

func ourNames(name string) bool { return membersOfAnswers()[name] }
