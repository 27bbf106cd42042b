package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/handoff"
	"github.com/browserd/browserd/snapshot"
)

// checkpoint is what another daemon of the fleet needs to continue a session. It is stored as JSON under the
// names of its fields: daemons of two versions may share a fleet, so do not rename them.
type checkpoint struct {
	Options   Options
	Created   time.Time
	Restore   protocol.Restore
	Page      protocol.Page
	Emulation protocol.Emulation
	Emulated  bool
	Routes    []protocol.Route
	Downloads bool
	Passkeys  bool
	LastRef   int
	Secrets   scriptOrigins
	Keeps     string // the name under which the session saves its state; empty: none
	// State is set if the session was handed over: its cookies and storage.
	State *protocol.State
}

// refGap is how many refs a lost daemon may have given out after the last checkpoint. Refs are never given out
// twice, so the session continues with refs above them.
const refGap = 100_000

// ErrMoved is the error of a command whose session another daemon of the fleet owns by now, or may take over.
// The command did nothing.
var ErrMoved = errors.New("the session has moved to another node")

// newCheckpoint returns a checkpoint of the session, without asking the page. Only for the holder of the turn.
func newCheckpoint(s *Session) checkpoint {
	c := checkpoint{
		Options: s.options, Created: s.created, LastRef: s.refs.Last(),
		Emulation: s.emulation, Emulated: s.emulated, Routes: s.routes, Downloads: s.downloads, Passkeys: s.passkeys,
		Secrets: s.secrets.scripts,
	}
	c.Options.Name, c.Options.Restore, c.Options.Follows = s.name, nil, nil
	if p := s.Page(); p != nil {
		c.Restore, c.Page = s.restorable(p), p.State()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Keeps = s.resumeName; s.saver != nil && s.saver.states == s.manager.Stores.States {
		c.Keeps = s.saver.name
	}
	return c
}

// checkpointWriter writes a session's checkpoints after its commands. Its goroutine runs while a checkpoint is
// to be written.
type checkpointWriter struct {
	mu      sync.Mutex
	pending *pendingCheckpoint // the newest checkpoint that is not written; nil: none
	more    chan struct{}      // closed when pending is set again; nil: the goroutine does not wait for it
	writing bool
	// Only the goroutine uses the fields from here on.
	written  []byte
	stored   [sha256.Size]byte // digest of the storage that was written last
	lastRead time.Time         // when the page was asked for its storage
	interval time.Duration     // how long after lastRead the page may be asked again
}

// pendingCheckpoint is a checkpoint that is to be written.
type pendingCheckpoint struct {
	content func() ([]byte, error)
	page    StorageReader // nil: the page cannot tell its storage
}

const (
	// cookieSettleTime is how long after a command it may take until the cookies that its page has set are
	// known.
	cookieSettleTime = 150 * time.Millisecond
	// storageInterval is the shortest time between two requests for the storage of a page's origins. It grows
	// by itself once for every storageSlowdownBytes of storage.
	storageInterval      = time.Second
	storageSlowdownBytes = 100_000
	storageTimeout       = time.Second // for the page's answer
)

// Checkpoint schedules the writing of a checkpoint after a command. It does not wait for it. Without a fleet it
// does nothing. Only for the holder of the turn.
func Checkpoint(s *Session) {
	if s.manager.Fleet == nil {
		return
	}
	// Read what needs the turn now, and what any goroutine may ask of the page when it is written.
	c, page := newCheckpoint(s), s.Page()
	lost := s.unrestored != nil || page == nil || isLost(page)
	p := &pendingCheckpoint{content: func() ([]byte, error) {
		if !lost {
			c.Restore, c.Page = page.Restore(), page.State()
		}
		return json.Marshal(c)
	}}
	if !lost {
		p.page, _ = page.(StorageReader)
	}
	k := &s.checkpoints
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pending = p
	if k.more != nil {
		close(k.more)
		k.more = nil
	}
	if k.writing {
		return
	}
	k.writing = background(s.manager, func() { writeCheckpoints(s) })
}

// background runs do in a goroutine for which Shutdown waits. Once Shutdown has begun it returns false and does
// not run it.
func background(m *Manager, do func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closing {
		m.work.Go(do)
	}
	return !m.closing
}

// writeCheckpoints writes checkpoints until none is pending. It writes the last one once more after
// cookieSettleTime, when the cookies that its command caused are known, and again when its page may be asked
// for its storage.
func writeCheckpoints(s *Session) {
	k := &s.checkpoints
	var last *pendingCheckpoint
	for {
		k.mu.Lock()
		now := k.pending
		k.pending = nil
		if s.life.Err() != nil || now == nil && last == nil {
			k.writing = false
			k.mu.Unlock()
			return
		}
		more := make(chan struct{})
		k.more = more
		k.mu.Unlock()
		settled := now == nil
		if settled {
			now = last
		}
		last = now
		readStorage := now.page != nil && time.Since(k.lastRead) >= k.interval
		if err := writeCheckpoint(s, now, readStorage); err != nil && s.life.Err() == nil {
			s.manager.log.Debug("a checkpoint was not written", "session", s.name, "error", err)
		}
		wait := cookieSettleTime
		if settled {
			if readStorage || now.page == nil {
				last = nil
				continue
			}
			wait = time.Until(k.lastRead.Add(k.interval))
		}
		select {
		case <-more:
		case <-time.After(wait):
		case <-s.life.Done():
		}
	}
}

// writeCheckpoint writes a checkpoint, or nothing if it is the same as the last one. With readStorage it asks
// the page for its storage first.
func writeCheckpoint(s *Session, p *pendingCheckpoint, readStorage bool) error {
	k := &s.checkpoints
	content, err := p.content()
	if err != nil {
		return err
	}
	var storage []byte
	var sum [sha256.Size]byte
	if readStorage {
		ctx, cancel := context.WithTimeout(s.life, storageTimeout)
		origins := p.page.Storage(ctx)
		cancel()
		if storage, err = json.Marshal(origins); err != nil {
			return err
		}
		k.lastRead, k.interval = time.Now(), storageInterval*time.Duration(1+len(storage)/storageSlowdownBytes)
		if sum = sha256.Sum256(storage); sum == k.stored {
			storage = nil
		}
	}
	if storage == nil && bytes.Equal(content, k.written) {
		return nil
	}
	if err := s.manager.Fleet.Checkpoint(s.life, s.agent, s.name, epochOf(s), content, storage); err != nil {
		return err
	}
	if k.written = content; storage != nil {
		k.stored = sum
	}
	return nil
}

// lostPage stands for the page that a session had at its former daemon. It is lost, and tells from which state
// and URL the next page continues.
type lostPage struct {
	Page
	state   protocol.Page
	restore protocol.Restore
}

func (p *lostPage) State() protocol.Page      { return p.state }
func (p *lostPage) Restore() protocol.Restore { return p.restore }
func (p *lostPage) Done() <-chan struct{}     { return closedChan }
func (p *lostPage) Close(context.Context) error {
	return nil
}

var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// RecoveredSession is a session that this daemon has taken over, as the database has it.
type RecoveredSession struct {
	Epoch int64
	// Content and Storage are what Fleet.Checkpoint was given last.
	Content, Storage []byte
	Answers          []byte // what Fleet.KeepAnswers was given last; nil: nothing
	Moved            bool   // it was handed over, so nothing of it is lost
}

// Recover continues a session of another daemon. take makes this daemon its owner; it returns nil if another
// daemon was faster. busy reports that the session is being opened or recovered here already.
func (m *Manager) Recover(agent, name string, take func() (*RecoveredSession, error)) (busy bool, err error) {
	if err := m.reserve(agent, name); err != nil {
		if protocol.CodeOf(err) == protocol.InvalidParams {
			return true, nil
		}
		return false, err
	}
	k := sessionKey{agent, name}
	taken, err := take()
	var c checkpoint
	var unread error
	if err == nil && taken != nil {
		unread = json.Unmarshal(taken.Content, &c)
		if unread == nil && c.State == nil && len(taken.Storage) > 0 {
			c.State = &protocol.State{}
			unread = json.Unmarshal(taken.Storage, &c.State.Origins)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.opening, k)
	if err != nil || taken == nil {
		return false, err
	}
	if err := unread; err != nil {
		if !m.closing {
			m.work.Go(func() { m.Fleet.Release(context.Background(), agent, name, taken.Epoch) }) // no daemon could continue it
		}
		return false, fmt.Errorf("reading what was kept of session %s: %w", name, err)
	}
	c.Options.Agent = agent
	s := newSession(m, identity{name: name, agent: agent, created: c.Created}, taken.Epoch, c.Options)
	s.pageSettings = pageSettings{emulation: c.Emulation, emulated: c.Emulated, routes: c.Routes, downloads: c.Downloads, passkeys: c.Passkeys, pendingState: c.State, needsResume: true}
	s.resumeName, s.storageRestored = c.Keeps, c.State != nil
	if s.secrets.scripts = c.Secrets; c.Secrets.any() {
		s.control.RecordScript()
	}
	restoreAnswers(s, taken.Answers)
	s.refs.Continue(c.LastRef)
	if !taken.Moved {
		s.refs.Continue(c.LastRef + refGap)
	}
	s.reported, s.cause = taken.Moved, causeNodeLost
	if c.Page.Source != "" {
		s.page = &lostPage{state: c.Page, restore: c.Restore}
	}
	m.sessions[k] = s
	return false, nil
}

// causeNodeLost is details.cause of the error browser_lost if the session's daemon was lost.
const causeNodeLost = "node_lost"

// newSession makes a session. The caller holds m.mu and adds it to Manager.sessions.
func newSession(m *Manager, id identity, epoch int64, o Options) *Session {
	o.Additions = policy.NewAdditions(additionsOf(m, id.agent))
	id.options, id.manager = o, m
	s := &Session{identity: id, refs: snapshot.NewRefs(), revisions: map[int]int{}, activity: activity{used: time.Now()}, lifecycle: lifecycle{epoch: epoch}}
	s.control.Changed = func(now handoff.Status) { m.handedOff(s, now) }
	s.turns.limit = m.cfg.Queue
	s.life, s.end = context.WithCancelCause(context.Background())
	s.expiry = time.AfterFunc(m.cfg.IdleTimeout, s.expire)
	return s
}

// handOver gives the session up, once the commands before it have ended, so that the daemon that is asked for
// it next takes it over. Clients get the event session_moved. After an error the session stays here. If it is
// unknown whether the database has recorded the hand-over, the session runs no command until that is known.
func handOver(ctx context.Context, m *Manager, s *Session) error {
	t, err := s.Take(false)
	if err != nil {
		return nil // it has ended
	}
	end := sync.OnceFunc(t.End)
	defer func() { end() }()
	if err := t.Wait(ctx); err != nil {
		if errors.Is(s.CheckLease(), ErrMoved) {
			return protocol.Errorf(protocol.OutcomeUnknown, "the fleet's database has not said yet whether the session was handed over before")
		}
		return err
	}
	c := newCheckpoint(s)
	if k, ok := s.Page().(StateSaver); ok && !isLost(s.Page()) {
		state, err := k.SaveState(ctx)
		if err != nil {
			m.log.Warn("handing a session over without its storage", "session", s.name, "error", err)
		} else {
			c.State = &state
		}
	}
	content, err := json.Marshal(c)
	if err != nil {
		return err
	}
	// From here on another daemon may take the session over, whatever HandOver returns.
	epoch, closed := setMoved(s)
	if closed {
		return nil
	}
	err = m.Fleet.HandOver(ctx, s.agent, s.name, epoch, content)
	switch {
	case err == nil:
		m.closeSession(s, reasonMoved)
		return nil
	case protocol.CodeOf(err) != protocol.OutcomeUnknown:
		resumeHere(s, epoch)
		return err
	}
	decided := make(chan error, 1)
	endTurn := end // keep the turn, so that commands wait meanwhile
	if !background(m, func() {
		defer endTurn()
		now, lost := m.Fleet.ResolveHandOver(s.life, s.agent, s.name, epoch)
		switch {
		case lost != nil: // it has ended
			decided <- nil
		case now == 0:
			m.closeSession(s, reasonMoved)
			decided <- nil
		default:
			resumeHere(s, now)
			decided <- err
		}
	}) {
		return err
	}
	end = func() {}
	select {
	case err := <-decided:
		return err
	case <-ctx.Done():
		return err
	}
}

// setMoved marks the session as moved: from now on it runs no command and accepts no operator's answer. Answers
// that were being saved are saved when it returns.
func setMoved(s *Session) (epoch int64, closed bool) {
	s.answers.saving.Lock()
	defer s.answers.saving.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved = !s.closed
	return s.epoch, s.closed
}

// resumeHere continues the session at this daemon, with the given epoch, unless it has ended.
func resumeHere(s *Session, epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.moved, s.epoch = false, epoch
	}
}

// handOverRetryInterval is the pause before HandOverAll tries sessions again that could not be handed over,
// such as one that was being opened.
const handOverRetryInterval = 200 * time.Millisecond

// HandOverAll hands all sessions over, several at a time, until none is left, ctx ends, or the
// daemon's lease is over: then others may take the sessions all the same. Once it is called, the
// daemon opens no more sessions. It returns how many sessions were handed over and how many stay.
// err says why sessions stay: fleet_unavailable if the lease is over, or the error with which the
// fleet's database kept one of them here (fleet_unavailable, outcome_unknown), or ctx's cause.
func HandOverAll(ctx context.Context, m *Manager) (moved, stay int, err error) {
	m.mu.Lock()
	m.draining = true
	m.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() { cancel(awaitLeaseEnd(ctx, m)) })
	warned := map[*Session]bool{}
	for {
		n, failed := handOverOnce(ctx, m, warned)
		moved += n
		if stay = SlotsInUse(m); stay == 0 {
			return moved, 0, nil
		}
		select {
		case <-time.After(handOverRetryInterval):
		case <-ctx.Done():
			if err = context.Cause(ctx); failed != nil && protocol.CodeOf(err) != protocol.FleetUnavailable {
				err = failed
			}
			return moved, stay, err
		}
	}
}

// awaitLeaseEnd returns fleet_unavailable when the daemon's lease is over, or nil when ctx ends.
func awaitLeaseEnd(ctx context.Context, m *Manager) error {
	for {
		if err := m.CheckLease(); err != nil {
			return err
		}
		select {
		case <-time.After(handOverRetryInterval):
		case <-ctx.Done():
			return nil
		}
	}
}

// handOverOnce tries to hand each session over, and returns how many were. failed is an error of the
// fleet's database; nil: there was none. The log says of each session once why it was not handed over,
// and warned keeps of which it has.
func handOverOnce(ctx context.Context, m *Manager, warned map[*Session]bool) (moved int, failed error) {
	const atOnce = 8
	var all sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, atOnce)
	for _, s := range m.inOrder() {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			err := handOver(ctx, m, s)
			mu.Lock()
			defer mu.Unlock()
			if code := protocol.CodeOf(err); code == protocol.FleetUnavailable || code == protocol.OutcomeUnknown {
				failed = err
			}
			switch {
			case err == nil:
				moved++
			case !warned[s]:
				warned[s] = true
				m.log.Warn("a session was not handed over", "session", s.name, "error", err)
			}
		})
	}
	all.Wait()
	return moved, failed
}
