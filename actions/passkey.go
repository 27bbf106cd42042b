package actions

import (
	"context"
	"errors"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// Passkey is the command passkey.
var Passkey = command.Define(command.Row{
	Name: "passkey", Summary: "Clicks an element, and lets the page make or use one of your passkeys (WebAuthn) for it.", Next: "Pages get no passkey by any other command.", Main: "ref",
	Flags: command.Acts | command.MCPTimeout,
	Examples: []command.Example{
		{For: "Logs in with a passkey, or makes one, by the page's button for that", Params: `{"ref": {"role": "button", "name": "Send"}, "wait_ms": 100}`},
	},
}, passkey)

// PasskeyParams are the parameters of passkey.
type PasskeyParams struct {
	Ref    protocol.Target `json:"ref" required:"true" doc:"what makes the page ask for a passkey, such as its button Sign in with a passkey"`
	WaitMS int             `json:"wait_ms" seldom:"true" default:"10000" min:"0" max:"60000" doc:"milliseconds that the page may take to ask"`
	command.Shows
}

// PasskeyResult is the answer of passkey.
type PasskeyResult struct {
	command.Result
	// Passkeys are those that the page made or used.
	Passkeys []UsedPasskey `json:"passkeys"`
}

// UsedPasskey is a passkey that a page made or used.
type UsedPasskey struct {
	Made bool `json:"made"` // false: it was used
	ListedPasskey
}

// ListedPasskey is a passkey as an agent is told of it: without its private key.
type ListedPasskey struct {
	ID   string `json:"id"`
	RPID string `json:"rp_id"` // the site's: documents of that host and its subdomains can use it
	User string `json:"user,omitempty"`
}

func listedPasskey(k protocol.Passkey) ListedPasskey { return ListedPasskey{k.ID, k.RPID, k.UserName} }

// How long a page may take after it has a passkey to show what comes of it.
const passkeyQuiet = 5 * time.Second

func passkey(ctx context.Context, c *command.Call, p *PasskeyParams) (PasskeyResult, error) {
	agent, kept := c.Caller.Agent, c.Runtime.Passkeys
	keys, err := kept.ListForNew(agent)
	if err != nil {
		return PasskeyResult{}, err
	}
	page, holder, err := command.Live[session.PasskeyHolder](ctx, c)
	if err != nil {
		return PasskeyResult{}, err
	}
	c.Session.RecordPasskeys()
	var done protocol.Outcome
	used, err := holder.UsePasskeys(ctx, keys, time.Duration(p.WaitMS)*time.Millisecond, func() (err error) {
		done, err = page.Act(ctx, c.Session.Refs(), p.Acting(protocol.Click{Ref: string(p.Ref), Button: "left", Count: 1}))
		return err
	})
	if len(used) > 0 { // whatever else went wrong: the site knows it
		err = errors.Join(err, kept.RecordUse(ctx, agent, used))
	}
	if err == nil && len(used) > 0 {
		err = quietFor(ctx, c, page, passkeyQuiet)
	}
	r := PasskeyResult{Passkeys: []UsedPasskey{}}
	if r.Result, err = c.Acted(ctx, page, done.Effect, err, p.Shows); err != nil {
		return PasskeyResult{}, err
	}
	for _, u := range used {
		r.Passkeys = append(r.Passkeys, UsedPasskey{u.Made, listedPasskey(u.Passkey)})
	}
	if len(used) == 0 {
		r.Note = "the page made and used no passkey: passkey_list says for which sites you have one; a page that asks later needs a higher wait_ms"
	}
	return r, nil
}

// quietFor waits until the page does not change any more, for at most a while.
func quietFor(ctx context.Context, c *command.Call, page session.Page, most time.Duration) error {
	within, stop := context.WithTimeout(ctx, most)
	defer stop()
	_, err := page.Wait(within, c.Session.Refs(), protocol.Wait{For: protocol.WaitQuiet}, nil, nil)
	if within.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}
