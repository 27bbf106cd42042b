package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// PasskeyDelete is the command passkey_delete.
var PasskeyDelete = command.Define(command.Row{
	Name: "passkey_delete", Summary: "Deletes one of your passkeys for good: the site still knows it, and nobody can use it any more.", Main: "id",
	Flags: command.Unqueued | command.NoSession | command.SessionWide,
	Examples: []command.Example{
		{For: "Deletes a passkey", Params: `{"id": "mzYsNpbyKe2uGc5BIQpQzg"}`},
	},
}, passkeyDelete)

// PasskeyDeleteParams are the parameters of passkey_delete.
type PasskeyDeleteParams struct {
	ID string `json:"id" required:"true" doc:"the passkey's, as passkey_list says it"`
}

// PasskeyDeleteResult is the answer of passkey_delete: what was deleted.
type PasskeyDeleteResult struct {
	Deleted ListedPasskey `json:"deleted"`
}

func passkeyDelete(_ context.Context, c *command.Call, p *PasskeyDeleteParams) (PasskeyDeleteResult, error) {
	gone, err := c.Runtime.Passkeys.Delete(c.Caller.Agent, p.ID)
	return PasskeyDeleteResult{listedPasskey(gone)}, err
}
