package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/config"
)

// completeWithin is how long a shell's completion may wait for the daemon.
const completeWithin = time.Second

// completes gives a command of the repertoire what a shell offers for its
// words: of a parameter that takes one of some words, those; of a session, the
// agent's; of files, files. load is the configuration, to find the daemon.
func completes(cmd *cobra.Command, row *command.Command, positional []command.ParamHelp, schema map[string]any, load func() (*config.Loaded, error)) {
	offer := func(name string) cobra.CompletionFunc {
		about, _ := schema[name].(map[string]any)
		items, _ := about["items"].(map[string]any)
		words, _ := about["enum"].([]string)
		if words == nil {
			words, _ = items["enum"].([]string)
		}
		switch {
		case name == row.LocalFiles:
			return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return nil, cobra.ShellCompDirectiveDefault
			}
		case !row.Is(command.OpensSession) && name == "session":
			return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return sessionsOf(cmd.Context(), load), cobra.ShellCompDirectiveNoFileComp
			}
		}
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	for name := range schema {
		if about, _ := schema[name].(map[string]any); about["type"] != "boolean" {
			cmd.RegisterFlagCompletionFunc(name, offer(name))
		}
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(positional) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// The last one takes all that follows.
		return offer(positional[min(len(args), len(positional)-1)].Name)(cmd, args, word)
	}
}

// sessionsOf returns the names of the agent's sessions in the daemon that runs; none
// is started to be asked.
func sessionsOf(ctx context.Context, load func() (*config.Loaded, error)) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	c, err := load()
	if err != nil {
		return nil
	}
	token, err := tokenOf(c.Config)
	if err != nil {
		return nil
	}
	at, err := find(ctx, c.Server, token)
	if err != nil {
		return nil
	}
	cl := &client{endpoint: at, token: token}
	answer, err := cl.call(ctx, actions.SessionList.Name, nil)
	var list struct {
		Sessions []listedSession `json:"sessions"`
	}
	if err != nil || json.Unmarshal(answer, &list) != nil {
		return nil
	}
	var names []cobra.Completion
	for _, s := range slices.Backward(list.Sessions) {
		names = append(names, cobra.CompletionWithDesc(s.Session, harmless(s.Page.URL)))
	}
	return names
}
