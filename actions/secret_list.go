package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/secret"
)

// SecretList is the command secret_list.
var SecretList = command.Define(command.Row{
	Name: "secret_list", Summary: "Lists the secrets that you may use and not see: write {{secret:NAME}} with type, fill, http_request or run, at one of its origins.",
	Flags: command.Unqueued | command.NoSession | command.Inspects,
	Examples: []command.Example{
		{For: "Lists your secrets: names, kinds (text, or totp for a one-time code) and origins", Params: `{}`},
	},
}, secretList)

// SecretListParams are none.
type SecretListParams struct{}

// SecretListResult is the answer of secret_list.
type SecretListResult struct {
	Secrets []secret.Listed `json:"secrets"`
}

func secretList(_ context.Context, c *command.Call, _ *SecretListParams) (SecretListResult, error) {
	list, err := c.Runtime.Secrets.List(c.Caller.Agent)
	return SecretListResult{list}, err
}
