package actions

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// ProfileExport is the command profile_export.
var ProfileExport = command.Define(command.Row{
	Name: "profile_export", Summary: "Answers one of your profiles, with all logins in it, sealed with a passphrase, for profile_import.", Main: "name",
	Flags:     command.Unqueued | command.NoSession | command.SessionWide | command.WritesFile | command.MCPNonDestructive,
	Continues: func(p any) bool { return p.(*ProfileExportParams).Offset > 0 },
	Examples: []command.Example{
		{For: "Takes a profile to another daemon", Params: `{"name": "shop", "passphrase": "correct horse battery staple"}`},
	},
}, profileExport)

// ProfileExportParams are the parameters of profile_export.
type ProfileExportParams struct {
	Name       string `json:"name" required:"true" doc:"the name that session_open {profile} was given"`
	Passphrase string `json:"passphrase" required:"true" doc:"16 characters and more; whoever has it and the content has the logins"`
	Offset     int    `json:"offset" seldom:"true" default:"0" min:"0" doc:"byte to begin at: next_offset of the answer before"`
	Export     string `json:"export" seldom:"true" doc:"with offset, export of the answer before: whose piece it is"`
}

// ProfileExportResult is the answer of profile_export.
type ProfileExportResult struct {
	Name    string `json:"name"`
	Content []byte `json:"content"` // base64: the sealed archive, or a piece of it
	Size    int64  `json:"size"`    // of the whole, in bytes
	// NextOffset is where the next piece begins, and Export is of which export; left out: this was the last one.
	NextOffset int64  `json:"next_offset,omitempty"`
	Export     string `json:"export,omitempty"`
}

func profileExport(ctx context.Context, c *command.Call, p *ProfileExportParams) (ProfileExportResult, error) {
	r := ProfileExportResult{Name: p.Name}
	profiles, agent := c.Runtime.Profiles, c.Caller.Agent
	if err := profiles.Usable(); err != nil {
		return r, err
	}
	if (p.Offset > 0) != (p.Export != "") {
		return r, protocol.Errorf(protocol.InvalidParams, "offset and export: the next piece needs both").With("parameter", "export").Then("pass next_offset and export of the answer before")
	}
	var piece session.ExportPiece
	var err error
	if p.Offset > 0 {
		if piece, err = profiles.ExportNext(agent, p.Name, p.Export, int64(p.Offset)); err != nil {
			return transferElsewhere[ProfileExportResult](ctx, c, err)
		}
	} else {
		err = profiles.WithHold(agent, p.Name, func() (err error) {
			piece, err = profiles.Export(agent, p.Name, p.Passphrase)
			return err
		})
	}
	r.Content, r.Size, r.NextOffset, r.Export = piece.Content, piece.Size, piece.Next, piece.ID
	return r, err
}

// transferElsewhere returns the answer of the daemon of the fleet at which an export or an import is under way
// that this one does not have, because of refused.
func transferElsewhere[T any](ctx context.Context, c *command.Call, refused error) (r T, err error) {
	if !errors.Is(refused, session.ErrNoTransfer) {
		return r, refused
	}
	here := refused.Error()
	for _, other := range command.AskOthers(ctx, c) {
		var there T
		switch {
		case other.Err == nil && json.Unmarshal(other.Result, &there) == nil:
			return there, nil
		case other.Err != nil && other.Err.Error() != here && protocol.CodeOf(other.Err) != "":
			refused = other.Err // it has it, and says what is wrong
		}
	}
	return r, refused
}
