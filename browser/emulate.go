package browser

import (
	"context"
	"errors"

	"github.com/browserd/browserd/browser/attach"
	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/emulation"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/passkey"
	"github.com/browserd/browserd/browser/screencast"
	"github.com/browserd/browserd/protocol"
)

// device is what pages see of their device, its passkeys and the network, and who films them. Only
// the holder of the session's turn calls Emulate; the overrides have a lock of their own.
type device struct {
	c         *Context
	overrides *emulation.Overrides
	*passkey.Authenticators
	*screencast.Camera
	*attach.Grants
}

func emulationOf(o ContextOptions) protocol.Emulation {
	return emulation.Of(o.Width, o.Height, o.Timezone, o.Locale, o.UserAgent)
}

// Emulate changes what the session's pages are shown: those that are open, with
// their frames, and those to come. What Chromium refuses is invalid_params, and
// holds for no page to come. Some of it a page sees only when it loads again.
//
// The selected tab is the one that is waited for: another may be held by a
// dialog or a script, or be about to close, and takes it before any later command.
// Errors: dialog_open, page_crashed.
func (d *device) Emulate(ctx context.Context, e protocol.Emulation) error {
	c := d.c
	selected, err := c.ready(ctx, "")
	if err != nil {
		return err
	}
	selected.activity.Add(1)
	was := d.overrides.InForce()
	all := e.Over(was)
	d.overrides.Set(all) // before the pages are listed: one that attaches later reads it
	c.mu.Lock()
	var others, frames []*cdp.Session
	for _, t := range c.tabs {
		if t != selected {
			others = append(others, t.cdp)
		}
		for _, child := range t.frames.sessions {
			frames = append(frames, child)
		}
	}
	for _, w := range c.workers {
		frames = append(frames, w)
	}
	c.mu.Unlock()
	selected.pointer.Forget() // the viewport may be another
	if err := selected.waitOverrides(ctx, d.overrides.Send(selected.cdp, e, all, false)); err != nil {
		d.overrides.Set(was)
		return err
	}
	for _, s := range others {
		d.overrides.Send(s, e, all, false)
	}
	for _, s := range frames {
		d.overrides.Send(s, e, all, true)
	}
	return nil
}

// waitOverrides waits for the overrides that were sent to the tab. A dialog that opens
// meanwhile holds it up, and is answered before the page goes on.
func (t *tab) waitOverrides(ctx context.Context, pending []*cdp.Pending) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.life, func() { cancel(context.Cause(t.life)) })()
	defer t.dialogs.onOpen(func() { cancel(errHeld) })()
	err := t.c.overrides.Wait(limited, pending)
	switch {
	case err == nil, context.Cause(limited) == errHeld:
		return nil // written: the page takes it when the dialog is answered
	case t.life.Err() != nil:
		return context.Cause(t.life)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, cdp.ErrGone):
		return failure.Lost(err)
	}
	if why := cdp.Refusal(err); why != "" {
		return protocol.Errorf(protocol.InvalidParams, "Chromium refuses that: %s", why).With("parameter", "emulate")
	}
	return failure.Gone(err)
}

// errHeld ends the wait for a page that a dialog holds.
var errHeld = errors.New("a dialog holds the page")
