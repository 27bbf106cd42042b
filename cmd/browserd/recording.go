package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/recording"
)

// keepRecordings has the sessions' recordings kept in the state directory, without the secrets that
// their agents were given.
func keepRecordings(cfg config.Config, r *command.Runtime, node *fleetNode) {
	if cfg.Browser.StateDir == "" {
		return
	}
	store := recording.NewStore(savedFiles(cfg.Browser.StateDir, "recordings"), cfg.Recording)
	if node != nil {
		fleet.ShareRecordingLimits(node.Node, store)
	}
	r.Sessions.EnableRecordings(store, r.Version, func(agent string) recording.Redact {
		// Without its lease a node does not know what other nodes give the agent: then it keeps nothing that a page shows.
		knows := func() bool { return r.Sessions.CheckAgent(agent) == nil }
		return recording.Redact{
			JSON: func(line []byte) []byte {
				if !knows() {
					return []byte("{}")
				}
				return r.Secrets.Redact(agent, line)
			},
			Text: func(text string) string {
				if !knows() {
					return ""
				}
				return r.Secrets.RedactText(agent, text)
			},
			Gave: func() bool { return !knows() || r.Secrets.HasGiven(agent) },
		}
	})
}

// recordingNamed returns the recording that a command line is to read whole.
func recordingNamed(row *command.Command, params map[string]any) (name string, is bool) {
	name, _ = params["name"].(string)
	return name, row == actions.Recordings && name != "" && params["delete"] != true && params["offset"] == nil && params["max_chars"] == nil
}

// stoppedRecording returns the recording that the command has ended; empty: none.
func stoppedRecording(row *command.Command, result json.RawMessage) string {
	var r actions.RecordingResult
	if row != actions.Trace && row != actions.Video || json.Unmarshal(result, &r) != nil || r.Recording.State != recording.Done {
		return ""
	}
	return r.Recording.Name
}

// fetchRecording writes a recording to file, or where that is empty to one of its own name in the
// working directory, which is not there yet, and prints which.
func fetchRecording(ctx context.Context, c *config.Loaded, name, file string, out, stderr io.Writer) error {
	cl, err := reach(ctx, c, stderr)
	if err != nil {
		return err
	}
	body, err := cl.read(ctx, recording.PathOf(url.PathEscape(name)))
	if err != nil {
		return explain(actions.Recordings, err)
	}
	defer body.Close()
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if file == "" {
		file, flags = filepath.Base(name), flags|os.O_EXCL
	}
	to, err := os.OpenFile(file, flags, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, body); err != nil {
		return errors.Join(err, to.Close())
	}
	if err := to.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, file)
	return err
}
