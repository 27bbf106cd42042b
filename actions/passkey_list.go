package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// PasskeyList is the command passkey_list.
var PasskeyList = command.Define(command.Row{
	Name: "passkey_list", Summary: "Lists your passkeys, without their private keys.",
	Flags: command.Unqueued | command.NoSession | command.Inspects,
	Examples: []command.Example{
		{For: "Lists your passkeys: ids, sites and users", Params: `{}`},
	},
}, passkeyList)

// PasskeyListParams are none.
type PasskeyListParams struct{}

// PasskeyListResult is the answer of passkey_list.
type PasskeyListResult struct {
	Passkeys []ListedPasskey `json:"passkeys"`
}

func passkeyList(_ context.Context, c *command.Call, _ *PasskeyListParams) (PasskeyListResult, error) {
	keys, err := c.Runtime.Passkeys.List(c.Caller.Agent)
	r := PasskeyListResult{Passkeys: []ListedPasskey{}}
	for _, k := range keys {
		r.Passkeys = append(r.Passkeys, listedPasskey(k))
	}
	return r, err
}
