package actions

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// ProfileImport is the command profile_import.
var ProfileImport = command.Define(command.Row{
	Name: "profile_import", Summary: "Keeps under a name, for session_open {profile}, what profile_export has answered.", Main: "name",
	Flags:      command.Unqueued | command.NoSession | command.SessionWide,
	LocalFiles: "content",
	Implied:    []command.Implied{{Parameter: "content", As: StateSave}},
	Continues:  func(p any) bool { return p.(*ProfileImportParams).Offset > 0 },
	Examples: []command.Example{
		{For: "Takes a profile from another daemon", Params: `{"name": "taken-over", "passphrase": "correct horse battery staple", "content": "YnJvd3NlcmQgcHJvZmlsZSAxCg=="}`},
	},
}, profileImport)

// ProfileImportParams are the parameters of profile_import.
type ProfileImportParams struct {
	Name       string `json:"name" required:"true" doc:"your name for the profile; one of that name is replaced"`
	Passphrase string `json:"passphrase" required:"true" doc:"the one that profile_export was given"`
	Content    string `json:"content" required:"true" doc:"the content that profile_export has answered, in base64, or a piece of it"`
	Offset     int    `json:"offset" seldom:"true" default:"0" min:"0" doc:"byte that this piece begins at: how many have come before"`
	More       bool   `json:"more" seldom:"true" default:"false" doc:"more pieces follow: keep this one for them"`
}

// ProfileImportResult is the answer of profile_import.
type ProfileImportResult struct {
	Imported *session.Saved `json:"imported,omitempty"`
	// NextOffset is where the next piece has to begin, with more.
	NextOffset int64 `json:"next_offset,omitempty"`
}

func profileImport(ctx context.Context, c *command.Call, p *ProfileImportParams) (r ProfileImportResult, err error) {
	profiles, agent := c.Runtime.Profiles, c.Caller.Agent
	if err := profiles.Usable(); err != nil {
		return r, err
	}
	content, err := base64.StdEncoding.DecodeString(strings.TrimSpace(p.Content))
	if err != nil {
		return r, protocol.Errorf(protocol.InvalidParams, "content: it is not base64: %w", err).With("parameter", "content").Then("pass the content that profile_export has answered")
	}
	defer func() {
		if p.Offset > 0 && err != nil {
			r, err = transferElsewhere[ProfileImportResult](ctx, c, err)
		}
	}()
	if p.More {
		id := func() (string, error) { return importID(ctx, c, p) }
		r.NextOffset, err = profiles.ImportPiece(agent, p.Name, id, p.Passphrase, int64(p.Offset), content)
		return r, err
	}
	id, err := importID(ctx, c, p)
	if err != nil {
		return r, err
	}
	if p.Offset > 0 { // or the name would be held that another daemon needs, which has the import
		if err := profiles.CheckImport(agent, p.Name, id); err != nil {
			return r, err
		}
	}
	err = profiles.WithHold(agent, p.Name, func() error {
		if err := profiles.Import(agent, p.Name, id, p.Passphrase, int64(p.Offset), content); err != nil {
			return err
		}
		list, err := profiles.List(agent)
		for _, s := range list {
			if s.Name == p.Name {
				r.Imported = &s
			}
		}
		return err
	})
	return r, err
}

// importID returns the id of the import that a piece is of, so that none is taken for one of an import that was begun before
// at this daemon of a fleet. Empty: it comes whole, or the daemon serves alone.
func importID(ctx context.Context, c *command.Call, p *ProfileImportParams) (id string, err error) {
	switch node := c.Runtime.Fleet; {
	case node == nil:
		return "", nil
	case p.Offset > 0:
		return fleet.ImportID(ctx, node, c.Caller.Agent)
	case p.More:
		return fleet.BeginImport(ctx, node, c.Caller.Agent)
	}
	return "", nil
}
