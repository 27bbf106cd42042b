package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/actions"
	socket "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

func watchCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [SESSION]",
		Short: "Show what happens in your sessions, or in one, until interrupted",
		Long: `Shows what happens in your sessions as it happens: each command with its effect
and its change to the page, and the events (navigations, dialogs, downloads,
tabs, crashes, refusals). With a session's name it shows that session until it
closes. At a terminal it is a table of the sessions, with what runs in them and the latest
lines below it; into a pipe it is the lines. An operator answers there what waits for a
confirmation: ` + keysHelp + `.`,
		Example: "  browserd watch\n  browserd watch shop",
		GroupID: groupCommands,
		Args:    cobra.MaximumNArgs(1),
	}
	load := configured(cmd, args)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return sessionsOf(cmd.Context(), load), cobra.ShellCompDirectiveNoFileComp
	}
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object per event")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		name := ""
		if len(args) > 0 {
			name = args[0]
		}
		ctx := cmd.Context()
		events, err := subscribed(ctx, c, name, cmd.ErrOrStderr())
		if err != nil {
			return explain(nil, err)
		}
		defer events.Close()
		if out, ok := cmd.OutOrStdout().(*os.File); ok && isTerminal(out) && !*asJSON {
			return watchAtTerminal(ctx, out, c.Server.Listen, events, name)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "browserd: watching at %s until interrupted\n", c.Server.Listen)
		write := writeEvent
		if *asJSON {
			write = func(w io.Writer, e protocol.Event) error {
				_, err := fmt.Fprintln(w, compact(e))
				return err
			}
		}
		for {
			e, err := events.Event(ctx, notHello)
			if ctx.Err() != nil {
				return nil // interrupted
			}
			if err != nil {
				return explain(nil, err)
			}
			if err := write(cmd.OutOrStdout(), e); err != nil {
				return err
			}
			if name != "" && e.Type == protocol.EventSessionClosing {
				return nil
			}
		}
	}
	return cmd
}

func notHello(e protocol.Event) bool { return e.Type != protocol.EventHello }

// watchAtTerminal shows a table of the sessions, or of the one that is named, until
// interrupted or, where one is named, until it closes.
func watchAtTerminal(ctx context.Context, terminal *os.File, at string, events *socket.Client, name string) error {
	var answer json.RawMessage
	if err := events.Call(ctx, actions.SessionList.Name, nil, &answer); err != nil {
		return explain(nil, err)
	}
	sessions := slices.DeleteFunc(sessionsIn(answer), func(s listedSession) bool { return name != "" && s.Session != name })
	table := newWatchTable(terminal, "browserd at "+at, sessions)
	typed, restore := keys(stdin)
	defer restore()
	table.typed = typed != nil
	table.begin()
	defer table.end()
	if err := table.draw(time.Now()); err != nil {
		return err
	}
	told, lost := make(chan protocol.Event), make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for {
			e, err := events.Event(ctx, notHello)
			if err != nil {
				lost <- err
				return
			}
			select {
			case told <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	// Once a second at least, for how long ago the last commands were, and for what runs.
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		closed := false
		select {
		case <-ctx.Done():
			return nil // interrupted
		case err := <-lost:
			if ctx.Err() != nil {
				return nil
			}
			return explain(nil, err)
		case e := <-told:
			table.event(e, time.Now())
			closed = name != "" && e.Type == protocol.EventSessionClosing
		case k, open := <-typed:
			if !open {
				typed = nil
			} else if table.choice.key(ctx, k, events, time.Now()) {
				return nil
			}
		case <-second.C:
			asking, stop := context.WithTimeout(ctx, time.Second)
			if events.Call(asking, actions.SessionList.Name, nil, &answer) == nil {
				table.runs(sessionsIn(answer))
			}
			stop()
		}
		if err := table.draw(time.Now()); err != nil || closed {
			return err
		}
	}
}

// subscribed returns a connection that is told every event of one session, or, where
// none is named, of all the agent's.
func subscribed(ctx context.Context, c *config.Loaded, session string, stderr io.Writer) (*socket.Client, error) {
	cl, err := reach(ctx, c, stderr)
	if err != nil {
		return nil, err
	}
	conn, err := socket.Connect(ctx, socket.Options{URL: strings.Replace(cl.base, "http", "ws", 1) + "/v1/ws", Token: cl.token, TLS: cl.secured, Dial: cl.dial, Once: true})
	if err != nil {
		return nil, err
	}
	whose := "all"
	if session != "" {
		whose = "own"
		// Naming it makes it the connection's own, or says that there is none.
		err = conn.Call(ctx, actions.TabList.Name, map[string]any{"session": session}, nil)
	}
	if err == nil {
		err = conn.Call(ctx, actions.Subscribe.Name, map[string]any{"events": protocol.EventTypes, "sessions": whose}, nil)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// writeEvent writes an event for a person: when, where and what, its facts, and
// of a command the lines that it changed.
func writeEvent(w io.Writer, e protocol.Event) error {
	words := []string{time.Now().Format(time.TimeOnly), e.Session}
	var below []string
	if e.Type == protocol.EventCommand {
		var of []string
		of, below = commandWords(e.Fields)
		words = append(words, of...)
	} else {
		words = append(words, e.Type)
		for _, key := range slices.Sorted(maps.Keys(e.Fields)) {
			if key != "type" && key != "session" {
				words = append(words, key+"="+compact(e.Fields[key]))
			}
		}
	}
	lines := snapshot.Literally(strings.Join(words, " ")) + "\n"
	for _, line := range below {
		lines += "  " + snapshot.Literally(line) + "\n"
	}
	_, err := io.WriteString(w, lines)
	return err
}

// commandWords returns the words of a command's line, and the lines below it.
func commandWords(f map[string]any) (words, below []string) {
	words = append(words, fmt.Sprint(f["command"]))
	params, _ := f["params"].(map[string]any)
	dropDefaults(fmt.Sprint(f["command"]), params)
	if len(params) > 0 {
		words = append(words, compact(params))
	}
	if ref, ok := f["ref"].(map[string]any); ok {
		words = append(words, fmt.Sprintf("[%v] %s", ref["role"], compact(ref["name"])))
	}
	words = append(words, fmt.Sprintf("%v ms", f["ms"]))
	if f["code"] != "ok" {
		words = append(words, fmt.Sprintf("%v: %v", f["code"], f["message"]))
	}
	if effect, _ := f["effect"].(map[string]any); len(effect) > 0 {
		below = append(below, "effect: "+compact(effect))
	}
	for _, key := range []string{"snapshot", "delta"} {
		shown, _ := f[key].(map[string]any)
		if text, _ := shown["text"].(string); text != "" {
			below = append(below, strings.Split(text, "\n")...)
		}
	}
	return words, below
}

// dropDefaults leaves of a command's parameters those that are not what they
// would be anyway.
func dropDefaults(command string, params map[string]any) {
	row, known := actions.All.Lookup(command)
	if !known {
		return
	}
	for _, p := range row.Help().Parameters {
		value := strings.Trim(compact(params[p.Name]), `"`)
		if list, ok := params[p.Name].([]any); ok {
			words := make([]string, len(list))
			for i := range list {
				words[i] = fmt.Sprint(list[i])
			}
			value = strings.Join(words, " ")
		}
		if p.Default != "" && value == p.Default {
			delete(params, p.Name)
		}
	}
}

// compact returns a value in one line of JSON.
func compact(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return string(snapshot.EscapeJSON([]byte(strings.TrimSpace(b.String()))))
}
