package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/config"
)

const rootExamples = `  browserd open https://example.com
  browserd click @e2
  browserd type @e5 "two loaves" --submit
  browserd screenshot page.png`

// helpOfRoot returns a help function that shows, for browserd itself, a screen: the
// commands of a session by name, with help commands for the rest, and the daemon's with a line
// each. Every other command has cobra's, which is others.
func helpOfRoot(others func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		if cmd.HasParent() {
			others(cmd, args)
			return
		}
		w := cmd.OutOrStdout()
		fmt.Fprintf(w, "%s\n\nUsage:\n  browserd COMMAND [flags]\n\nExamples:\n%s\n\nCommands of a browsing session (browserd help commands has a line for each):\n", cmd.Short, cmd.Example)
		var names []string
		for _, c := range inGroup(cmd, groupCommands) {
			names = append(names, c.Name())
		}
		writeFolded(w, names)
		fmt.Fprint(w, "\nThe daemon and its tools:\n")
		writeLines(w, inGroup(cmd, groupTools))
		fmt.Fprintf(w, "\nbrowserd help COMMAND shows a command's flags and examples, browserd help configuration the settings.\nEvery command accepts --%s: it writes nothing to standard error but errors.\n", quietFlag)
	}
}

// commandsTopic returns what help says of all commands of a session.
func commandsTopic() *cobra.Command {
	topic := &cobra.Command{Use: "commands", Short: "The commands of a browsing session, with a line for each"}
	topic.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		w := cmd.OutOrStdout()
		fmt.Fprint(w, "Commands of a browsing session:\n")
		writeLines(w, inGroup(cmd.Root(), groupCommands))
		fmt.Fprint(w, "\nExamples:\n"+rootExamples+"\n\nbrowserd help COMMAND shows a command's flags and examples.\n")
	})
	return topic
}

// inGroup returns the root's commands of a group, by name.
func inGroup(root *cobra.Command, group string) (list []*cobra.Command) {
	for _, c := range root.Commands() {
		if c.GroupID == group && !c.Hidden {
			list = append(list, c)
		}
	}
	return list
}

// writeLines writes each command with what it does.
func writeLines(w io.Writer, list []*cobra.Command) {
	wide := 0
	for _, c := range list {
		wide = max(wide, len(c.Name()))
	}
	for _, c := range list {
		fmt.Fprintf(w, "  %-*s  %s\n", wide, c.Name(), c.Short)
	}
}

// writeFolded writes words in lines of at most 80 columns.
func writeFolded(w io.Writer, words []string) {
	line := " "
	for _, word := range words {
		if len(line)+1+len(word) > 80 {
			fmt.Fprintln(w, line)
			line = " "
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}

// configurationTopic returns what help says of the flags that all commands have.
func configurationTopic(args []string) *cobra.Command {
	cmd := &cobra.Command{Use: "configuration", Short: "The settings, each of which is a flag of every command"}
	if !slices.Contains(args, cmd.Use) {
		return cmd
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	var path string
	config.AddFlags(flags, &path)
	cmd.Long = `Settings come from the file, then the environment (BROWSERD_POLICY__ALLOW_HOSTS), then
flags. "browserd config" prints those in force and where each comes from; a daemon
that runs keeps those it was started with, until "browserd restart".

` + flags.FlagUsages() + `
Examples:
  browserd config
  browserd start --policy.allow_hosts localhost:8000`
	return cmd
}

// noShell refuses a script for what is no shell, for which cobra shows the list as well.
func noShell(completion *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unknown command %q for %q", args[0], completion.CommandPath())
	}
	return nil
}

// speaksHelp gives cobra's subcommand help the flags of the command of that name, and
// with --json its result.
func speaksHelp(help *cobra.Command) {
	command := help.Flags().String("command", "", "one command, with its parameters; left out: a line for each")
	asJSON := help.Flags().Bool("json", false, "print the result object as JSON")
	usage := help.Run
	help.RunE = func(cmd *cobra.Command, args []string) error {
		if *command != "" {
			args = append([]string{*command}, args...)
		}
		if !*asJSON {
			if err := helpTopic(cmd, args); err != nil {
				return refusal{err}
			}
			usage(cmd, args)
			return nil
		}
		result, err := actions.All.Help(strings.Join(args, " "))
		if err != nil {
			return explain(actions.Help, err)
		}
		return json.NewEncoder(cmd.OutOrStdout()).Encode(result)
	}
}

// helpTopic refuses help for what is no command, of which cobra's own help shows the
// list and says that all went well.
func helpTopic(help *cobra.Command, args []string) error {
	cmd, rest, err := help.Root().Find(args)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("unknown command %q for %q", rest[0], cmd.CommandPath())
	}
	return err
}
