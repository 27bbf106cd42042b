package fallback

import (
	"context"
	"slices"
	"strings"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
)

const (
	// maxEntries is the length of the history, as in Chromium.
	maxEntries = 50
	// maxKept is the HTML, in bytes, that the history keeps. Documents beyond it are
	// fetched again.
	maxKept = 32 << 20
)

// history has the documents that a page has opened.
type history struct {
	now     *document // the open document; nil before the first
	entries []entry
	at      int // index of the open entry
}

// entry is one entry of the history. Entries of one document share its visit.
type entry struct {
	visit *visit
	at    address
}

// visit is one document as it was fetched and left.
type visit struct {
	source
	asked request
	state form.State // of its controls when it was left
	text  bool       // the source still has its text
}

// appendEntry is the place after the open entry. An entry put there replaces all that
// follow.
const appendEntry = -1

// put makes e the entry at place, and opens it.
func (h *history) put(e entry, place int) {
	if place != appendEntry && place < len(h.entries) {
		h.entries[place], h.at = e, place
	} else {
		h.entries = append(slices.Clip(h.entries[:min(h.at+1, len(h.entries))]), e)
		if over := len(h.entries) - maxEntries; over > 0 {
			h.entries = slices.Delete(h.entries, 0, over)
		}
		h.at = len(h.entries) - 1
	}
	h.dropTexts()
}

// dropTexts drops the HTML of the documents farthest from the open one, beyond maxKept.
func (h *history) dropTexts() {
	size := 0
	for far := range len(h.entries) {
		for _, i := range []int{h.at - far, h.at + far} {
			if i < 0 || i >= len(h.entries) {
				continue
			}
			if v := h.entries[i].visit; v.text {
				if size += len(v.source.text); size > maxKept && far > 0 {
					v.text, v.source.text = false, ""
				}
			}
		}
	}
}

// leave stores what the open document's controls hold in the history.
func (p *Page) leave() {
	d := p.history.now
	if d == nil {
		return
	}
	p.left = append(p.left, d.tree.Number())
	if h := &p.history; len(h.entries) > 0 {
		h.entries[h.at].visit.state = d.controls.State()
	}
}

// History goes back (delta -1) or forward (+1), or reloads (0). It shows a document as it
// was left, without fetching it again, unless its Cache-Control is no-store. Errors:
// navigation_failed if there is no such entry, and those of Open.
func (p *Page) History(ctx context.Context, delta int) (protocol.Effect, error) {
	h := &p.history
	to := h.at + delta
	if len(h.entries) == 0 || to < 0 || to >= len(h.entries) {
		word := map[int]string{-1: "to go back to", 0: "to load again", 1: "to go forward to"}[delta]
		return protocol.Effect{}, protocol.Errorf(protocol.NavigationFailed, "there is no page %s", word).With("reason", "no_history").Then("open a URL")
	}
	e := h.entries[to]
	asked := e.visit.asked
	asked.to = e.at
	if delta == 0 && e.at.scheme != "" {
		asked.reload = true
		return p.navigate(ctx, asked, e.visit.name, to)
	}
	if e.visit == h.entries[h.at].visit {
		h.at = to
		p.show(h.now, e.at)
		return protocol.Effect{Navigated: p.State().URL}, nil
	}
	if !e.visit.text || strings.Contains(strings.ToLower(e.visit.header.Get("Cache-Control")), "no-store") {
		if asked.method != "GET" {
			return protocol.Effect{}, protocol.Errorf(protocol.NavigationFailed, "the page was the response to a form and is no longer stored: the form would be submitted again").
				With("reason", "resubmission").Then("open the page of the form again")
		}
		return p.navigate(ctx, asked, e.visit.name, to)
	}
	d, err := p.load(ctx, e.visit.source)
	if err != nil {
		return protocol.Effect{}, err
	}
	p.leave()
	d.controls.Restore(e.visit.state)
	h.now, h.at = d, to
	p.setAttempts(nil)
	p.show(d, e.at)
	return protocol.Effect{Navigated: p.State().URL, Changed: true}, nil
}
