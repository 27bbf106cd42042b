package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// ProfileExport is the command profile_export.
var ProfileExport = command.Define(command.Row{
	Name: "profile_export", Summary: "Answers one of your profiles, with all logins in it, sealed with a passphrase, for profile_import.", Main: "name",
	Flags: command.Unqueued | command.NoSession | command.SessionWide | command.WritesFile | command.MCPNonDestructive,
	Examples: []command.Example{
		{For: "Takes a profile to another daemon", Params: `{"name": "shop", "passphrase": "correct horse battery staple"}`},
	},
}, profileExport)

// ProfileExportParams are the parameters of profile_export.
type ProfileExportParams struct {
	Name       string `json:"name" required:"true" doc:"the name that session_open {profile} was given"`
	Passphrase string `json:"passphrase" required:"true" doc:"16 characters and more; who has it and the content has the logins"`
}

// ProfileExportResult is the answer of profile_export.
type ProfileExportResult struct {
	Name    string `json:"name"`
	Content []byte `json:"content"` // base64: the sealed archive
}

func profileExport(_ context.Context, c *command.Call, p *ProfileExportParams) (ProfileExportResult, error) {
	r := ProfileExportResult{Name: p.Name}
	if err := c.Runtime.Profiles.Usable(); err != nil {
		return r, err
	}
	err := c.Runtime.Profiles.Alone(c.Caller.Agent, p.Name, func() (err error) {
		r.Content, err = c.Runtime.Profiles.Export(c.Caller.Agent, p.Name, p.Passphrase)
		return err
	})
	return r, err
}
