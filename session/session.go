package session

import (
	"context"
	"crypto/rand"
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/handoff"
	"github.com/browserd/browserd/snapshot"
)

// Session is one client's browsing.
type Session struct {
	identity
	turns turns
	// life ends with the session. It is the parent context of everything that runs in the session.
	life context.Context
	end  context.CancelCauseFunc

	// Only the holder of the turn uses the fields from here to mu.
	refs  *snapshot.Refs
	views []*View // least recently used first; at most maxViews
	pageSettings
	loss
	checkpoints checkpointWriter
	secrets     SecretUse

	mu        sync.Mutex
	page      Page        // nil until a command needs it
	revisions map[int]int // by document: how many snapshots of it the client was shown
	activity
	lifecycle
	answers answers
	records
	persistence
	unreportedCrash map[string]any // details of a crash that no command has reported yet; nil: none

	control handoff.Control
}

// lifecycle says whether the session is open here, and which daemon owns it. It is guarded by mu.
type lifecycle struct {
	closed bool
	moved  bool  // another daemon owns the session, or may take it over: this daemon runs no command in it
	epoch  int64 // of this daemon's ownership; 0: the daemon is not part of a fleet
}

// persistence says where the session's state is saved. It is guarded by mu.
type persistence struct {
	saver      *autosaver // nil: the state is not saved
	resumeName string     // the name under which another daemon saved the state and under which this one has to go on; empty: none, or saver has it
}

// identity is immutable.
type identity struct {
	name    string
	agent   string
	created time.Time
	options Options
	manager *Manager
}

// loss describes a page that was lost with its browser. Only for the holder of the turn.
type loss struct {
	reported bool   // a command has answered browser_lost
	cause    string // causeNodeLost, or empty if Chromium died
	// unrestored is the lost page's state, until its URL has been loaded again. nil: no page is lost.
	unrestored      *protocol.Restore
	storageRestored bool // the new page also has the lost page's local and session storage
}

// activity records the use of the session. It is guarded by mu.
type activity struct {
	running       int                  // number of commands that run, the holder of the turn included
	command       string               // the command that holds the turn; empty: none
	used          time.Time            // when a command last began or ended
	expiry        *time.Timer          // closes the session after its idle time
	reportedURL   string               // address of the page that the last answer named
	reportedPages map[any]reportedPage // by client: what ReportStateTo returned last; at most maxViews
}

var nameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// Open makes a session for the agent. The page is made when a command needs it. Without a Fleet, Open does not
// block; with one, it blocks as long as Claim does. Errors: invalid_params (the name), session_limit,
// shutting_down, those of Claim.
func (m *Manager) Open(agent string, o Options) (*Session, error) {
	if o.Name != "" && !nameRule().MatchString(o.Name) {
		return nil, protocol.Errorf(protocol.InvalidParams, "name %q: accepts letters, digits, '.', '_' and '-', at most 64", truncateName(o.Name)).With("parameter", "name")
	}
	o.Agent = agent
	name := o.Name
	if name == "" {
		name = NewName()
	}
	if err := m.reserve(agent, name); err != nil {
		return nil, err
	}
	epoch, err := m.claim(agent, name, o)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.opening, sessionKey{agent, name})
	if err != nil {
		return nil, err
	}
	s := newSession(m, identity{name: name, agent: agent, created: time.Now()}, epoch, o)
	if o.Follows != nil {
		s.refs.Follow(o.Follows.String())
	}
	m.sessions[sessionKey{agent, name}] = s
	return s, nil
}

// NewName returns a name for a session that its client does not name.
func NewName() string { return "s_" + strings.ToLower(rand.Text()[:12]) }

// Name returns the session's name, unique among its agent's.
func (s *Session) Name() string { return s.name }

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.life.Done() }

// Take takes a place in the session's queue. reads says that the command only reads, so
// that it may run while a command before it lends its turn.
func (s *Session) Take(reads bool) (*Turn, error) { return s.turns.take(reads) }

// TakeIdle takes the session's turn if nobody holds it. Otherwise it returns nil.
func (s *Session) TakeIdle() *Turn { return s.turns.takeIdle() }

// BeginCommand marks the beginning of a command, and the func that it returns marks the end. The
// session does not expire in between, and the returned context ends with the session. Only
// for the holder of the turn.
func (s *Session) BeginCommand(ctx context.Context, command string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })
	if s.life.Err() != nil { // AfterFunc runs in its own goroutine, which may be late
		cancel(context.Cause(s.life))
	}
	s.mu.Lock()
	s.running++
	outer := s.command
	s.command, s.used = command, time.Now()
	s.mu.Unlock()
	return ctx, func() {
		stop()
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
		s.used = time.Now()
		if s.command = ""; s.running > 0 {
			s.command = outer
		}
		s.expiry.Reset(s.manager.cfg.IdleTimeout)
		s.saver.scheduleCheckpoint()
	}
}

// expire closes the session if it has not been used for its idle time.
func (s *Session) expire() {
	handedOff := s.control.Ended() != nil // control has its own mutex: never call it with mu held
	s.mu.Lock()
	left := s.manager.cfg.IdleTimeout - time.Since(s.used)
	if s.running > 0 || s.closed {
		s.mu.Unlock()
		return
	}
	if handedOff {
		s.expiry.Reset(s.manager.cfg.IdleTimeout)
		s.mu.Unlock()
		return
	}
	if left > 0 {
		s.expiry.Reset(left)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.manager.closeSession(s, reasonIdle)
}

// Page returns the session's current page, or nil if no command has needed one yet. Any
// goroutine may call it. Page's own documentation says what may be called on the result.
func (s *Session) Page() Page {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.page
}

// Refs returns the session's refs. Only for the holder of the turn.
func (s *Session) Refs() *snapshot.Refs { return s.refs }

func (s *Session) info() Info {
	s.mu.Lock()
	i := Info{Session: s.name, Created: s.created}
	if s.running == 0 {
		i.IdleFor = time.Since(s.used).Round(time.Millisecond).Seconds()
	}
	i.ExpiresIn = (s.manager.cfg.IdleTimeout - time.Duration(i.IdleFor*float64(time.Second))).Round(time.Millisecond).Seconds()
	p := s.page
	i.Command = s.command
	s.mu.Unlock()
	i.Queued = s.turns.waiting()
	if p != nil {
		st := s.State(p)
		i.Page = &st
	}
	return i
}

// Close closes an agent's session. Commands that run in it answer session_not_found, its page is closed, and
// its name is free again. Close returns when the page is closed or ctx ends. The error says why the session's
// state could not be saved; it is timeout if the state is still being saved when ctx ends. The session is
// closed in any case.
func (m *Manager) Close(ctx context.Context, agent, name string) error {
	s, err := m.Get(agent, name)
	if err != nil {
		return err
	}
	select {
	case err := <-m.closeSession(s, reasonClosed):
		return err
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.options.Profile != "":
			return SealingTimeout(s.options.Profile)
		case s.saver != nil:
			return protocol.Errorf(protocol.Timeout, "the state %s is still being kept", s.saver.name).Then("state_list says when it was saved last")
		}
		return nil
	}
}

// closeSession removes the session from the manager and ends it in the background. The channel receives the
// error of saving its state, if it is saved, and is closed when the session has ended.
func (m *Manager) closeSession(s *Session, reason string) <-chan error {
	done := make(chan error, 1)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		close(done)
		return done
	}
	s.closed = true
	m.work.Add(1) // before others see closed: Shutdown waits for the sessions that are closing
	s.expiry.Stop()
	page, saver := s.page, s.saver
	s.mu.Unlock()

	if reason == reasonMoved {
		m.emit(s, protocol.EventSessionMoved, nil)
	} else {
		m.emit(s, protocol.EventSessionClosing, map[string]any{"reason": reason})
	}
	s.turns.close()
	s.control.Close()
	s.end(errClosed())
	m.mu.Lock()
	if key := (sessionKey{s.agent, s.name}); m.sessions[key] == s {
		delete(m.sessions, key)
		if reason != reasonMoved {
			m.remember(s, reason)
		}
	}
	m.mu.Unlock()
	go func() {
		defer m.work.Done()
		defer close(done)
		m.endRecording(s)
		if reason == reasonTaken {
			stopSaving(s, page)
		}
		var err, closed error
		if saver != nil {
			if sharer, ok := page.(NameHolder); ok { // first, since the daemon's shutdown may close the profile meanwhile
				saver.release = both(saver.release, sharer.HoldName())
			}
			err = saveAtClose(saver, page)
		}
		if page != nil {
			closed = m.closePage(s, page)
		}
		m.release(s, reason) // before done: whoever knows that the session is closed may open another one of its name
		if saver != nil {
			if err = saver.retrySave(err); err != nil {
				m.log.Warn("the "+SavedKind(s)+" of a session was not kept", "session", s.name, "error", err)
			}
		}
		if why := (*protocol.Error)(nil); s.options.Profile != "" && errors.As(closed, &why) {
			err = why // the whole profile was not sealed, which is worse than the loss of its state
		}
		done <- err
	}()
	return done
}

func both(one, other func()) func() { return func() { one(); other() } }

func saveAtClose(k *autosaver, page Page) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	k.s.turns.drain(ctx)
	return k.saveAtEnd(ctx, page)
}

func (m *Manager) closePage(s *Session, page Page) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := page.Close(ctx)
	if err != nil {
		m.log.Warn("closing a page", "session", s.name, "error", err)
	}
	return err
}

// Shutdown closes all sessions and refuses new ones. It returns when all pages are closed
// or ctx ends.
func (m *Manager) Shutdown(ctx context.Context) error {
	m.mu.Lock()
	m.closing = true
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	m.mu.Unlock()
	for _, s := range all {
		m.closeSession(s, reasonShutdown)
	}
	done := make(chan struct{})
	go func() { m.work.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
