package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/cmd/browserd/mcpclients"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/tools"
)

func mcpCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the commands as MCP tools on standard input and output",
		Long: `Serves the commands as tools of the Model Context Protocol on standard input and
output, for an MCP client that starts this program. The commands run in the
daemon at server.listen. If none answers, this starts a background daemon. It
stops after 15 idle minutes.

"browserd mcp config CLIENT" prints what to paste into a client's configuration.`,
		Example: "  browserd mcp\n  browserd mcp config claude-code",
		Args:    cobra.NoArgs,
	}
	load := configured(cmd, args)
	structured := cmd.Flags().Bool("structured", false, "give every result as structuredContent too, for clients that are programs")
	choice := cmd.Flags().String("tools", tools.SetDefault, "default, code (scripts), all, or names of commands separated by commas")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		chosen, err := tools.Choose(*choice)
		if err != nil {
			return refusal{fmt.Errorf("--tools: %w", err)}
		}
		c, err := load()
		if err != nil {
			return err
		}
		bridge := &bridge{config: c}
		chosen.Structured = *structured
		do := func(ctx context.Context, _, command string, params json.RawMessage) (json.RawMessage, *protocol.Error) {
			// The library waits for what runs before it ends: that ends with a signal.
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(cmd.Context(), cancel)()
			return bridge.do(ctx, command, params)
		}
		err = tools.New(buildVersion(), "", chosen, &tools.Files{}, do).Run(cmd.Context(), stdio(os.Stdin, cmd.OutOrStdout()))
		if cmd.Context().Err() != nil || errors.Is(err, mcp.ErrConnectionClosed) {
			return nil
		}
		return err
	}
	cmd.AddCommand(mcpConfigCommand())
	return cmd
}

// bridge runs the tools of `browserd mcp` in the daemon, which it looks for at
// the first command, and again when it has gone.
type bridge struct {
	config *config.Loaded

	mu     sync.Mutex
	client *client
	first  sync.Mutex // held while the first command opens the session
}

// do runs one command. A daemon that has gone since the last one is started
// again; its sessions have gone with it, and the error says so.
func (b *bridge) do(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *protocol.Error) {
	cl, err := b.connect(ctx)
	if err != nil {
		return nil, protocol.Errorf(protocol.Internal, "there is no daemon: %w", err).Then("run browserd doctor, and fix what it names")
	}
	result, err := b.call(ctx, cl, method, params)
	if err == nil {
		return result, nil
	}
	var said *protocol.Error
	switch {
	case errors.As(err, &said):
		return nil, said
	case ctx.Err() != nil:
		return nil, command.ErrCancelled
	}
	b.mu.Lock()
	b.client = nil
	b.mu.Unlock()
	return nil, protocol.Errorf(protocol.BrowserLost, "the daemon went away: %w", err).
		Then("send the command again: a daemon is started, with a new session")
}

// call runs one command in the client's own session where it names none. Where that
// one has ended, open begins another, and any other command is the error that says how.
func (b *bridge) call(ctx context.Context, cl *client, method string, params json.RawMessage) (json.RawMessage, error) {
	for {
		own, result, err := b.once(ctx, cl, method, params)
		if own == "" || !cl.gone(own, err) || !begins(method) {
			return result, err // which says how the session ended
		}
	}
}

// begins reports whether an agent's work may begin with the command.
func begins(method string) bool {
	row, known := actions.All.Lookup(method)
	return known && (row.Is(command.BeginsSession) || row.Is(command.OpensSession))
}

// once sends a command once and says what the client's own session was. Commands
// that find none wait for each other, so that one of them opens it.
func (b *bridge) once(ctx context.Context, cl *client, method string, params json.RawMessage) (own string, result json.RawMessage, err error) {
	own = cl.own()
	if row, known := actions.All.Lookup(method); own == "" && known && !row.Is(command.NoSession) {
		b.first.Lock()
		defer b.first.Unlock()
		own = cl.own()
	}
	var given any
	if len(params) > 0 && string(params) != "null" { // arguments that are null are none, as at /mcp
		given = params
	}
	result, err = cl.callIn(ctx, own, method, given)
	var said *protocol.Error
	if own == "" && errors.As(err, &said) && said.Code == protocol.SessionNotFound && said.Details["parameter"] == "session" {
		// As on a connection, where any command may be the first.
		if _, err = cl.call(ctx, actions.SessionOpen.Name, nil); err == nil {
			result, err = cl.call(ctx, method, given)
		}
	}
	return own, result, err
}

func (b *bridge) connect(ctx context.Context) (*client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client != nil {
		return b.client, nil
	}
	cl, err := reach(ctx, b.config, os.Stderr)
	if err == nil {
		cl.shared = true
		b.client = cl
	}
	return cl, err
}

func mcpConfigCommand() *cobra.Command {
	var names []string
	for _, c := range mcpclients.All {
		names = append(names, c.Name)
	}
	cmd := &cobra.Command{
		Use:   "config [CLIENT]",
		Short: "Print what to paste into an MCP client's configuration, or write it there",
		Long: `Prints what to paste into an MCP client's configuration. Without a client it lists
them. With --write it puts browserd into the client's own file, where all else stays.`,
		Example:   "  browserd mcp config\n  browserd mcp config cursor --write",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: names,
	}
	write := cmd.Flags().Bool("write", false, "put it into the client's file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			for _, c := range mcpclients.All {
				fmt.Fprintf(cmd.OutOrStdout(), "%-15s %s\n", c.Name, c.Where)
			}
			return nil
		}
		i := slices.Index(names, args[0])
		if i < 0 {
			next := "browserd mcp config lists them"
			if near := command.Nearest(args[0], names); len(near) > 0 {
				next = "browserd mcp config " + near[0]
			}
			return refusal{fmt.Errorf("there is no client %q: accepts one of %s\n%s%s", args[0], strings.Join(names, ", "), nextMark, next)}
		}
		client := mcpclients.All[i]
		if client.Text == nil {
			if *write {
				return refusal{fmt.Errorf("%s has no file to write: leave --write out", client.Name)}
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "# "+client.Where)
			return httpSnippet(cmd)
		}
		program, err := os.Executable()
		if err != nil {
			program = "browserd"
		}
		if *write {
			path, err := client.Write(program)
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), "written:", path)
			}
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "# "+client.Where)
		fmt.Fprintln(cmd.OutOrStdout(), client.Text(program))
		return nil
	}
	return cmd
}

// httpSnippet prints the endpoint /mcp with its token.
func httpSnippet(cmd *cobra.Command) error {
	c, err := config.Load(config.Sources{})
	if err != nil {
		return refusal{err}
	}
	token, err := tokenOf(c.Config)
	if err != nil {
		return err
	}
	base, _, err := addressOf(c.Server)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"browserd": map[string]any{
		"type": "http", "url": base + "/mcp", "headers": map[string]any{"Authorization": "Bearer " + token},
	}}}, "", "  ")
	fmt.Fprintln(cmd.OutOrStdout(), string(b))
	return err
}
