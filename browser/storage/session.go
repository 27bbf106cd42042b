package storage

import (
	"context"
	"maps"
	"net/url"
	"sync"
	"time"

	"github.com/chromedp/cdproto/domstorage"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/protocol"
)

// Document is what the main frame of a tab shows.
type Document struct {
	CDP     *cdp.Session // the tab's
	Address string
}

// items are what origins keep in one of their storages, as it was seen last.
type items struct {
	known map[string][][2]string
	bytes int // of known
}

// sessionStorage is what the tabs of a context keep in session storage, as it was seen last. Any
// goroutine may call its methods.
//
// Session storage belongs to a tab, and a state came from one. What was loaded is put into the
// next tab that is made, before it shows anything: into Chromium's own store, from which each
// origin gets its own part and no other's. While a navigation is under way Chromium lets nobody
// ask the document that is left, nor prepare the next.
type sessionStorage struct {
	mu sync.Mutex // guards what follows; nothing is called while it is held
	items
	local items             // local storage, where Storage has been asked for it
	noted bool              // it has
	next  []protocol.Origin // what the next tab is to have
}

// maxKnown is how many bytes are remembered of each storage.
const maxKnown = 8 << 20

// askWithin is how long the tabs may take to say what they keep. One that a script holds up
// does not answer, and keeps no other from being saved.
const askWithin = time.Second

// originOf returns the origin of an address of http or https; otherwise "".
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Leaves is called before a tab goes from a document to another address: the document is asked
// for what its origin keeps in this tab, while it is there. It does not wait for the answer.
func (s *States) Leaves(tab *cdp.Session, from string) {
	origin := originOf(from)
	if origin == "" {
		return
	}
	asked := askSession(tab, origin)
	var local *cdp.Pending
	s.session.mu.Lock()
	noted := s.session.noted
	s.session.mu.Unlock()
	if noted {
		local = ask(tab, localStorage(origin))
	}
	go func() {
		ctx, cancel := context.WithTimeout(s.life, askWithin)
		defer cancel()
		if items, err := entries(ctx, asked); err == nil {
			s.session.seen(origin, items)
		}
		if local == nil {
			return
		}
		if items, err := entries(ctx, local); err == nil {
			s.session.seenLocal(origin, items)
		}
	}()
}

// Storage returns what the origins of the context keep in local and in session storage, as far as
// that is known: of documents that are shown as it is, of those that were left as it was then. Any
// goroutine may call it, and no script of a page can hold it up.
func (s *States) Storage(ctx context.Context) []protocol.Origin {
	st := &s.session
	st.mu.Lock()
	st.noted = true
	st.mu.Unlock()
	for origin, items := range s.shownLocal(ctx) {
		st.seenLocal(origin, items)
	}
	inSession := s.sessionItems(ctx)
	list := []protocol.Origin{}
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, origin := range s.origins.List() {
		if o := (protocol.Origin{Origin: origin, LocalStorage: st.local.known[origin], SessionStorage: inSession[origin]}); len(o.LocalStorage)+len(o.SessionStorage) > 0 {
			list = append(list, o)
		}
	}
	return list
}

// shownLocal returns the local storage of the origins that tabs show, as far as those answer.
func (s *States) shownLocal(ctx context.Context) map[string][][2]string {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	asked, found := map[string]*cdp.Pending{}, map[string][][2]string{}
	for _, d := range s.tabs.Documents() {
		if origin := originOf(d.Address); origin != "" && asked[origin] == nil {
			asked[origin] = ask(d.CDP, localStorage(origin))
		}
	}
	for origin, p := range asked {
		if items, err := entries(ctx, p); err == nil {
			found[origin] = items
		}
	}
	return found
}

// seen remembers what an origin keeps in session storage.
func (st *sessionStorage) seen(origin string, found [][2]string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.items.seen(origin, found)
}

// seenLocal remembers what an origin keeps in local storage.
func (st *sessionStorage) seenLocal(origin string, found [][2]string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.local.seen(origin, found)
}

func (i *items) seen(origin string, found [][2]string) {
	bytes := i.bytes - size(i.known[origin]) + size(found)
	if len(found) == 0 || bytes > maxKnown {
		i.bytes -= size(i.known[origin])
		delete(i.known, origin)
		return
	}
	i.bytes = bytes
	i.known[origin] = found
}

func size(items [][2]string) (n int) {
	for _, item := range items {
		n += len(item[0]) + len(item[1])
	}
	return n
}

// sessionItems returns the session storage of the context by origin: of the documents that are
// there as it is, of others as it was seen last. Of several tabs that show an origin the
// selected one counts.
func (s *States) sessionItems(ctx context.Context) map[string][][2]string {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	asked := map[string]*cdp.Pending{}
	for _, d := range s.tabs.Documents() {
		if origin := originOf(d.Address); origin != "" && asked[origin] == nil {
			asked[origin] = askSession(d.CDP, origin)
		}
	}
	for origin, p := range asked {
		if items, err := entries(ctx, p); err == nil {
			s.session.seen(origin, items)
		}
	}
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	return maps.Clone(s.session.known)
}

// loadSession puts the session storage of these origins into the documents that are there, and
// has the next tab begin with that of the others. An empty first tab is made anew for it.
func (s *States) loadSession(ctx context.Context, origins []protocol.Origin) error {
	st, shown := &s.session, map[string]*cdp.Session{}
	for _, d := range s.tabs.Documents() {
		if origin := originOf(d.Address); shown[origin] == nil {
			shown[origin] = d.CDP
		}
	}
	var next []protocol.Origin
	for _, o := range origins {
		st.seen(o.Origin, o.SessionStorage)
		st.seenLocal(o.Origin, o.LocalStorage)
		if tab := shown[o.Origin]; tab != nil && put(ctx, tab, inSession(o.Origin), o.SessionStorage) == nil {
			continue
		}
		if len(o.SessionStorage) > 0 {
			next = append(next, o)
		}
	}
	st.mu.Lock()
	st.next = next
	st.mu.Unlock()
	if len(next) == 0 {
		return nil
	}
	return s.tabs.Renew(ctx)
}

// CreateTab makes the target of a tab. It begins with the session storage that was loaded.
func (s *States) CreateTab(ctx context.Context) (target.ID, error) {
	st := &s.session
	st.mu.Lock()
	next := st.next
	st.next = nil
	st.mu.Unlock()
	id, e, err := s.tabs.Create(ctx, len(next) > 0)
	if err != nil || len(next) == 0 {
		return id, err
	}
	if e == nil {
		return id, failure.NotAttached()
	}
	session := s.root.Conn().Session(e.SessionID)
	p, err := newPage(ctx, s.life, session)
	if err == nil {
		for _, o := range next {
			if err == nil {
				err = p.in(ctx, o.Origin, func() error { return put(ctx, session, inSession(o.Origin), o.SessionStorage) })
			}
		}
		if err == nil {
			err = p.leave(ctx)
		}
		p.Close()
	}
	if err != nil {
		s.root.Send(target.CloseTarget.Method, target.CloseTargetParams{TargetID: id})
		return id, err
	}
	s.tabs.Attached(*e)
	return id, nil
}

// SaveLast is SaveState at the end of the context: it visits the origins in the selected tab
// itself, which is good for nothing afterwards, and so misses nothing of its session storage.
func (s *States) SaveLast(ctx context.Context) (protocol.State, error) {
	saved, origins := emptyState(), s.origins.List()
	var err error
	if saved.Cookies, err = s.cookies.Cookies(ctx, nil); err != nil || len(origins) == 0 {
		return saved, err
	}
	if tab := s.tabs.TakeLast(); tab != nil {
		limited, cancel := context.WithTimeout(ctx, lastWithin)
		defer cancel()
		if saved.Origins, err = s.visitLast(limited, tab, origins); err == nil || ctx.Err() != nil {
			return saved, err
		}
	}
	saved.Origins, err = s.stored(ctx, origins) // the page does not let go of its tab
	return saved, err
}

// lastWithin is how long the selected tab may take to visit all origins.
const lastWithin = 5 * time.Second

func (s *States) visitLast(ctx context.Context, tab *cdp.Session, origins []string) ([]protocol.Origin, error) {
	list := []protocol.Origin{}
	p := takePage(s.life, tab)
	defer p.Close()
	for _, origin := range origins {
		o := protocol.Origin{Origin: origin}
		err := p.in(ctx, origin, func() (err error) {
			if o.LocalStorage, err = p.items(ctx, localStorage(origin)); err == nil {
				o.SessionStorage, err = p.items(ctx, inSession(origin))
			}
			return err
		})
		if err != nil {
			return list, err
		}
		if len(o.LocalStorage)+len(o.SessionStorage) > 0 {
			list = append(list, o)
		}
	}
	return list, nil
}

func inSession(origin string) *domstorage.StorageID {
	return &domstorage.StorageID{SecurityOrigin: origin}
}

func askSession(tab *cdp.Session, origin string) *cdp.Pending { return ask(tab, inSession(origin)) }

func ask(tab *cdp.Session, at *domstorage.StorageID) *cdp.Pending {
	return tab.Send(domstorage.GetDOMStorageItems.Method, domstorage.GetDOMStorageItemsParams{StorageID: at})
}
