package session

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Source makes the page of a new session. Opening may take a second or so; it
// is called by the holder of the session's turn, when the first command needs
// a page, and again when a page is lost. The page tells what happens by emit,
// which never blocks.
type Source interface {
	NewPage(ctx context.Context, o Options, emit func(typ string, fields map[string]any)) (Page, error)
}

// Options are what a session is opened with. The zero value is an ordinary session.
type Options struct {
	Name      string            // as the client names it; empty: a name is made
	Source    string            // auto (default), chromium, http, jina
	Viewport  *Viewport         // nil: 1280 by 720
	Locale    string            // BCP 47; empty: en-US
	Timezone  string            // IANA; empty: the machine's
	UserAgent string            // empty: Chromium's own
	Headers   *protocol.Headers // nil: none
	Dialogs   string            // wait (default), accept, dismiss
	// AllowedDomains are the only hosts that the session may reach, of those that
	// the policy lets it; empty: all of those.
	AllowedDomains []string
	// Permissions are what its pages may use without asking, by the names of the
	// web's Permissions API; all else is denied.
	Permissions []string
	Downloads   bool              // its pages may download files; false: denied
	Restore     *protocol.Restore // what to start with; nil: nothing
	Follows     *Ended            // the session that the client used before; nil: none
	// Dispensable: where Chromium is long in starting, the session does without it.
	Dispensable bool
}

// Viewport is the size of a page in CSS pixels.
type Viewport struct {
	Width  int `json:"width" min:"1" max:"10000" doc:"CSS pixels"`
	Height int `json:"height" min:"1" max:"10000" doc:"CSS pixels"`
}

// Manager holds the sessions of a daemon. Its methods may be called by any
// goroutine.
type Manager struct {
	cfg    Config
	source Source
	log    *slog.Logger
	// Unverified reports whether the certificate of a URL's host is not verified
	// (policy.insecure_hosts); nil: every host's is. Set it before the first session.
	Unverified func(url string) bool

	// journals is set before the first session is opened.
	journals JournalConfig

	mu       sync.Mutex
	sessions map[owned]*Session
	ended    map[string][]Ended // by agent, oldest first
	closing  bool
	work     sync.WaitGroup // sessions that are closing

	listeners map[int]listener
	next      int
}

// owned names a session. Each agent has names of its own: none can take
// another's, nor learn by trying which it has.
type owned struct{ agent, name string }

type listener struct {
	agent string
	wants func(session, typ string) bool
	tell  func(protocol.Event)
}

// NewManager returns a Manager without sessions; Close ends it.
func NewManager(cfg Config, source Source, log *slog.Logger) *Manager {
	return &Manager{cfg: cfg, source: source, log: log, sessions: map[owned]*Session{}, ended: map[string][]Ended{}, listeners: map[int]listener{}}
}

// Listen calls tell with every event of the agent's sessions, until stop is
// called. wants says whether it would do anything with one of that type, for
// those that cost something to make. Neither may block or call the Manager.
func (m *Manager) Listen(agent string, wants func(session, typ string) bool, tell func(protocol.Event)) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	id := m.next
	m.listeners[id] = listener{agent, wants, tell}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.listeners, id)
	}
}

func (m *Manager) emit(s *Session, typ string, fields map[string]any) {
	e := protocol.Event{Session: s.name, Type: typ, Fields: fields}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.listeners {
		if l.agent == s.agent {
			l.tell(e)
		}
	}
}

// Emit tells the agent's listeners of something that happened in the session.
// It never blocks; any goroutine may call it.
func (s *Session) Emit(typ string, fields map[string]any) { s.manager.emit(s, typ, fields) }

// Heard says whether anyone listens to such events of the session.
func (s *Session) Heard(typ string) bool {
	m := s.manager
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.listeners {
		if l.agent == s.agent && l.wants(s.name, typ) {
			return true
		}
	}
	return false
}

// Get finds an agent's session by its name, or answers session_not_found, which says how
// it ended where that is known.
func (m *Manager) Get(agent, name string) (*Session, error) {
	m.mu.Lock()
	s := m.sessions[owned{agent, name}]
	m.mu.Unlock()
	if s == nil {
		return nil, notFound(name, m.Ended(agent, name))
	}
	return s, nil
}

// Info is what session_list says of a session.
type Info struct {
	Session   string         `json:"session"`
	Agent     string         `json:"agent,omitempty"` // only where All lists it
	Created   time.Time      `json:"created"`
	IdleFor   float64        `json:"idle_s"`
	ExpiresIn float64        `json:"expires_in_s"`
	Queued    int            `json:"queued"`
	Page      *protocol.Page `json:"page,omitempty"`
}

// List returns the agent's sessions, oldest first.
func (m *Manager) List(agent string) []Info {
	infos := []Info{}
	for _, s := range m.inOrder() {
		if s.agent == agent {
			infos = append(infos, s.info())
		}
	}
	return infos
}

// All returns every agent's sessions, oldest first, for an operator to look at.
func (m *Manager) All() []Info {
	infos := []Info{}
	for _, s := range m.inOrder() {
		i := s.info()
		i.Agent = s.agent
		infos = append(infos, i)
	}
	return infos
}

func (m *Manager) inOrder() []*Session {
	m.mu.Lock()
	list := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		list = append(list, s)
	}
	m.mu.Unlock()
	sort.Slice(list, func(i, j int) bool { return list[i].created.Before(list[j].created) })
	return list
}

// Count says how many sessions are open in the daemon.
func (m *Manager) Count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sessions)
}

// Queued says how many commands wait for their turn in all sessions.
func (m *Manager) Queued() int {
	m.mu.Lock()
	list := slices.Collect(maps.Values(m.sessions))
	m.mu.Unlock()
	n := 0
	for _, s := range list {
		n += s.turns.waiting()
	}
	return n
}

// short is as long as a name may be.
func short(s string) string { return protocol.Cut(s, 64) }

// UploadDir is the directory whose files upload may name; empty: none.
func (m *Manager) UploadDir() string { return m.cfg.UploadDir }
