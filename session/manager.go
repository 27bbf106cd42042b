package session

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// Source makes the pages of sessions. NewPage may take a second or so. The holder of the
// session's turn calls it when the first command needs a page, and again after a page was
// lost. The page reports events by emit, which never blocks.
type Source interface {
	NewPage(ctx context.Context, o Options, emit func(typ string, fields map[string]any)) (Page, error)
}

// Options are the options of a new session. The zero value is an ordinary session.
type Options struct {
	Name      string            // empty: Open makes a name
	Agent     string            // the owner; set by Open
	Profile   string            // name of the profile whose own Chromium is used; empty: the shared Chromium
	Source    string            // auto (default), chromium, http, jina
	Viewport  *Viewport         // nil: 1280 by 720
	Locale    string            // BCP 47; empty: en-US
	Timezone  string            // IANA; empty: the machine's
	UserAgent string            // empty: Chromium's own
	Headers   *protocol.Headers // nil: none
	Dialogs   string            // wait (default), accept, dismiss
	// AllowedDomains restricts the session to these of the hosts that the policy allows.
	// Empty means no restriction.
	AllowedDomains []string
	// Permissions are granted to the session's pages, by their names in the Permissions
	// API. All others are denied.
	Permissions []string
	Downloads   bool            // pages may download files
	Upstream    policy.Upstream // proxy that the session's connections go through
	// Additions are what operators have added to the policy for the session; set by newSession.
	Additions *policy.Additions `json:"-"`
	Restore   *protocol.Restore // state to start with; nil: none
	Follows   *Ended            // the client's previous session, which has ended; nil: none
	// Optional: the session may go on without Chromium if that does not start, or takes long.
	Optional bool
}

// Viewport is the size of a page in CSS pixels.
type Viewport struct {
	Width  int `json:"width" min:"1" max:"10000" doc:"CSS pixels"`
	Height int `json:"height" min:"1" max:"10000" doc:"CSS pixels"`
}

// Manager holds the sessions of a daemon. NewManager makes one, Shutdown ends it. Any goroutine may call its
// methods.
type Manager struct {
	cfg    Config
	source Source
	log    *slog.Logger
	// Unverified reports whether the certificate of a URL's host is not verified
	// (policy.insecure_hosts). If it is nil, all are verified. Set it before the first
	// session is opened.
	Unverified func(url string) bool
	// Redact removes the secrets that the agent was given from a text; cut: from one that may have been cut. Set
	// it before the first session is opened; nil: nothing is removed.
	Redact func(agent, text string, cut bool) string
	// Fleet records which daemon owns each session; nil: this one owns all. Set it before the
	// first session is opened.
	Fleet Fleet
	// Stores are the stores in which a session that is taken over from another daemon goes on saving its state
	// or profile. Set them together with Fleet.
	Stores Stores

	// actionLogs and recordings are set before the first session is opened.
	actionLogs ActionLogConfig
	recordings recordings

	mu       sync.Mutex
	sessions map[sessionKey]*Session
	opening  map[sessionKey]bool          // names that Open has reserved
	ended    map[string][]Ended           // by agent, oldest first
	added    map[string]*policy.Additions // by agent: what operators have added to the policy for it
	closing  bool
	draining bool           // HandOverAll has begun: the daemon opens no more sessions
	work     sync.WaitGroup // sessions that are closing

	listeners map[int]listener
	next      int

	demand demand
}

// Stores are the stores of what sessions may save beyond their end.
type Stores struct {
	States   *States
	Profiles *Profiles
}

// sessionKey identifies a session. Names are separate for each agent, so that an agent can
// neither take another's name nor find out which names it uses.
type sessionKey struct{ agent, name string }

type listener struct {
	agent  string
	relay  bool // for another daemon of the fleet
	wants  func(session, typ string) bool
	notify func(protocol.Event)
}

// NewManager returns a Manager without sessions. Shutdown ends it.
func NewManager(cfg Config, source Source, log *slog.Logger) *Manager {
	return &Manager{cfg: cfg, source: source, log: log, sessions: map[sessionKey]*Session{}, opening: map[sessionKey]bool{}, ended: map[string][]Ended{}, added: map[string]*policy.Additions{}, listeners: map[int]listener{}}
}

// Listen calls notify with every event of the agent's sessions, until stop is called. wants reports whether
// notify needs events of a type of a session, or of any session if the name is "": expensive events are only
// made if somebody wants them. Neither func may block or call the Manager. An empty agent stands for all
// agents.
func (m *Manager) Listen(agent string, wants func(session, typ string) bool, notify func(protocol.Event)) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listen(listener{agent, false, wants, notify})
}

// Relay is Listen for the clients of another daemon of the fleet. It does not pass on events that came from
// another daemon (DeliverRemote).
func (m *Manager) Relay(agent string, wants func(session, typ string) bool, notify func(protocol.Event)) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listen(listener{agent, true, wants, notify})
}

// listen adds a listener. The caller holds mu.
func (m *Manager) listen(l listener) (stop func()) {
	m.next++
	id := m.next
	m.listeners[id] = l
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.listeners, id)
	}
}

func (m *Manager) emit(s *Session, typ string, fields map[string]any) {
	emitTo(m, s, false, typ, fields)
}

// emitTo is emit. If private is set, the session's own agent does not get the event: only operators do.
func emitTo(m *Manager, s *Session, private bool, typ string, fields map[string]any) {
	e := protocol.Event{Agent: s.agent, Session: s.name, Type: typ, Fields: fields}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.listeners {
		if l.agent == s.agent && !private || l.agent == "" {
			l.notify(e)
		}
	}
}

// DeliverRemote delivers an event of a session at another daemon of the fleet to the agent's listeners at this
// daemon. It never blocks.
func (m *Manager) DeliverRemote(agent string, e protocol.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.listeners {
		if l.agent == agent && !l.relay {
			l.notify(e)
		}
	}
}

// ListenedAgents returns the agents that have listeners at this daemon. The value is true if one of them wants
// events of type typ of any session.
func (m *Manager) ListenedAgents(typ string) map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	agents := map[string]bool{}
	for _, l := range m.listeners {
		if !l.relay {
			agents[l.agent] = agents[l.agent] || l.wants("", typ)
		}
	}
	return agents
}

// Emit sends an event of the session to the agent's listeners, or to operators only while hidesPages holds. It
// never blocks. Any goroutine may call it.
func (s *Session) Emit(typ string, fields map[string]any) {
	emitTo(s.manager, s, hidesPages(s), typ, fields)
}

// HasListener reports whether anyone listens to events of that type in the session.
func (s *Session) HasListener(typ string) bool {
	m := s.manager
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.listeners {
		if (l.agent == s.agent || l.agent == "") && l.wants(s.name, typ) {
			return true
		}
	}
	return false
}

// Get returns an agent's session by its name. Otherwise the error is session_not_found,
// with how the session ended if that is known.
func (m *Manager) Get(agent, name string) (*Session, error) {
	m.mu.Lock()
	s := m.sessions[sessionKey{agent, name}]
	m.mu.Unlock()
	if s == nil {
		return nil, notFound(name, m.Ended(agent, name))
	}
	return s, nil
}

// Info describes a session in session_list.
type Info struct {
	Session   string         `json:"session"`
	Agent     string         `json:"agent,omitempty"` // only where All lists it
	Created   time.Time      `json:"created"`
	IdleFor   float64        `json:"idle_s"`
	ExpiresIn float64        `json:"expires_in_s"`
	Queued    int            `json:"queued"`
	Command   string         `json:"command,omitempty"` // the command that runs
	Page      *protocol.Page `json:"page,omitempty"`
}

// List returns the agent's sessions, oldest first.
func (m *Manager) List(agent string) []Info {
	infos := []Info{}
	for _, s := range m.inOrder() {
		if s.agent == agent {
			i := s.info()
			if s.control.Status().Driver != "" || hidesPages(s) {
				i.Page = nil // the agent may not watch what a person does
			}
			infos = append(infos, i)
		}
	}
	return infos
}

// All returns the sessions of all agents, oldest first, for operators.
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

// Count returns the number of open sessions in the daemon.
func (m *Manager) Count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sessions)
}

// SlotsInUse returns how many sessions count towards session.max: those that are open and those that are being
// opened.
func SlotsInUse(m *Manager) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sessions) + len(m.opening)
}

// Queued returns the number of commands that wait for their turn, in all sessions.
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

// truncateName cuts s to the longest length of a name.
func truncateName(s string) string { return protocol.Cut(s, 64) }

// UploadDir returns the directory whose files upload may name, or "".
func (m *Manager) UploadDir() string { return m.cfg.UploadDir }
