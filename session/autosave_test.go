package session

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/shelf"
)

// silentShelf is a shelf that fails like one whose database does not answer, while silent is set.
type silentShelf struct {
	shelf.Shelf
	mu     sync.Mutex
	silent bool
	full   int // number of changes that will fail with no space left
}

func (s *silentShelf) Change(agent string, do func(shelf.Changes) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent {
		return protocol.Errorf(protocol.FleetUnavailable, "the fleet's database does not answer")
	}
	if s.full > 0 {
		s.full--
		return errors.New("no space left on device")
	}
	return s.Shelf.Change(agent, do)
}

func (s *silentShelf) setSilent(silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = silent
}

// storingPage is a fakePage of one origin, with one item of local storage.
type storingPage struct {
	*fakePage
	mu   sync.Mutex
	item string
	slow time.Duration // how long Close takes
	held int           // how many hold its name
	last int           // how many held its name when it was read for the last time
}

func (p *storingPage) HoldName() (release func()) {
	p.share(1)
	return func() { p.share(-1) }
}

func (p *storingPage) share(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held += n
	return p.held
}

func (p *storingPage) Close(context.Context) error {
	time.Sleep(p.slow)
	return nil
}

func (p *storingPage) set(item string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.item = item
}

func (p *storingPage) SaveState(context.Context) (protocol.State, error) {
	if isLost(p) {
		return protocol.State{}, protocol.Errorf(protocol.BrowserLost, "Chromium died")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return protocol.State{Version: protocol.StateVersion, Saved: time.Now(), Origins: []protocol.Origin{{Origin: "https://shop.example", LocalStorage: [][2]string{{"item", p.item}}}}}, nil
}

func (p *storingPage) SaveLast(ctx context.Context) (protocol.State, error) {
	p.mu.Lock()
	p.last = p.held
	p.mu.Unlock()
	return p.SaveState(ctx)
}

func (p *storingPage) LoadState(_ context.Context, s protocol.State) error {
	p.set(itemOf(s))
	return nil
}

func itemOf(s protocol.State) string {
	for _, o := range s.Origins {
		for _, i := range o.LocalStorage {
			return i[1]
		}
	}
	return ""
}

type storingChromium struct{ fakeChromium }

func (c *storingChromium) NewPage(ctx context.Context, o Options, emit func(string, map[string]any)) (Page, error) {
	p, err := c.fakeChromium.NewPage(ctx, o, emit)
	return &storingPage{fakePage: p.(*fakePage)}, err
}

// autosavedSession is a session that saves its state as "shop" on a silentShelf.
type autosavedSession struct {
	*Session
	t  *testing.T
	on *silentShelf
	st *States
}

func newAutosaved(t *testing.T) *autosavedSession { return newAutosavedWith(t, Options{}) }

func newAutosavedWith(t *testing.T, o Options) *autosavedSession {
	t.Helper()
	on := &silentShelf{Shelf: shelf.NewFiles(filepath.Join(t.TempDir(), "states"))}
	st := NewStates(on, StateConfig{Bytes: 1 << 20, Count: 10, Checkpoint: 10 * time.Second})
	m := NewManager(Config{Max: 2, MaxPerAgent: 2, IdleTimeout: time.Hour}, &storingChromium{}, slog.New(slog.DiscardHandler))
	s, err := m.Open("ann", o)
	if err != nil {
		t.Fatal(err)
	}
	k := &autosavedSession{s, t, on, st}
	k.command("")
	release, err := st.Hold("ann", "shop")
	if err != nil {
		t.Fatal(err)
	}
	m.AutosaveState(s, st, "shop", release)
	return k
}

// command runs a command of the session that sets the page's item; empty: it changes nothing.
func (k *autosavedSession) command(item string) (page *storingPage) {
	k.t.Helper()
	turn, err := k.Take(false)
	if err != nil {
		k.t.Fatal(err)
	}
	defer turn.End()
	if err := turn.Wait(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
	ctx, end := k.BeginCommand(k.t.Context(), "act")
	defer end()
	made, err := k.Ensure(ctx, true)
	if err != nil {
		k.t.Fatal(err)
	}
	page = made.(*storingPage)
	if item != "" {
		page.set(item)
	}
	return page
}

// saveByCommand saves the state as the command state_save does, under the same name.
func (k *autosavedSession) saveByCommand(page *storingPage) error {
	state, err := page.SaveState(k.t.Context())
	if err != nil {
		return err
	}
	return k.manager.SaveState(k.Session, k.st, "shop", state)
}

func (k *autosavedSession) losePage() { close(k.Page().(*storingPage).done) }

// wantSaved checks what is saved under the state's name.
func (k *autosavedSession) wantSaved(want string) {
	k.t.Helper()
	s, err := k.st.Load("ann", "shop")
	if got := itemOf(s); got != want || err != nil {
		k.t.Errorf("kept: %q, %v; want %q", got, err, want)
	}
}

func (k *autosavedSession) close() error {
	return k.manager.Close(k.t.Context(), "ann", k.Name())
}

// A state that a checkpoint could not save is not lost, even if the page is lost before the database answers.
func TestStateOfLostPageIsSaved(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(k *autosavedSession)
	}{
		{"the session rests", func(k *autosavedSession) {
			k.on.setSilent(false)
			time.Sleep(15 * time.Second)
			k.wantSaved("gained")
			k.close()
		}},
		{"the session ends first", func(k *autosavedSession) {
			closed := make(chan error, 1)
			go func() { closed <- k.close() }()
			time.Sleep(10 * time.Minute)
			k.on.setSilent(false)
			time.Sleep(15 * time.Second)
			if err := <-closed; protocol.CodeOf(err) != protocol.BrowserLost {
				k.t.Errorf("closed: %v", err)
			}
		}},
		{"the session ends afterwards", func(k *autosavedSession) {
			k.on.setSilent(false)
			if err := k.close(); protocol.CodeOf(err) != protocol.BrowserLost {
				k.t.Errorf("closed: %v", err)
			}
		}},
		{"the session goes on from it", func(k *autosavedSession) {
			if got := k.command("").item; got != "gained" {
				k.t.Errorf("the next page has %q", got)
			}
			k.on.setSilent(false)
			if err := k.close(); err != nil {
				k.t.Error(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newAutosaved(t)
				k.command("before")
				time.Sleep(15 * time.Second)
				k.wantSaved("before")
				k.on.setSilent(true)
				k.command("gained")
				time.Sleep(15 * time.Second)
				k.losePage()
				c.then(k)
				k.wantSaved("gained")
				release, err := k.st.Hold("ann", "shop")
				if err != nil {
					t.Fatalf("the name: %v", err)
				}
				release()
			})
		})
	}
}

// A state that could not be saved does not replace a later one, nor one of another daemon.
func TestOlderStateIsNotSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newAutosaved(t)
		k.command("first")
		time.Sleep(15 * time.Second)
		k.on.setSilent(true)
		k.command("second")
		time.Sleep(15 * time.Second)
		k.on.setSilent(false)
		k.command("first")
		time.Sleep(15 * time.Second)
		k.losePage()
		k.close()
		k.wantSaved("first")
	})
	synctest.Test(t, func(t *testing.T) {
		k := newAutosaved(t)
		k.command("here")
		time.Sleep(15 * time.Second)
		k.on.setSilent(true)
		k.command("later")
		time.Sleep(15 * time.Second)
		k.manager.CloseTakenOver("ann", k.Name())
		k.on.setSilent(false)
		time.Sleep(time.Minute)
		k.wantSaved("here")
	})
}

// A state that a command saves under the session's name replaces the state that a checkpoint could not save,
// and the next checkpoint does not undo that.
func TestCommandsStateIsNotReplacedByOlderOne(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(k *autosavedSession)
	}{
		{"the session rests", func(*autosavedSession) { time.Sleep(15 * time.Second) }},
		{"the session goes on", func(k *autosavedSession) {
			if got := k.command("").item; got != "third" {
				k.t.Errorf("the next page has %q", got)
			}
		}},
		{"the session ends", func(*autosavedSession) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newAutosaved(t)
				k.command("first")
				time.Sleep(15 * time.Second)
				k.on.setSilent(true)
				k.command("second")
				time.Sleep(10*time.Second + 100*time.Millisecond) // its checkpoint has failed, the next is due
				k.on.setSilent(false)
				if err := k.saveByCommand(k.command("third")); err != nil {
					t.Fatal(err)
				}
				k.wantSaved("third")
				k.losePage()
				c.then(k)
				k.close()
				k.wantSaved("third")
			})
		})
	}
}

// A command does not replace the state that was read when the session ended.
func TestCommandSavesNothingAfterEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newAutosaved(t)
		page := k.command("early")
		early, err := page.SaveState(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		page.set("late")
		if err := k.close(); err != nil {
			t.Fatal(err)
		}
		if err := k.manager.SaveState(k.Session, k.st, "shop", early); protocol.CodeOf(err) != protocol.SessionNotFound {
			t.Errorf("saved: %v", err)
		}
		k.wantSaved("late")
	})
}

// Closing a session whose state was saved at the second attempt reports no error.
func TestStateSavedAtSecondAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newAutosaved(t)
		k.command("gained")
		k.on.full = 1
		if err := k.close(); err != nil {
			t.Errorf("closed: %v", err)
		}
		k.wantSaved("gained")
	})
	synctest.Test(t, func(t *testing.T) {
		k := newAutosaved(t)
		k.command("gained")
		k.on.full = 2
		if err := k.close(); err == nil {
			t.Error("it is not kept, and its end says nothing of it")
		}
	})
}

// A state is saved at most a second after the database answers again.
func TestASilentDatabaseIsAskedEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newAutosaved(t)
		k.command("gained")
		k.on.setSilent(true)
		closed := make(chan error, 1)
		go func() { closed <- k.close() }()
		time.Sleep(8 * time.Second)
		k.on.setSilent(false)
		answers := time.Now()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if took := time.Since(answers); took > time.Second {
			t.Errorf("it was saved %v after the database answered", took)
		}
		k.wantSaved("gained")
	})
}

// If a session's end takes longer than the command that closes it, the error says what is not saved yet.
func TestCloseSaysWhatIsNotSavedYet(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     Options
		slow  time.Duration // of closing the page
		wants string
	}{
		{"a state whose database does not answer", Options{}, 0, "timeout: the state shop is still being kept"},
		{"a profile that is being sealed", Options{Profile: "shop"}, 8 * time.Second, "timeout: the profile shop is still being sealed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newAutosavedWith(t, c.o)
				k.command("gained").slow = c.slow
				k.on.setSilent(c.slow == 0)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				if err := k.manager.Close(ctx, "ann", k.Name()); err == nil || err.Error() != c.wants {
					t.Errorf("said %v, want %s", err, c.wants)
				}
				k.on.setSilent(false)
				time.Sleep(10 * time.Second)
				k.wantSaved("gained")
			})
		})
	}
}

// Nobody can use a profile before its state is saved.
func TestProfileNameIsReleasedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newAutosavedWith(t, Options{Profile: "shop"})
		page := k.command("gained")
		k.on.setSilent(true)
		go k.close()
		time.Sleep(time.Minute)
		page.mu.Lock()
		last, now := page.last, page.held
		page.mu.Unlock()
		if last != 1 {
			t.Errorf("%d shared the name while the page was read for the last time", last)
		}
		if now != 1 {
			t.Errorf("%d share the name while the database is silent", now)
		}
		k.on.setSilent(false)
		time.Sleep(10 * time.Second)
		k.wantSaved("gained")
		if n := page.share(0); n != 0 {
			t.Errorf("%d share the name at the end", n)
		}
	})
}
