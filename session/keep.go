package session

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// kept is what commands have set for all pages of the session. It is applied again to a
// page that replaces a lost one. Only for the holder of the turn.
type kept struct {
	emulation protocol.Emulation
	emulated  bool
	routes    []protocol.Route
	downloads bool
	passkeys  bool
	carried   *protocol.State // of a session that another daemon had, until its page is made; nil: nothing
	inherited bool            // another daemon had the session, and what it kept there is not kept here yet
}

// Emulated records the emulation that a command has set. Only for the holder of the turn.
func (k *kept) Emulated(e protocol.Emulation) {
	k.emulation, k.emulated = e.Over(k.emulation), true
}

// InitScripts returns how many scripts the session's documents begin with. Only for the holder
// of the turn.
func (k *kept) InitScripts() int { return len(k.emulation.InitScripts) }

// Routed records the routes that a command has set. Only for the holder of the turn.
func (k *kept) Routed(routes []protocol.Route) { k.routes = routes }

// DownloadsAllowed records that the page keeps downloads. Only for the holder of the turn.
func (k *kept) DownloadsAllowed() { k.downloads = true }

// PasskeysHeld records that the page has authenticators. Only for the holder of the turn.
func (k *kept) PasskeysHeld() { k.passkeys = true }

// again applies the recorded settings to a new page.
func (k *kept) again(ctx context.Context, page Page) error {
	if keeper, ok := page.(Keeper); ok && k.carried != nil {
		if err := keeper.LoadState(ctx, *k.carried); err != nil {
			return err
		}
		k.carried = nil
	}
	live, ok := page.(Device)
	if !ok {
		return nil
	}
	if files, ok := page.(Downloads); ok && k.downloads {
		if err := files.AllowDownloads(ctx); err != nil {
			return err
		}
	}
	if holder, ok := page.(PasskeyHolder); ok && k.passkeys {
		if err := holder.HoldPasskeys(ctx); err != nil {
			return err
		}
	}
	if k.emulated {
		if err := live.Emulate(ctx, k.emulation); err != nil {
			return err
		}
	}
	if len(k.routes) > 0 {
		return live.SetRoutes(ctx, k.routes)
	}
	return nil
}
