package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// Env is what a daemon under a soak is started with: sessions that nobody
// closes expire soon.
func Env() map[string]string { return map[string]string{"BROWSERD_SESSION__IDLE_TIMEOUT": "20s"} }

// Options say how a soak is played. Every field must be set; Hour and Short
// are good ones.
type Options struct {
	Seed     uint64
	Duration time.Duration
	// Sockets, Requests and Rude are how many clients play at once: over
	// WebSocket, over HTTP, and without manners.
	Sockets, Requests, Rude int
	// Every is the time between two samples; Ebb the time between two moments at
	// which everybody has left and nothing is open.
	Every, Ebb time.Duration
	// Renderer and Browser are the mean times between two deaths of a renderer and
	// of Chromium as a whole.
	Renderer, Browser time.Duration
	// Flow and Calm are how much a figure may drift, by its column, while all
	// play and at the ebb. A column that is not there is not judged.
	Flow, Calm map[string]Slack
	// Log is told what is going on, line by line; nil: nobody.
	Log func(format string, args ...any)
}

// Hour are the options of a long soak.
func Hour(d time.Duration) Options {
	return Options{
		Seed: 1, Duration: d, Sockets: 5, Requests: 3, Rude: 2, Every: 5 * time.Second, Ebb: max(d/20, 15*time.Second),
		Renderer: 10 * time.Second, Browser: 4 * time.Minute, Flow: flow(1), Calm: calm(1),
	}
}

// Short are the options of a soak that fits into continuous integration, also
// on a machine that has other work: what is counted at the ebb is held as strictly
// as in a long one, memory, which warms up all the while, only loosely, and what
// is there while all play not at all. Chromium dies twice at most: after a third death soon after its
// start the daemon would, as it should, open sessions without Chromium for a while.
func Short(d time.Duration) Options {
	return Options{
		Seed: 1, Duration: d, Sockets: 3, Requests: 1, Rude: 1, Every: time.Second, Ebb: d / 5,
		Renderer: 2 * time.Second, Browser: 2 * d / 5, Calm: calm(5),
	}
}

const mib = 1 << 20

// calm is what each column may drift from ebb to ebb in a long soak, times a
// factor: what nobody uses must not become more.
func calm(times float64) map[string]Slack {
	return map[string]Slack{
		"rss": {0.10 * times, 8 * mib * times}, "heap": {0.10 * times, 4 * mib * times}, "live": {0.10 * times, 3 * mib * times},
		"goroutines": {0, 2}, "files": {0, 2}, "processes": {0, 1}, "zombies": {0, 0},
		"chromium": {0.10 * times, 40 * mib * times}, "profiles": {0, 0}, "temporary": {0, 0},
	}
}

// flow is the same while all play, which depends on what they are just doing.
func flow(times float64) map[string]Slack {
	return map[string]Slack{
		"rss": {0.10 * times, 8 * mib * times}, "heap": {0.10 * times, 4 * mib * times}, "live": {0.10 * times, 3 * mib * times},
		"goroutines": {0.20 * times, 10 * times}, "files": {0.15 * times, 6 * times}, "processes": {0.20 * times, 3 * times},
		"chromium": {0.20 * times, 100 * mib * times}, "profiles": {0, 0},
	}
}

// Report is what a soak has measured.
type Report struct {
	Options Options
	// Flow are the samples taken every so often while all play, Ebb those taken
	// when everybody had left.
	Flow, Ebb []Sample
	Tally     *Tally
	// Disk is how much the daemon's home has grown.
	Disk int64
}

// game is what the players share.
type game struct {
	daemon *testdaemon.Daemon
	site   string
	tally  *Tally

	// Players hold it for reading while they visit; an ebb holds it for writing.
	tide sync.RWMutex
}

// enter begins a visit; false once ctx has ended.
func (g *game) enter(ctx context.Context) bool {
	g.tide.RLock()
	if ctx.Err() != nil {
		g.tide.RUnlock()
		return false
	}
	return true
}

func (g *game) leave() { g.tide.RUnlock() }

// Run plays until the duration is over or ctx ends, and then once more waits
// for the ebb. It returns an error where the daemon could not be measured.
func Run(ctx context.Context, d *testdaemon.Daemon, o Options) (*Report, error) {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	url, stop, err := serveSite()
	if err != nil {
		return nil, err
	}
	defer stop()
	g := &game{daemon: d, site: url, tally: newTally()}
	r := &Report{Options: o, Tally: g.tally}
	before := size(d.Home)
	began := time.Now()

	playing, end := context.WithTimeout(ctx, o.Duration)
	defer end()
	var players sync.WaitGroup
	source := func(i int) *rand.Rand { return rand.New(rand.NewPCG(o.Seed, uint64(i))) }
	for i := range o.Sockets {
		p := &player{game: g, name: fmt.Sprintf("socket %d", i), rand: source(i), dial: dialSocket}
		players.Go(func() { p.play(playing) })
	}
	for i := range o.Requests {
		over := func(_ context.Context, d *testdaemon.Daemon) (transport, error) { return newHTTPTransport(d), nil }
		p := &player{game: g, name: fmt.Sprintf("request %d", i), rand: source(100 + i), dial: over}
		players.Go(func() { p.play(playing) })
	}
	for i := range o.Rude {
		p := &rude{game: g, rand: source(200 + i)}
		players.Go(func() { p.play(playing) })
	}
	players.Go(func() { g.kill(playing, source(300), o.Renderer, o.Browser) })

	err = g.watch(playing, r, began)
	end()
	players.Wait()
	if err == nil {
		err = g.ebb(ctx, r, began) // the last
	}
	r.Disk = size(d.Home) - before
	return r, err
}

// watch samples until ctx ends, and lets the tide go out every now and then.
func (g *game) watch(ctx context.Context, r *Report, began time.Time) error {
	tick := time.NewTicker(r.Options.Every)
	defer tick.Stop()
	ebb := time.NewTicker(r.Options.Ebb)
	defer ebb.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ebb.C:
			if err := g.ebb(ctx, r, began); err != nil && ctx.Err() == nil {
				return err
			}
		case <-tick.C:
			s, err := measure(ctx, g.daemon, began)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			r.Flow = append(r.Flow, s)
			r.Options.Log("%s", s.line("flow"))
		}
	}
}

// ebbLimit is how long everything may take to go after everybody has left.
const ebbLimit = 30 * time.Second

// ebb waits until every player has left, closes what was left open, and
// samples when nothing changes any more.
func (g *game) ebb(ctx context.Context, r *Report, began time.Time) error {
	g.tide.Lock()
	defer g.tide.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	if err := g.closeAll(ctx); err != nil {
		return err
	}
	deadline := time.Now().Add(ebbLimit)
	var last Sample
	for same := 0; same < 3; {
		s, err := measure(ctx, g.daemon, began)
		if err != nil {
			return err
		}
		if s.Sessions == 0 && s.Goroutines == last.Goroutines && s.Processes == last.Processes && s.Files == last.Files && s.Zombies == 0 {
			same++
		} else {
			same = 0
		}
		if last = s; time.Now().After(deadline) {
			break // the figures say what did not go
		}
		pause(ctx, 200*time.Millisecond) // stillness is the absence of events
	}
	r.Ebb = append(r.Ebb, last)
	r.Options.Log("%s", last.line("ebb"))
	return nil
}

// closeAll closes the sessions that were left open.
func (g *game) closeAll(ctx context.Context) error {
	conn := newHTTPTransport(g.daemon)
	defer conn.close()
	var list struct {
		Sessions []struct{ Session string }
	}
	if err := conn.call(ctx, "session_list", map[string]any{}, &list); err != nil {
		return err
	}
	for _, s := range list.Sessions {
		began := time.Now()
		err := conn.call(ctx, "session_close", map[string]any{"session": s.Session}, nil)
		g.tally.answered("session_close", err, time.Since(began), s.Session, "session_not_found") // it expired meanwhile
	}
	return nil
}
