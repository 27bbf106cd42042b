package session

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Hold reserves one of the agent's names for one writer, until release is called. Errors: in_use if it is
// reserved already, by this daemon or another one with the same shelf.
func (st *Store[T]) Hold(agent, name string) (release func(), err error) {
	if err := st.Check(name); err != nil {
		return nil, err
	}
	if err := st.usable(); err != nil {
		return nil, err
	}
	release, ok, err := st.shelf.Hold(agent, name)
	if err == nil && !ok {
		err = protocol.Errorf(protocol.InUse, "the %s %s is being written by another session or command", st.Noun, name).
			With(st.Noun, name).Then("close the session that keeps it (session_list), or try again")
	}
	return release, st.wrapError("holding", err)
}

// WithHold runs do while it holds the name. Errors: in_use, as Hold.
func (st *Store[T]) WithHold(agent, name string, do func() error) error {
	release, err := st.Hold(agent, name)
	if err != nil {
		return err
	}
	defer release()
	return do()
}

// autosaver saves a session's state under a name: at the end of the session, and at checkpoints
// after its commands, so that little is lost if the daemon is killed.
type autosaver struct {
	s       *Session
	states  *States
	name    string
	release func() // gives the name up
	timer   *time.Timer
	due     atomic.Bool // the timer runs

	mu    sync.Mutex // held from reading the state until it is written, so that states are written in the order in which they were read
	ended bool
	saved [sha256.Size]byte // digest of the state that was written last, without its time; zero: unknown, so the next state is written
	fails bool              // the last checkpoint failed
	last  error             // why the page could not be read at the end
	// unsaved is the state that was read last, until it is saved. nil: it is saved. Only the holder of mu
	// stores it.
	unsaved atomic.Pointer[protocol.State]
}

// AutosaveState has the session's state saved under a name that states.Hold has reserved. It is saved when the
// session ends, after the last command and before the page is closed, unless the page is lost. While commands
// run, it is also saved once every States.Checkpoint, unless that is 0. The session calls release when it ends.
func (m *Manager) AutosaveState(s *Session, states *States, name string, release func()) {
	k := &autosaver{s: s, states: states, name: name, release: release}
	k.timer = time.AfterFunc(time.Hour, k.checkpoint)
	k.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		release()
		return
	}
	s.saver = k
}

// SaveState saves a state that a command has read from the session under a name, while nobody else writes that
// name. If the session saves its own state under the name, no state that was read earlier replaces this one.
// Only for the holder of the turn. Errors: in_use, as Hold; session_not_found if the session saves its state
// there and that has been read for the last time.
func (*Manager) SaveState(s *Session, states *States, name string, state protocol.State) error {
	s.secrets.mark(&state)
	s.mu.Lock()
	k := s.saver
	s.mu.Unlock()
	if k == nil || k.states != states || k.name != name {
		return states.WithHold(s.agent, name, func() error { return states.Save(s.agent, name, state) })
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return errClosed()
	}
	k.saved = [sha256.Size]byte{} // write it even if it is the same: the command reports when it was saved
	return k.write(state)
}

// SavedKind names what the session saves beyond its end: "state" or "profile".
func SavedKind(s *Session) string {
	if s.options.Profile != "" {
		return "profile"
	}
	return "state"
}

// stopSaving ends the saving of the session's state. Nothing more is saved.
func stopSaving(s *Session, page Page) {
	if d, ok := page.(SaveStopper); ok {
		d.StopSaving()
	}
	s.mu.Lock()
	k := s.saver
	s.mu.Unlock()
	if k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.ended = true
		k.unsaved.Store(nil)
	}
}

// scheduleCheckpoint starts the timer of the next checkpoint, unless it runs already. It does not wait.
func (k *autosaver) scheduleCheckpoint() {
	if k != nil && k.states.Checkpoint > 0 && k.due.CompareAndSwap(false, true) {
		k.timer.Reset(k.states.Checkpoint)
	}
}

// checkpointLimit is how long a checkpoint may take, with the commands before it.
const checkpointLimit = 30 * time.Second

// checkpoint saves the state in a turn of its own. If the page is lost, it saves the state that was read from
// it last. It takes its turn as a command that only reads does, so that it need not wait for a command that has
// lent its turn. If the database does not answer, the next checkpoint is scheduled.
func (k *autosaver) checkpoint() {
	k.due.Store(false)
	ctx, cancel := context.WithTimeout(k.s.life, checkpointLimit)
	defer cancel()
	turn, err := k.s.turns.take(true)
	if err != nil {
		if k.s.life.Err() == nil {
			k.scheduleCheckpoint()
		}
		return
	}
	end := sync.OnceFunc(turn.End)
	defer end()
	if turn.Wait(ctx) != nil {
		return
	}
	if page := k.s.Page(); page == nil || isLost(page) {
		end()
		err = k.saveUnsaved()
	} else {
		k.mu.Lock()
		err = k.save(page, func(saver StateSaver) (state protocol.State, err error) {
			defer end()
			state, err = saver.SaveState(ctx)
			k.s.secrets.mark(&state)
			return state, err
		})
		k.mu.Unlock()
	}
	if protocol.CodeOf(err) == protocol.FleetUnavailable {
		k.scheduleCheckpoint()
	}
	log, level := k.s.manager.log, slog.LevelDebug
	k.mu.Lock()
	if err != nil && !k.fails {
		level = slog.LevelWarn // once, and again after one that worked
	}
	k.fails = err != nil
	k.mu.Unlock()
	if err != nil && k.s.life.Err() == nil {
		log.Log(ctx, level, "the checkpoint of a state", "session", k.s.name, "error", err)
	}
}

// saveAtEnd reads the state for the last time, and saves it. The caller calls retrySave next.
func (k *autosaver) saveAtEnd(ctx context.Context, page Page) error {
	k.timer.Stop()
	if page == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	defer func() { k.ended = true }()
	return k.save(page, func(saver StateSaver) (state protocol.State, err error) {
		state, k.last = saver.SaveLast(ctx)
		k.s.secrets.mark(&state)
		return state, k.last
	})
}

// retrySave saves the state that was read last, if that failed before, for example because the database did not
// answer. Then it releases the name. It waits until the database answers or the daemon ends. why is saveAtEnd's
// error. retrySave returns why the state at the session's end was not saved.
func (k *autosaver) retrySave(why error) error {
	defer k.release()
	if k.unsaved.Load() == nil {
		return why
	}
	k.s.manager.log.Warn("what a session keeps is not kept yet", "session", k.s.name, "name", k.name, "error", why)
	if err := retryUnavailable(context.Background(), k.saveUnsaved); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last // the state at the end could not be read: an older one was saved
}

// retryUnavailable runs do, and repeats it while it returns fleet_unavailable, until ctx ends.
func retryUnavailable(ctx context.Context, do func() error) error {
	for pause := 500 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := do()
		if protocol.CodeOf(err) != protocol.FleetUnavailable {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// saveUnsaved saves the state that was read last, if it is not saved yet.
func (k *autosaver) saveUnsaved() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	state := k.unsaved.Load()
	if state == nil {
		return nil
	}
	err := k.states.Save(k.s.agent, k.name, *state)
	if err == nil {
		k.unsaved.Store(nil)
	}
	return err
}

// save saves the state that read returns, if it differs from the one that was saved last. The caller holds mu.
func (k *autosaver) save(page Page, read func(StateSaver) (protocol.State, error)) error {
	saver, ok := page.(StateSaver)
	if !ok {
		return protocol.Errorf(protocol.Unsupported, "the state %s is not kept: the session's source keeps none", k.name).With("source", page.State().Source)
	}
	if k.ended {
		return nil
	}
	state, err := read(saver)
	if err != nil {
		return err
	}
	return k.write(state)
}

// write saves a state, if it differs from the one that was saved last. The caller has held mu since it read the
// state.
func (k *autosaver) write(state protocol.State) error {
	if k.states.tabOnly {
		for i := range state.Origins {
			state.Origins[i].LocalStorage = nil
		}
		state.Origins = slices.DeleteFunc(state.Origins, func(o protocol.Origin) bool { return len(o.SessionStorage) == 0 })
	}
	timeless := state
	timeless.Saved = time.Time{}
	content, err := json.Marshal(timeless)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	if sum == k.saved {
		return nil
	}
	k.unsaved.Store(&state)
	k.saved = [sha256.Size]byte{}
	if err := k.states.Save(k.s.agent, k.name, state); err != nil {
		return err
	}
	k.saved = sum
	k.unsaved.Store(nil)
	return nil
}

// reload loads local and session storage into a page that replaces a lost one: those that were saved last, or
// that were read later and could not be saved. The page has its cookies already. Without this, the session's
// end would replace the saved state by one without storage.
func (k *autosaver) reload(ctx context.Context, page Page) error {
	saver, ok := page.(StateSaver)
	if k == nil || !ok {
		return nil
	}
	var state protocol.State
	if unsaved := k.unsaved.Load(); unsaved != nil {
		state = *unsaved
	} else if !k.states.Has(k.s.agent, k.name) {
		return nil
	} else if read, err := k.states.Load(k.s.agent, k.name); err != nil {
		return err
	} else {
		state = read
	}
	state.Cookies = nil
	return saver.LoadState(ctx, state)
}

// resumeTimeout is how long a session that was taken over waits until the daemon that had it has given its
// saved names up.
const resumeTimeout = 10 * time.Second

// retryInUse runs do. If another daemon had the session before, it repeats do for resumeTimeout
// while it returns in_use: that daemon may still be writing.
func retryInUse(ctx context.Context, s *Session, do func() error) error {
	for began := time.Now(); ; {
		err := do()
		if !s.needsResume || protocol.CodeOf(err) != protocol.InUse || time.Since(began) > resumeTimeout {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// resume makes a session that was taken over save its state or profile here, as it did at the daemon that had
// it before. Only for the holder of the turn.
func resume(ctx context.Context, s *Session) error {
	if !s.needsResume {
		return nil
	}
	m := s.manager
	if s.options.Profile != "" {
		m.AutosaveState(s, m.Stores.Profiles.States, s.options.Profile, func() {}) // the page holds the name
	}
	if name := s.resumeName; name != "" {
		var release func()
		err := retryInUse(ctx, s, func() (err error) {
			release, err = m.Stores.States.Hold(s.agent, name)
			return err
		})
		if err != nil {
			return err
		}
		m.AutosaveState(s, m.Stores.States, name, release)
		s.mu.Lock()
		s.resumeName = ""
		s.mu.Unlock()
	}
	s.needsResume = false
	return nil
}
