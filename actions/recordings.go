package actions

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/recording"

	"github.com/browserd/browserd/actions/command"
)

// Recordings is the command recordings.
var Recordings = command.Define(command.Row{
	Name: "recordings", Summary: "Lists your traces and videos, or reads one.", Main: "name",
	Flags: command.Unqueued | command.NoSession | command.Static | command.ReadOnly | command.Unconfirmed | command.Unaudited | command.WritesFile,
	Examples: []command.Example{
		{For: "Lists your recordings, also those of sessions that have ended", Params: `{}`},
	},
}, recordings)

// RecordingsParams are the parameters of recordings.
type RecordingsParams struct {
	Name     string `json:"name" doc:"the one to read; left out: only the list"`
	MaxChars int    `json:"max_chars" seldom:"true" default:"4000" min:"4" max:"8000000" doc:"characters of content at most"`
	Offset   int    `json:"offset" seldom:"true" default:"0" min:"0" doc:"byte to begin at: next_offset of the answer before"`
	Delete   bool   `json:"delete" default:"false" doc:"remove the one of that name"`
}

// RecordingsResult is the answer of recordings.
type RecordingsResult struct {
	Recordings []recording.Recorded `json:"recordings"`
	// Content is what the recording of that name holds from offset, in base64.
	Content    *string `json:"content,omitempty"`
	Encoding   string  `json:"encoding,omitempty"` // base64
	Size       int64   `json:"size,omitempty"`     // of the whole file, in bytes
	NextOffset int     `json:"next_offset,omitempty"`
	// Path is where the whole file is read over HTTP: GET, with the token.
	Path string `json:"path,omitempty"`
}

func recordings(ctx context.Context, c *command.Call, p *RecordingsParams) (RecordingsResult, error) {
	r, err := recordingsHere(c, p)
	if p.Name == "" && err == nil { // of all daemons of the fleet
		for _, other := range command.AskOthers(ctx, c) {
			var there RecordingsResult
			if other.Err == nil && json.Unmarshal(other.Result, &there) == nil {
				r.Recordings = append(r.Recordings, there.Recordings...)
			}
		}
		slices.SortStableFunc(r.Recordings, func(a, b recording.Recorded) int { // as each daemon lists its own
			if a.State != b.State {
				return cmp.Compare(a.State, b.State) // done before recording
			}
			return a.Time.Compare(b.Time)
		})
	}
	if p.Name == "" || protocol.CodeOf(err) != protocol.InvalidParams {
		return r, err
	}
	for _, other := range command.AskOthers(ctx, c) {
		var there RecordingsResult
		if other.Err == nil && json.Unmarshal(other.Result, &there) == nil {
			return there, nil
		}
	}
	return r, err
}

// recordingsHere is the answer for what this daemon keeps.
func recordingsHere(c *command.Call, p *RecordingsParams) (RecordingsResult, error) {
	store, agent := c.Runtime.Sessions.Recordings(), c.Caller.Agent
	r := RecordingsResult{Recordings: []recording.Recorded{}}
	switch {
	case store == nil:
		return r, protocol.Errorf(protocol.Unsupported, "there is nowhere to keep recordings: the daemon has no state directory")
	case p.Delete && p.Name == "":
		return r, protocol.Errorf(protocol.InvalidParams, "delete removes the recording of a name, and name is left out").With("parameter", "name")
	case p.Delete:
		err := store.Delete(agent, p.Name)
		r.Recordings = store.List(agent)
		return r, err
	case p.Name == "":
		r.Recordings = store.List(agent)
		return r, nil
	}
	content, e, err := store.Read(agent, p.Name, int64(p.Offset), p.MaxChars/4*3)
	if err != nil {
		return r, err
	}
	text := base64.StdEncoding.EncodeToString(content)
	r.Recordings, r.Content, r.Encoding, r.Size, r.Path = []recording.Recorded{e}, &text, "base64", e.Bytes, recording.PathOf(e.Name)
	if next := p.Offset + len(content); int64(next) < e.Bytes {
		r.NextOffset = next
	}
	return r, nil
}
