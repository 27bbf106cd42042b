package browser

import (
	"context"
	"slices"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/person"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/storage"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// tabList is the tabs of a context, and which of them commands go to. The reader goroutine
// adds and removes tabs, commands select one. The context's mu guards all of it but c.
type tabList struct {
	c            *Context
	tabs         []*tab        // in the order in which they were opened; at most ContextOptions.MaxTabs
	selected     *tab          // nil: none, or it died and is being replaced
	replacing    chan struct{} // not nil while a new tab is made for a selected one that died
	tabCount     int           // tabs opened so far, for their names
	documents    int           // main documents loaded so far
	people       *person.People
	departedDocs []int // documents that were left and that the refs do not know of yet
}

// find returns the tab of that name, or invalid_params that lists the names.
func (l *tabList) find(name string) (*tab, error) {
	c := l.c
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, 0, len(c.tabs))
	for _, t := range c.tabs {
		if t.name == name {
			return t, nil
		}
		names = append(names, t.name)
	}
	return nil, protocol.Errorf(protocol.InvalidParams, "tab %q: there is no such tab", name).With("parameter", "tab").With("tabs", names).Then("tab_list lists the tabs")
}

// Tabs lists the tabs in the order in which they were opened.
func (l *tabList) Tabs() []protocol.Tab {
	c := l.c
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]protocol.Tab, 0, len(c.tabs))
	for _, t := range c.tabs {
		list = append(list, t.info())
	}
	return list
}

// openDocuments returns what the tabs show, that of the selected one first.
func (l *tabList) openDocuments() (list []storage.Document) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	for _, t := range l.tabs {
		at := len(list)
		if t == l.selected {
			at = 0
		}
		list = slices.Insert(list, at, storage.Document{CDP: t.cdp, Address: t.nav.url})
	}
	return list
}

// reopenBlank makes the only tab anew where it has shown nothing yet.
func (l *tabList) reopenBlank(ctx context.Context) error {
	c := l.c
	c.mu.Lock()
	if len(c.tabs) != 1 || c.tabs[0].nav.commits > 0 {
		c.mu.Unlock()
		return nil
	}
	old := c.tabs[0]
	c.tabs, c.selected, c.tabCount = nil, nil, 0
	c.mu.Unlock()
	_, err := c.newTab(ctx, "")
	old.forget()
	c.host.root.Send(target.CloseTarget.Method, target.CloseTargetParams{TargetID: old.target})
	return err
}

// takeSelected returns the selected tab's cdp session, and forgets the tab; nil: there is none.
func (l *tabList) takeSelected() *cdp.Session {
	l.c.mu.Lock()
	t := l.selected
	l.c.mu.Unlock()
	if t == nil {
		return nil
	}
	t.forget()
	return t.cdp
}

// TabNew opens a tab, selects it, and loads url where one is given.
func (l *tabList) TabNew(ctx context.Context, url string) (protocol.Effect, error) {
	c := l.c
	c.mu.Lock()
	n := len(c.tabs)
	c.mu.Unlock()
	if n >= c.o.MaxTabs {
		return protocol.Effect{}, protocol.Errorf(protocol.SessionLimit, "the session has %d tabs, as many as it may", n).
			With("limit", c.o.MaxTabs).With("open", n).Then("close a tab with tab_close")
	}
	t, err := c.newTab(ctx, url)
	if err != nil {
		return protocol.Effect{}, err
	}
	c.mu.Lock()
	c.selected = t
	e := protocol.Effect{TabsOpened: []protocol.Tab{t.info()}}
	c.mu.Unlock()
	if url == "" {
		return e, nil
	}
	opened, err := c.Open(ctx, url, protocol.WaitAuto)
	opened.TabsOpened = append(e.TabsOpened, opened.TabsOpened...)
	return opened, err
}

// TabSelect makes the tab the one that commands go to.
func (l *tabList) TabSelect(ctx context.Context, name string) (protocol.Effect, error) {
	c := l.c
	t, err := c.find(name)
	if err != nil {
		return protocol.Effect{}, err
	}
	c.mu.Lock()
	c.selected = t
	t.nav.askTitle()
	c.mu.Unlock()
	if err := t.wait(ctx, t.cdp.Send("Page.bringToFront", cdproto.Empty{}), nil); err != nil {
		return protocol.Effect{}, err
	}
	t.nav.awaitTitle(ctx)
	return protocol.Effect{}, nil
}

// TabClose closes a tab, the selected one where name is empty. A session keeps
// one tab: closing the last opens an empty one.
func (l *tabList) TabClose(ctx context.Context, name string) (protocol.Effect, error) {
	c := l.c
	t, err := c.find(name)
	if name == "" {
		t, err = c.tab(ctx)
	}
	if err != nil {
		return protocol.Effect{}, err
	}
	c.mu.Lock()
	last := len(c.tabs) == 1
	c.mu.Unlock()
	if last {
		if _, err := c.newTab(ctx, ""); err != nil {
			return protocol.Effect{}, err
		}
	}
	// A tab that has died or closed itself meanwhile is closed all the same.
	if _, err := cdproto.Call(ctx, c.host.root, target.CloseTarget, target.CloseTargetParams{TargetID: t.target}); err != nil && cdp.Refusal(err) == "" {
		return protocol.Effect{}, err
	}
	select {
	case <-t.life.Done():
	case <-ctx.Done():
		return protocol.Effect{}, context.Cause(ctx)
	}
	return protocol.Effect{}, nil
}

// Surface returns a tab as people see and drive it; empty: the selected one.
func (l *tabList) Surface(name string) (*person.Tab, error) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	for _, t := range l.c.tabs {
		if name == t.name || name == "" && t == l.c.selected {
			return l.people.Tab(t.life, t.cdp), nil
		}
	}
	return nil, failure.DocumentGone()
}

// PersonDrives has what is typed be marked as a person's, and dialogs wait for them, or ends that.
func (l *tabList) PersonDrives(ctx context.Context, drives bool) error {
	return l.people.Drive(ctx, drives, l.c.sessions())
}

// Boxes says where the elements of refs are in view on the selected tab.
func (l *tabList) Boxes(ctx context.Context, refs *snapshot.Refs, list []string) (map[string]script.Box, error) {
	t, err := l.c.ready(ctx, "")
	if err != nil {
		return nil, err
	}
	return seenAt(ctx, t, refs, list, true)
}

// Documents are the numbers of the main documents, by the names of their tabs.
func (l *tabList) Documents() map[string]int {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	docs := make(map[string]int, len(l.c.tabs))
	for _, t := range l.c.tabs {
		docs[t.name] = t.frames.main.doc
	}
	return docs
}

// document finds a document that a frame of any tab has now.
func (l *tabList) document(doc int) *document {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	for _, t := range l.c.tabs {
		for _, f := range t.frames.byID {
			if f.doc == doc {
				return f.currentDocument()
			}
		}
	}
	return nil
}

// HasDocument reports whether a frame of any tab has the document of that number.
func (l *tabList) HasDocument(doc int) bool { return l.c.life.Err() == nil && l.document(doc) != nil }

// selectedSession returns the selected tab's cdp session.
func (l *tabList) selectedSession(ctx context.Context) (*cdp.Session, error) {
	t, err := l.c.tab(ctx)
	if err != nil {
		return nil, err
	}
	return t.cdp, nil
}
