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

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/handoff"
	"github.com/browserd/browserd/snapshot"
)

// checkpoint is what another daemon of the fleet continues a session from.
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
	Secrets   secretUse
	Keeps     string // the name under which the session keeps its state; empty: none
	// State is all that the browser keeps for the session, if the session was handed over.
	State *protocol.State
}

// lostRefs is how many refs a lost daemon may have given out after the last checkpoint. Refs are
// never given out twice, so the session goes on above them.
const lostRefs = 100_000

// ErrMoved is the error of a command whose session another daemon of the fleet has by now, or may
// take. Nothing was done.
var ErrMoved = errors.New("the session has moved to another node")

// continuation returns what the session can be continued from, as far as it is known without
// asking the page. Only for the holder of the turn.
func continuation(s *Session) checkpoint {
	c := checkpoint{
		Options: s.options, Created: s.created, LastRef: s.refs.Last(),
		Emulation: s.emulation, Emulated: s.emulated, Routes: s.routes, Downloads: s.downloads, Passkeys: s.passkeys,
		Secrets: s.secrets.kept(),
	}
	c.Options.Name, c.Options.Restore, c.Options.Follows = s.name, nil, nil
	if p := s.Page(); p != nil {
		c.Restore, c.Page = s.restorable(p), p.State()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Keeps = s.resumes; s.keeping != nil && s.keeping.states == s.manager.Stores.States {
		c.Keeps = s.keeping.name
	}
	return c
}

// checkpointWriter writes a session's checkpoints after its commands, in a goroutine that runs while
// there is one to write.
type checkpointWriter struct {
	mu      sync.Mutex
	pending *pendingCheckpoint // nil: nothing is to be written
	more    chan struct{}      // closed with the next pending one; nil: nobody waits
	writing bool
	// Only for the goroutine.
	written []byte
	stored  [sha256.Size]byte // of the storage that was written
	asked   time.Time         // when the page was asked for its storage
	every   time.Duration     // how long after that it may be asked again
}

// pendingCheckpoint is a checkpoint that is to be written.
type pendingCheckpoint struct {
	content func() ([]byte, error)
	page    StorageReader // nil: nothing is known of the storage
}

const (
	// cookiesSettle is how long after a command its page's cookies may take to be known.
	cookiesSettle = 150 * time.Millisecond
	// storageEvery is how often a page is asked for the storage of its origins at most; storageBytes
	// is for how many of its bytes it is left alone as long again.
	storageEvery = time.Second
	storageBytes = 100_000
	storageLimit = time.Second // for the answer
)

// Checkpoint has written, behind the command that ends, what another daemon of the fleet can
// continue the session from. Only for the holder of the turn.
func Checkpoint(s *Session) {
	if s.manager.Fleet == nil {
		return
	}
	// What belongs to the turn is read now, what is the page's when it is written.
	c, page := continuation(s), s.Page()
	lost := s.missing != nil || page == nil || gone(page)
	p := &pendingCheckpoint{content: func() ([]byte, error) {
		if !lost {
			c.Restore, c.Page = page.Restore(), page.State()
		}
		return json.Marshal(c)
	}}
	if !lost {
		p.page, _ = page.(StorageReader)
	}
	k := &s.keeper
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
	k.writing = background(s.manager, func() { write(s) })
}

// background runs do in a goroutine for which Shutdown waits, and returns false, without running
// it, once that has begun.
func background(m *Manager, do func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closing {
		m.work.Go(do)
	}
	return !m.closing
}

// write writes checkpoints until none is pending, and the last one again a moment later, when
// the cookies of what its command did are known, and its page may be asked for its storage.
func write(s *Session) {
	k := &s.keeper
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
		asks := now.page != nil && time.Since(k.asked) >= k.every
		if err := writeOne(s, now, asks); err != nil && s.life.Err() == nil {
			s.manager.log.Debug("a checkpoint was not written", "session", s.name, "error", err)
		}
		wait := cookiesSettle
		if settled {
			if asks || now.page == nil {
				last = nil
				continue
			}
			wait = time.Until(k.asked.Add(k.every))
		}
		select {
		case <-more:
		case <-time.After(wait):
		case <-s.life.Done():
		}
	}
}

// writeOne writes a checkpoint, as far as it is another than the last one.
func writeOne(s *Session, p *pendingCheckpoint, asks bool) error {
	k := &s.keeper
	content, err := p.content()
	if err != nil {
		return err
	}
	var storage []byte
	var sum [sha256.Size]byte
	if asks {
		ctx, cancel := context.WithTimeout(s.life, storageLimit)
		origins := p.page.Storage(ctx)
		cancel()
		if storage, err = json.Marshal(origins); err != nil {
			return err
		}
		k.asked, k.every = time.Now(), storageEvery*time.Duration(1+len(storage)/storageBytes)
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

// lostPage is the page of a session that was continued here: it is gone, and says what the next
// one goes on from.
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

// TakenOver is a session that this daemon continues.
type TakenOver struct {
	Epoch int64
	// Content and Storage are what Fleet.Checkpoint was given last.
	Content, Storage []byte
	Answers          []byte // what Fleet.KeepAnswers was given last; nil: nothing
	Moved            bool   // it was handed over: nothing of it is lost
}

// Recover continues a session that another daemon had. take makes this daemon its owner, and
// returns nil where it did not. busy: it is being opened or recovered here already.
func (m *Manager) Recover(agent, name string, take func() (*TakenOver, error)) (busy bool, err error) {
	if err := m.reserve(agent, name); err != nil {
		if protocol.CodeOf(err) == protocol.InvalidParams {
			return true, nil
		}
		return false, err
	}
	k := owned{agent, name}
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
			m.work.Go(func() { m.Fleet.Release(context.Background(), agent, name, taken.Epoch) }) // nobody could go on with it
		}
		return false, fmt.Errorf("reading what was kept of session %s: %w", name, err)
	}
	c.Options.Agent = agent
	s := newSession(m, identity{name: name, agent: agent, created: c.Created}, taken.Epoch, c.Options)
	s.kept = kept{emulation: c.Emulation, emulated: c.Emulated, routes: c.Routes, downloads: c.Downloads, passkeys: c.Passkeys, carried: c.State, inherited: true}
	s.resumes, s.stored = c.Keeps, c.State != nil
	s.secrets = SecretUse{ran: c.Secrets.Ran, everywhere: c.Secrets.Everywhere}
	continueAnswers(m, s, taken.Answers)
	s.refs.Continue(c.LastRef)
	if !taken.Moved {
		s.refs.Continue(c.LastRef + lostRefs)
	}
	s.reported, s.cause = taken.Moved, causeNodeLost
	if c.Page.Source != "" {
		s.page = &lostPage{state: c.Page, restore: c.Restore}
	}
	m.sessions[k] = s
	return false, nil
}

// causeNodeLost is details.cause of browser_lost where the session's daemon was lost.
const causeNodeLost = "node_lost"

// newSession makes a session. The caller puts it into sessions.
func newSession(m *Manager, id identity, epoch int64, o Options) *Session {
	id.options, id.manager = o, m
	s := &Session{identity: id, refs: snapshot.NewRefs(), revisions: map[int]int{}, activity: activity{used: time.Now()}, ending: ending{epoch: epoch}}
	s.control.Changed = func(now handoff.Status) { m.handedOff(s, now) }
	s.turns.limit = m.cfg.Queue
	s.life, s.end = context.WithCancelCause(context.Background())
	s.expiry = time.AfterFunc(m.cfg.IdleTimeout, s.expire)
	return s
}

// handOver gives a session to whichever daemon of the fleet is asked for it next, when the
// commands before it have ended. Clients are told session_moved. After an error the session
// stays, or, where the database does not say so, nothing is done in it until it does.
func handOver(ctx context.Context, m *Manager, s *Session) error {
	t, err := s.Take(false)
	if err != nil {
		return nil // it has ended
	}
	end := sync.OnceFunc(t.End)
	defer func() { end() }()
	if err := t.Wait(ctx); err != nil {
		return err
	}
	c := continuation(s)
	if k, ok := s.Page().(Keeper); ok && !gone(s.Page()) {
		kept, err := k.SaveState(ctx)
		if err != nil {
			m.log.Warn("handing a session over without its storage", "session", s.name, "error", err)
		} else {
			c.State = &kept
		}
	}
	content, err := json.Marshal(c)
	if err != nil {
		return err
	}
	// From here on another daemon may have it, whatever the answer is.
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
	keep := end // the turn: commands wait meanwhile
	if !background(m, func() {
		defer keep()
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

// setMoved has the session take nothing more, such as operators' answers. What was being kept of them is kept when it returns.
func setMoved(s *Session) (epoch int64, closed bool) {
	s.answers.keeping.Lock()
	defer s.answers.keeping.Unlock()
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

// handOverEvery is after how long sessions are handed over that could not be before, such as one
// that was being opened.
const handOverEvery = 200 * time.Millisecond

// HandOverAll hands all sessions over, several at once, until none is left or ctx ends. From its
// beginning no further one is opened here. It returns how many were handed over, and how many
// stay.
func HandOverAll(ctx context.Context, m *Manager) (moved, stay int) {
	m.mu.Lock()
	m.draining = true
	m.mu.Unlock()
	for {
		moved += handOverOnce(ctx, m)
		if stay = Places(m); stay == 0 {
			return moved, 0
		}
		select {
		case <-time.After(handOverEvery):
		case <-ctx.Done():
			return moved, stay
		}
	}
}

// handOverOnce tries to hand each session over, and returns how many were.
func handOverOnce(ctx context.Context, m *Manager) (moved int) {
	const atOnce = 8
	var all sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, atOnce)
	for _, s := range m.inOrder() {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			err := handOver(ctx, m, s)
			if err != nil {
				m.log.Warn("a session was not handed over", "session", s.name, "error", err)
				return
			}
			mu.Lock()
			moved++
			mu.Unlock()
		})
	}
	all.Wait()
	return moved
}
