package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/config"
)

// viewCommand returns the command view for a person at a terminal: as the daemon's own user
// they see every session and answer confirmations, whatever their token's role is.
func viewCommand(args []string) *cobra.Command {
	row := actions.View
	cmd := &cobra.Command{
		Use: row.Name + " [SESSION]", Short: "Opens the live view in your browser: every session, or one.", GroupID: groupCommands, Args: cobra.MaximumNArgs(1),
		Long: `Prints a link to the live view and, at a desk, opens it in your browser. The page shows
the sessions as they are now, and the confirmations that wait. The link works once; the
view that it opens ends after 8 hours.

To the user of the daemon it shows every session, or the one that is named first. Where
the daemon is reached by its address alone, it shows what your token may see: every
session to an operator, to an agent the session that is named or was used last.`,
		Example: "  browserd view\n  browserd view shop\n  browserd view --print",
	}
	load := configured(cmd, args)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return sessionsOf(cmd.Context(), load), cobra.ShellCompDirectiveNoFileComp
	}
	asJSON := cmd.Flags().Bool("json", false, "print the result object as JSON")
	printOnly := cmd.Flags().Bool("print", false, "print the link and open nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		name := ""
		if len(args) > 0 {
			name = args[0]
		}
		link, err := linkToView(cmd.Context(), c, name, cmd)
		if err != nil {
			return explain(row, err)
		}
		if *asJSON {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), compact(link))
			return err
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), link.URL); err != nil || *printOnly {
			return err
		}
		if open := opener(link.URL); open != nil {
			if err := open.Start(); err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "browserd: the link was not opened: %v\n", err)
				return nil
			}
			open.Process.Release()
		}
		return nil
	}
	return cmd
}

func linkToView(ctx context.Context, c *config.Loaded, name string, cmd *cobra.Command) (link command.ViewLink, err error) {
	cl, err := reach(ctx, c, cmd.ErrOrStderr())
	if err != nil {
		return link, err
	}
	link, err = controlled{cl.endpoint}.view(ctx, name)
	if !errors.Is(err, errNoControls) {
		return link, err
	}
	params := map[string]any{}
	if name != "" {
		params["session"] = name
	}
	result, err := runCommand(ctx, c, actions.View, params, cmd.ErrOrStderr())
	if err == nil {
		err = json.Unmarshal(result, &link)
	}
	return link, err
}

// opener returns what opens a link in the browser of the person at this desk; nil: nobody
// sits here.
func opener(link string) *exec.Cmd {
	if os.Getenv("SSH_CONNECTION") != "" {
		return nil
	}
	switch {
	case runtime.GOOS == "darwin":
		return exec.Command("open", link)
	case runtime.GOOS == "windows":
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", link)
	case os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "":
		if path, err := exec.LookPath("xdg-open"); err == nil {
			return exec.Command(path, link)
		}
	}
	return nil
}

// view makes a link to the live view, for the daemon's own user.
func (c controlled) view(ctx context.Context, session string) (link command.ViewLink, err error) {
	body, err := json.Marshal(session)
	if err != nil {
		return link, err
	}
	answer, err := c.ask(ctx, http.MethodPost, "view", body)
	if err == nil {
		err = json.Unmarshal(answer, &link)
	}
	return link, err
}

// serveView answers with a link to the live view of every session; with a name, it begins
// with that one.
func (c *controls) serveView(w http.ResponseWriter, r *http.Request) {
	var name string
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&name); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if name != "" && !c.hasSession(name) {
		http.Error(w, fmt.Sprintf("there is no session %q\n→ browserd view shows all that there are", name), http.StatusBadRequest)
		return
	}
	var link command.ViewLink
	link.URL, link.Expires = c.view(command.Viewing{Agent: command.OwnUser, TokenID: command.OwnUser, Operator: true, Answers: true, Drives: true})
	if link.URL == "" {
		http.Error(w, "no browser reaches the daemon: it listens on its socket alone, since something else has its port", http.StatusBadRequest)
		return
	}
	link.Drives = true
	if name != "" {
		// The page reads it; the server is not sent it.
		link.URL, link.Session = link.URL+"#"+url.PathEscape(name), name
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(link)
}

func (c *controls) hasSession(name string) bool {
	for _, s := range c.sessions.Overviews("", true) {
		if s.Session == name {
			return true
		}
	}
	return false
}
