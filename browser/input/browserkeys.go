package input

import (
	"slices"

	"github.com/browserd/browserd/protocol"
)

// browserKeys are the chords that the whole Chromium takes for itself, by their modifiers
// and KeyboardEvent.code: they open and close tabs and windows, open pages of the
// browser's own (view-source:, chrome://downloads, chrome://history, DevTools), or end it, and
// with it every session. The headless shell has none of them; the same holds in both.
var browserKeys = map[int64][]string{
	0:                     {"F12"},
	altKey:                {"F4"},
	controlKey:            {"KeyT", "KeyN", "KeyW", "KeyQ", "KeyU", "KeyJ", "KeyH", "F4"},
	controlKey | shiftKey: {"KeyT", "KeyN", "KeyW", "KeyQ", "KeyI", "KeyJ", "KeyC", "KeyO", "Delete"},
}

// forPage refuses a chord that is the browser's.
func forPage(s string, c Chord) error {
	if !slices.Contains(browserKeys[c.modifiers], c.key.code) {
		return nil
	}
	return protocol.Errorf(protocol.InvalidParams, "key %q: the browser takes this combination for itself, and no page gets it", protocol.Cut(s, 40)).
		With("parameter", "key").Then("use tab_new, tab_close, open or read; in the page, click what the combination stands for")
}
