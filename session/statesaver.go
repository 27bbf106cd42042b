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

// Hold reserves a name of the agent's for the one who may write it, until release is called.
// Errors: in_use if it is reserved already, by this daemon or another one with the same shelf.
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
	return release, st.failed("holding", err)
}

// Alone runs do while the name is held. Errors: in_use, as Hold.
func (st *Store[T]) Alone(agent, name string, do func() error) error {
	release, err := st.Hold(agent, name)
	if err != nil {
		return err
	}
	defer release()
	return do()
}

// stateSaver saves a session's state under a name: at the end of the session, and at checkpoints
// after its commands, so that little is lost if the daemon is killed.
type stateSaver struct {
	s       *Session
	states  *States
	name    string
	release func() // of the name
	timer   *time.Timer
	due     atomic.Bool // the timer runs

	mu    sync.Mutex // held from reading the state until it is written: what is read last is written last
	ended bool
	saved [sha256.Size]byte // of what was written last, without its time; zero: what is kept may be another
	fails bool              // the last checkpoint failed
	last  error             // why the page could not be read at the end
	// unsaved is the state that was read last, until it is saved; nil: it is. It is stored with mu held.
	unsaved atomic.Pointer[protocol.State]
}

// KeepState saves the session's state under a name that states.Hold has reserved. It is saved when
// the session ends, after the last command and before the page is closed, unless the page is lost;
// and, while commands run, once in every States.Checkpoint, unless that is 0. The session calls
// release when it ends.
func (m *Manager) KeepState(s *Session, states *States, name string, release func()) {
	k := &stateSaver{s: s, states: states, name: name, release: release}
	k.timer = time.AfterFunc(time.Hour, k.checkpoint)
	k.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		release()
		return
	}
	s.keeping = k
}

// SaveState saves what a command has read of the session's state under a name, while nobody else writes that. Where
// the session keeps its state there, nothing that was read before replaces it. Only for the holder of the turn.
// Errors: in_use, as Hold; session_not_found where the session keeps it there and has been read for the last time.
func (*Manager) SaveState(s *Session, states *States, name string, state protocol.State) error {
	s.mu.Lock()
	k := s.keeping
	s.mu.Unlock()
	if k == nil || k.states != states || k.name != name {
		return states.Alone(s.agent, name, func() error { return states.Save(s.agent, name, state) })
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return errClosed()
	}
	k.saved = [sha256.Size]byte{} // whatever is kept: the command says when it was saved
	return k.write(state)
}

// KeptAs is what the session keeps beyond its end: a state or a profile.
func KeptAs(s *Session) string {
	if s.options.Profile != "" {
		return "profile"
	}
	return "state"
}

// stopKeeping ends the saving of the session's state. Nothing more is saved.
func stopKeeping(s *Session, page Page) {
	if d, ok := page.(Dropper); ok {
		d.Drop()
	}
	s.mu.Lock()
	k := s.keeping
	s.mu.Unlock()
	if k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.ended = true
		k.unsaved.Store(nil)
	}
}

// scheduleCheckpoint starts the timer of the next checkpoint, unless it runs already. It does not wait.
func (k *stateSaver) scheduleCheckpoint() {
	if k != nil && k.states.Checkpoint > 0 && k.due.CompareAndSwap(false, true) {
		k.timer.Reset(k.states.Checkpoint)
	}
}

// checkpointLimit is how long a checkpoint may take, with the commands before it.
const checkpointLimit = 30 * time.Second

// checkpoint saves the state in a turn of its own; of a page that is lost what was read of it last. As a
// command that reads, it overtakes one that waits, and holds up none behind it. Where the database does not
// answer, another one is made soon.
func (k *stateSaver) checkpoint() {
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
	if page := k.s.Page(); page == nil || gone(page) {
		end()
		err = k.saveUnsaved()
	} else {
		k.mu.Lock()
		err = k.save(page, func(keeper Keeper) (protocol.State, error) {
			defer end()
			return keeper.SaveState(ctx)
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
func (k *stateSaver) saveAtEnd(ctx context.Context, page Page) error {
	k.timer.Stop()
	if page == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	defer func() { k.ended = true }()
	return k.save(page, func(keeper Keeper) (state protocol.State, err error) {
		state, k.last = keeper.SaveLast(ctx)
		return state, k.last
	})
}

// retrySave saves the state that was read last, if that failed before, for example because the database did not
// answer, and then releases the name. It waits until the database answers or the daemon ends. why is saveAtEnd's
// error. The error of retrySave says why the state was not saved as it was at the end.
func (k *stateSaver) retrySave(why error) error {
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
	return k.last // what was saved is of before
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

// saveUnsaved saves what was read of the state last, if that is not saved.
func (k *stateSaver) saveUnsaved() error {
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

// save saves the state that read reads of the page, if it is another than the one saved last. The caller holds mu.
func (k *stateSaver) save(page Page, read func(Keeper) (protocol.State, error)) error {
	keeper, ok := page.(Keeper)
	if !ok {
		return protocol.Errorf(protocol.Unsupported, "the state %s is not kept: the session's source keeps none", k.name).With("source", page.State().Source)
	}
	if k.ended {
		return nil
	}
	state, err := read(keeper)
	if err != nil {
		return err
	}
	return k.write(state)
}

// write saves a state that was read after all before it, if it is another than the one saved last. The caller holds mu.
func (k *stateSaver) write(state protocol.State) error {
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

// reload puts what was saved last of local and session storage, or was read and could not be saved, into a page
// that replaces a lost one, which has its cookies already: what the session ends with is saved in its place.
func (k *stateSaver) reload(ctx context.Context, page Page) error {
	keeper, ok := page.(Keeper)
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
	return keeper.LoadState(ctx, state)
}

// resumeWithin is how long a session waits for what it kept at the daemon that had it before.
const resumeWithin = 10 * time.Second

// retryInUse runs do. If another daemon had the session before, it repeats do for resumeWithin
// while it returns in_use: that daemon may still be writing.
func retryInUse(ctx context.Context, s *Session, do func() error) error {
	for began := time.Now(); ; {
		err := do()
		if !s.inherited || protocol.CodeOf(err) != protocol.InUse || time.Since(began) > resumeWithin {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// resume goes on keeping what the session kept at the daemon that had it before. Only for the
// holder of the turn.
func resume(ctx context.Context, s *Session) error {
	if !s.inherited {
		return nil
	}
	m := s.manager
	if s.options.Profile != "" {
		m.KeepState(s, m.Stores.Profiles.States, s.options.Profile, func() {}) // the page has the name
	}
	if name := s.resumes; name != "" {
		var release func()
		err := retryInUse(ctx, s, func() (err error) {
			release, err = m.Stores.States.Hold(s.agent, name)
			return err
		})
		if err != nil {
			return err
		}
		m.KeepState(s, m.Stores.States, name, release)
		s.mu.Lock()
		s.resumes = ""
		s.mu.Unlock()
	}
	s.inherited = false
	return nil
}
