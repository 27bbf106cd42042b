package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/snapshot"
	"github.com/browserd/browserd/snapshot/html"
)

// htmlFile is the HTML that a snapshot is taken of in this process, without a daemon and
// without a session.
type htmlFile struct {
	path string // - is standard input; empty is none: the command is for the daemon
	url  string // of the HTML; empty is about:blank
}

// htmlFlags declares --html and --url. Only snapshot has them.
func htmlFlags(cmd *cobra.Command, row *command.Command) *htmlFile {
	f := &htmlFile{}
	if row == actions.Snapshot {
		cmd.Example += "\n  # Shows the HTML of a file, without a daemon\n  browserd " + row.Name + " --html page.html"
		flags := cmd.Flags()
		flags.StringVar(&f.path, "html", "", "show the HTML of this file, - for standard input, without a daemon and a session")
		flags.StringVar(&f.url, "url", "", "with --html: its URL, with which relative ones are completed")
	}
	return f
}

// ofSessions are the parameters of snapshot that mean nothing without a session.
var ofSessions = []string{"session", "timeout_ms", "after", "delta"}

// given reports whether the command line names a file. It is an error if --html or --url
// stands without what it needs, or beside a parameter of sessions.
func (f *htmlFile) given(flags *pflag.FlagSet, params map[string]any) (bool, error) {
	if !flags.Changed("html") {
		if f.url != "" {
			return false, errors.New("--url: is the URL of a file, which --html names")
		}
		return false, nil
	}
	if f.path == "" {
		return false, errors.New("--html: accepts a file, or - for standard input")
	}
	for _, name := range ofSessions {
		if _, there := params[name]; there {
			wrong := "--" + name + ": is for a session, and --html has none"
			if name == "after" {
				wrong += "; --max_chars and --max_nodes show more at once"
			}
			return false, errors.New(wrong)
		}
	}
	if scope, _ := params["scope"].(string); strings.HasPrefix(scope, "@") {
		return false, errors.New("--scope: accepts a CSS selector with --html, which has no session and so no refs yet")
	}
	return true, nil
}

// snapshot returns the result of the command snapshot for the file. The parameters are
// checked as the daemon checks them.
func (f *htmlFile) snapshot(params map[string]any, stdin io.Reader) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	decoded, err := actions.Snapshot.Decode(raw, &command.Common{})
	if err != nil {
		return nil, explain(actions.Snapshot, err)
	}
	body, err := f.read(stdin)
	if err != nil {
		return nil, wrongWords(actions.Snapshot, "--html: %w", err)
	}
	text, _ := fetch.Text(body, "")
	p := decoded.(*actions.SnapshotParams)
	page, err := html.Snapshot(text, html.Options{
		URL: f.url, Scope: string(p.Scope), AllElements: !p.InteractiveOnly, MaxChars: p.MaxChars, MaxNodes: p.MaxNodes, MaxDepth: p.MaxDepth,
		MaxText: p.MaxText, Attrs: p.Attrs, RepeatText: !p.DedupeText, JSON: p.Format == "json",
	})
	if err != nil {
		return nil, explain(actions.Snapshot, err)
	}
	return json.RawMessage(compact(map[string]snapshot.Snapshot{"snapshot": page.Snapshot})), nil
}

func (f *htmlFile) read(stdin io.Reader) ([]byte, error) {
	if f.path == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(f.path)
}
