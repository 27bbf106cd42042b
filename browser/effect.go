package browser

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/browserd/browserd/browser/report"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// observed is what events report: to the action, navigation or answer to a dialog that is
// under way, or to the next answer. The context's mu guards it.
type observed struct {
	effects        *effects   // of the action under way; nil: none is
	betweenActions report.Log // what happened since the last action ended, and is not its effect
	answered       struct {   // the selected tab's state when the last answer was sent
		tab     *tab
		commits int
		url     string
	}
}

// reports is where what a page says goes now. The caller holds mu.
func (o *observed) reports() *report.Log {
	if o.effects != nil {
		return &o.effects.Log
	}
	return &o.betweenActions
}

// effects is what events report while an action, a navigation or the answer to a dialog is under way. The context's
// mu guards it. Its methods may be called on nil, which is what a context has while nobody acts.
type effects struct {
	report.Log
	navigated string // URL of the tab that is acted on, where it has another
	opened    []*tab
	announced int         // tabs that a link asked for and that have not come
	settled   *settled    // what the input itself brought back, see tab.setSettleResult
	frameDocs []*document // of the frames in which the action took place
}

func (e *effects) navigatedTo(url string) {
	if e != nil {
		e.navigated = url
	}
}

// tabAnnounced notes that a link asked for a tab, which is yet to come.
func (e *effects) tabAnnounced() {
	if e != nil {
		e.announced++
	}
}

// tabOpened notes a page that appeared in the context. It belongs to the action where another page opened it (popup)
// or a link asked for it, which leaves it without an opener. kept is false for a page beyond the limit.
func (e *effects) tabOpened(t *tab, popup, kept bool) {
	if e == nil {
		return
	}
	announced := e.announced > 0
	if announced {
		e.announced--
	}
	if (announced || popup) && kept {
		e.opened = append(e.opened, t)
	}
}

// settling changes how an action waits for the page to settle.
type settling struct {
	unshown bool // the client wants nothing of the page shown afterwards
	late    bool // the action may open something only a while later
}

// observation is one action, navigation or answer to a dialog as it is observed: where
// the tab was when it began, and what settling has seen since. It belongs to the
// goroutine that began it.
type observation struct {
	settling
	navigationCounts
	tab        *tab
	at         time.Time // when it began
	url        string    // of the tab, when it began
	failedLoad *failedLoad
	asked      bool      // requests were made
	polled     time.Time // when the page was last asked whether it is quiet; zero: with the input
	again      bool      // it was polled once more because a response had arrived during the last poll
	seen       settled
}

// begin starts to observe the tab: from now on events note their effects.
func (t *tab) begin(h settling) *observation {
	t.activity.Add(1)
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.c.effects = &effects{}
	t.c.dialogs = 0
	for _, o := range t.c.tabs {
		for _, f := range o.frames.byID {
			f.allowDialogs()
		}
	}
	return &observation{settling: h, tab: t, at: time.Now(), url: t.nav.url, navigationCounts: t.nav.navigationCounts, failedLoad: t.nav.failedLoad}
}

// end stops observing and returns what happened; hit is the node that received the
// input, zero for none.
func (s *observation) end(refs *snapshot.Refs, hit snapshot.Key) protocol.Effect {
	t, c := s.tab, s.tab.c
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.effects
	c.effects = nil
	h.Announce(s.seen.Announced...)
	said := h.Take()
	if t.nav.commits == s.commits && c.selected == t {
		h.navigated = ""
		if t.nav.url != s.url {
			h.navigated = t.nav.url
		}
	}
	e := protocol.Effect{Navigated: h.navigated, Reports: said.Reports, Changed: s.seen.Changed || h.navigated != ""}
	e.Pending = pendingSince(t, s.at)
	c.markAnswered()
	if n, ok := refs.Seen(hit); ok {
		e.Hit = snapshot.RefOf(n)
	}
	if s.seen.Focused != 0 {
		e.FocusedDoc, e.FocusedNode = s.seen.focusedIn, s.seen.Focused
		if n, ok := refs.Seen(snapshot.Key{Doc: s.seen.focusedIn, Node: s.seen.Focused}); ok {
			e.Focused = snapshot.RefOf(n)
		}
	}
	for _, o := range h.opened {
		info := o.info()
		if o.nav.commits == 0 && o.nav.initialURL != "" {
			// As in the event: what was opened. The list of tabs says what is there, as the
			// page that opened the tab may have written into its empty document.
			info.URL = o.nav.initialURL
		}
		e.TabsOpened = append(e.TabsOpened, info)
	}
	if n := len(said.Dialogs); n > 0 {
		e.Dialog, e.Dialogs = &said.Dialogs[n-1], said.Dialogs[:n-1]
	}
	if t.dialogs.open != nil {
		e.Dialog = t.dialogs.open
	}
	return e
}

// pendingSince returns the requests that the tab has made since then and that run.
func pendingSince(t *tab, at time.Time) []protocol.PendingRequest {
	list := t.requests.Pending(at)
	list = list[:min(len(list), protocol.MaxReports)]
	for i := range list {
		list[i].URL = report.Address(list[i].URL)
	}
	return list
}

// markAnswered notes the selected tab and its URL when an answer is sent. The caller holds mu.
func (r *records) markAnswered() {
	c := r.c
	if t := c.selected; t != nil {
		c.answered.tab, c.answered.commits, c.answered.url = t, t.nav.commits, t.nav.url
	}
}

// Since returns what happened since the last action that is no effect of it, once; nil
// if nothing did. Any goroutine may call it.
func (r *records) Since() *protocol.Since {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	said := c.betweenActions.Take()
	s := &protocol.Since{Changed: said.Changed, Dialogs: said.Dialogs, Reports: said.Reports}
	if t := c.selected; t != nil && t == c.answered.tab && (t.nav.commits != c.answered.commits || t.nav.url != c.answered.url) {
		s.Navigated, s.Changed = t.nav.url, true
	}
	c.markAnswered()
	if reflect.ValueOf(*s).IsZero() {
		return nil
	}
	return s
}

// addFrameDoc notes that the action takes place in a frame's document, which must settle
// too, besides the tab's.
func (a *action) addFrameDoc(d *document) {
	t := a.tab
	if d.frame == t.frames.main {
		return
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	e := t.c.effects
	if e != nil && !slices.ContainsFunc(e.frameDocs, func(o *document) bool { return o.doc == d.doc }) {
		e.frameDocs = append(e.frameDocs, d)
	}
}

// frameDocs returns the noted frames' documents that still exist.
func (t *tab) frameDocs() (list []*document) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.c.effects == nil {
		return nil
	}
	for _, d := range t.c.effects.frameDocs {
		if d.frame.doc == d.doc {
			list = append(list, d)
		}
	}
	return list
}

// openedWait is how long a tab that an action asked for may take to come, and, once it is
// set up, to say its URL. setUpWait is how long it may take to be set up.
const (
	openedWait = 500 * time.Millisecond
	setUpWait  = 5 * time.Second
)

// awaitOpened waits until the tabs that the action asked for have come, and those
// that it opened have begun to load.
func (s *observation) awaitOpened(ctx context.Context) {
	t := s.tab
	soon, cancel := context.WithTimeout(ctx, openedWait)
	defer cancel()
	var opened []*tab
	t.until(soon, func() bool {
		if t.c.effects == nil {
			return true
		}
		opened = t.c.effects.opened
		return t.c.effects.announced == 0
	})
	if len(opened) == 0 {
		return
	}
	settingUp, cancel := context.WithTimeout(ctx, setUpWait)
	defer cancel()
	for _, o := range opened {
		select {
		case <-o.up:
		case <-settingUp.Done():
		}
	}
	loading, cancel := context.WithTimeout(ctx, openedWait)
	defer cancel()
	for _, o := range opened {
		o.until(loading, func() bool { return o.nav.commits > 0 })
	}
}

// loadError returns the error of an action or a navigation whose new document did not load,
// so that Chromium shows an empty error page; nil if the document has loaded or no
// navigation took place.
func (s *observation) loadError(ctx context.Context) error {
	t := s.tab
	t.c.mu.Lock()
	lost := t.nav.failedLoad
	t.c.mu.Unlock()
	if lost == nil {
		return nil
	}
	if lost != s.failedLoad {
		t.nav.awaitErrorPage(ctx, s.commits)
	}
	t.c.mu.Lock()
	shown := t.nav.commits != s.commits && t.nav.onErrorPage
	t.c.mu.Unlock()
	if !shown {
		return nil
	}
	return t.nav.navigationError(lost.reason, s.at).With("url", lost.url)
}
