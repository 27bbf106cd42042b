package session

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// pageSettings are the settings that commands have made for all pages of the session. They are applied again to
// a page that replaces a lost one. Only for the holder of the turn.
type pageSettings struct {
	emulation    protocol.Emulation
	emulated     bool
	routes       []protocol.Route
	downloads    bool
	passkeys     bool
	pendingState *protocol.State // state of a session that was taken over, to be loaded into its first page here; nil: none
	needsResume  bool            // the session was taken over, and resume has not run yet
}

// RecordEmulation records the emulation that a command has set. Only for the holder of the turn.
func (k *pageSettings) RecordEmulation(e protocol.Emulation) {
	k.emulation, k.emulated = e.Over(k.emulation), true
}

// InitScripts returns how many scripts the session's documents begin with. Only for the holder
// of the turn.
func (k *pageSettings) InitScripts() int { return len(k.emulation.InitScripts) }

// RecordRoutes records the routes that a command has set. Only for the holder of the turn.
func (k *pageSettings) RecordRoutes(routes []protocol.Route) { k.routes = routes }

// RecordDownloads records that a command has allowed downloads. Only for the holder of the turn.
func (k *pageSettings) RecordDownloads() { k.downloads = true }

// RecordPasskeys records that the page has virtual authenticators. Only for the holder of the turn.
func (k *pageSettings) RecordPasskeys() { k.passkeys = true }

// apply applies the settings to a new page.
func (k *pageSettings) apply(ctx context.Context, page Page) error {
	if saver, ok := page.(StateSaver); ok && k.pendingState != nil {
		if err := saver.LoadState(ctx, *k.pendingState); err != nil {
			return err
		}
		k.pendingState = nil
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
