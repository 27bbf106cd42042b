package fallback

import (
	"context"
	"slices"
	"strings"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
)

const (
	// maxEntries bounds the history, as Chromium's is bounded.
	maxEntries = 50
	// maxKept bounds the HTML that the history keeps; what is dropped is asked
	// for again.
	maxKept = 32 << 20
)

// history is where a page has been.
type history struct {
	now     *document // nil: nothing was opened yet
	entries []entry
	at      int // the entry that is open
}

// entry is one step of the history. Steps within one document share it.
type entry struct {
	visit *visit
	at    address
}

// visit is one document as it was got and left.
type visit struct {
	source
	asked request
	state form.State // of its controls when it was left
	text  bool       // the source still has its text
}

// onwards is the place of a step behind the open one, in place of what follows.
const onwards = -1

// remember puts a step at a place and opens it.
func (h *history) remember(e entry, place int) {
	if place != onwards && place < len(h.entries) {
		h.entries[place], h.at = e, place
	} else {
		h.entries = append(slices.Clip(h.entries[:min(h.at+1, len(h.entries))]), e)
		if over := len(h.entries) - maxEntries; over > 0 {
			h.entries = slices.Delete(h.entries, 0, over)
		}
		h.at = len(h.entries) - 1
	}
	h.shed()
}

// shed drops the text of the documents that are farthest from the open one.
func (h *history) shed() {
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

// leave keeps what the open document's controls hold.
func (p *Page) leave() {
	d := p.history.now
	if d == nil {
		return
	}
	p.left = append(p.left, d.static.Number())
	if h := &p.history; len(h.entries) > 0 {
		h.entries[h.at].visit.state = d.controls.State()
	}
}

// History goes back (-1) or forward (+1), or loads again (0). A document that
// was left is shown as it was left, without asking for it again, unless it may
// not be stored. Errors: navigation_failed where there is no such step, and
// those of Open.
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
		asked.rereads = true
		return p.navigate(ctx, asked, e.visit.name, to)
	}
	if e.visit == h.entries[h.at].visit {
		h.at = to
		p.show(h.now, e.at)
		return protocol.Effect{Navigated: p.State().URL}, nil
	}
	if !e.visit.text || strings.Contains(strings.ToLower(e.visit.header.Get("Cache-Control")), "no-store") {
		if asked.method != "GET" {
			return protocol.Effect{}, protocol.Errorf(protocol.NavigationFailed, "the page was the answer to a form and is not kept: it would have to be sent again").
				With("reason", "resubmission").Then("open its form again")
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
	p.tried(nil)
	p.show(d, e.at)
	return protocol.Effect{Navigated: p.State().URL, Changed: true}, nil
}
