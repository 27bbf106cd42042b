package recording

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Recorder records one session. Any goroutine may call its methods.
type Recorder struct {
	o     Options
	store *Store

	mu        sync.Mutex // guards all below
	trace     *trace     // nil: none
	video     *video     // nil: none
	paused    bool
	pauses    []span // the last one is open while paused
	page      any    // that the numbers below are of
	since     struct{ console, network int }
	film      Filmed          // nil: nothing is filmed
	frame     *protocol.Frame // the newest picture
	unchecked *protocol.Frame // the newest picture, which may show a secret; nil: none
	last      *Step           // ended; its picture may come; nil: none
	refilm    bool            // the film begins anew before the next action
	came      chan struct{}   // closed and replaced with each picture
}

// Options are what a Recorder needs to know of its session.
type Options struct {
	Agent, Session string
	Version        string // of the daemon
	Width, Height  int    // of the viewport, in CSS pixels
	Redact         Redact
}

// span is a time in which the recorder was paused.
type span struct{ from, to time.Time } // to is zero while it is

// Logs is a page whose requests and console are recorded.
type Logs interface {
	Console(q protocol.Watching) ([]protocol.Console, int)
	Network(ctx context.Context, q protocol.Watching) ([]protocol.Exchange, int, error)
}

// Filmed is a page of which there are pictures.
type Filmed interface {
	// Film has show called with a picture now and after changes, as WebP if so asked. acts says that something is
	// being done to the page from now on: what that does has its picture when Film is called without acts.
	Film(ctx context.Context, webp, acts bool, show func(protocol.Frame)) error
	EndFilm()
}

// New returns the recorder of a session: it records nothing yet.
func (s *Store) New(o Options) *Recorder {
	return &Recorder{o: o, store: s, came: make(chan struct{})}
}

// Action is a command that begins. What is a secret is masked in it.
type Action struct {
	Command string
	Began   time.Time
	Params  any
	Element string // that it is for; empty: none
	// Harmless reports whether the page shows no secret now. It is asked when the action begins and when it
	// has ended, where the agent was given one; pictures for which it says no are dropped.
	Harmless func() bool
}

// Outcome is what came of it.
type Outcome struct {
	Code, Message  string // of its error; Code is empty where there is none
	Result         any    // where the page is and the effect; nil: nothing is known
	Tab            string
	Changed        bool   // the page
	Text, TextName string // what the client was shown of the page: snapshot or delta; empty: nothing
}

// Step is an action that is being recorded.
type Step struct {
	Action
	Outcome
	recorder      *Recorder
	ended         time.Time
	tab           string
	before, after *protocol.Frame
}

// afterwards is how long after an action a picture may come that shows what it did. An action that
// follows at once waits for it, until soon after the end of the one before.
const (
	afterwards = 250 * time.Millisecond
	soon       = 60 * time.Millisecond
)

// On reports whether anything is recorded.
func (r *Recorder) On() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.on()
}

// on is On. The caller holds mu.
func (r *Recorder) on() bool { return r.trace != nil || r.video != nil }

// running returns the file of a kind that is being written; nil: none. The caller holds mu.
func (r *Recorder) running(kind Kind) *file {
	switch {
	case kind == Trace && r.trace != nil:
		return r.trace.file
	case kind == Video && r.video != nil:
		return r.video.file
	}
	return nil
}

// Start begins a recording. page is the session's; nil: it has none yet. Errors: invalid_params
// where one of that kind runs, unsupported.
func (r *Recorder) Start(ctx context.Context, kind Kind, page any) (Recorded, error) {
	e, err := r.start(ctx, kind, page)
	if err == nil {
		r.store.fit(folderOf(r.o.Agent), 1)
	}
	return e, err
}

func (r *Recorder) start(ctx context.Context, kind Kind, page any) (Recorded, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.running(kind); now != nil {
		return Recorded{}, protocol.Errorf(protocol.InvalidParams, "the session is recorded already, as %s", now.entry.Name).
			With("parameter", "action").Then("%s stop ends it", kind)
	}
	if _, filmed := page.(Filmed); kind == Video && page != nil && !filmed {
		return Recorded{}, protocol.Errorf(protocol.Unsupported, "a video needs a page in Chromium").Then("trace records this session, without pictures")
	}
	f, err := r.store.create(r.o.Agent, r.o.Session, kind)
	if err != nil {
		return Recorded{}, err
	}
	r.flush() // it is not of this one
	if kind == Video {
		r.video, r.refilm = newVideo(f, r.o.Version, r.o.Redact, time.Now()), true
	} else {
		r.trace = newTrace(f, r.o.Version, r.o.Redact, time.Now(), r.o.Width, r.o.Height)
		r.page = nil
	}
	r.follow(ctx, page, false)
	return f.entry, nil
}

// follow films the page and knows which of its requests are new. acts says that an action begins. The caller holds mu.
func (r *Recorder) follow(ctx context.Context, page any, acts bool) {
	if page == nil {
		return
	}
	if r.page != page {
		r.page, r.since.console, r.since.network = page, 0, 0
		if logs, ok := page.(Logs); ok {
			// What was there before is not of this recording.
			_, now := logs.Console(protocol.Watching{Limit: 1})
			r.since.console, r.since.network = now, now
		}
		r.film, _ = page.(Filmed)
	}
	if r.film != nil && !r.paused {
		film, again, webp := r.film, r.refilm, r.video != nil
		r.mu.Unlock() // it asks Chromium, whose pictures are taken meanwhile
		if again {
			film.EndFilm() // until when it may show pictures that were drawn before
			r.mu.Lock()
			r.frame, r.refilm = nil, false
			r.mu.Unlock()
		}
		film.Film(ctx, webp, acts, r.show)
		r.mu.Lock()
	}
}

// show takes a picture.
func (r *Recorder) show(f protocol.Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paused || r.refilm || r.within(f.At) {
		return
	}
	if r.o.Redact.Gave() {
		r.unchecked = &f
		return
	}
	r.take(f)
}

// check takes the newest picture if the page shows no secret now, and drops it otherwise. The caller
// holds mu, which is free while the page is asked.
func (r *Recorder) check(page any, harmless func() bool) {
	if page == nil || !r.o.Redact.Gave() {
		return
	}
	seen := r.unchecked // one that comes meanwhile is for the next check
	r.mu.Unlock()
	ok := harmless()
	r.mu.Lock()
	if !ok || r.paused {
		r.frame, r.unchecked = nil, nil
		return
	}
	if seen != nil && !r.within(seen.At) {
		r.take(*seen)
	}
	if r.unchecked == seen {
		r.unchecked = nil
	}
}

// take takes a picture that may be recorded. The caller holds mu.
func (r *Recorder) take(f protocol.Frame) {
	if r.video != nil {
		r.video.frame(f)
	}
	r.frame = &f
	if r.last != nil && f.At.Sub(r.last.ended) < afterwards {
		r.last.after = &f
	}
	close(r.came)
	r.came = make(chan struct{})
}

// Begin records an action that begins. page is the session's; nil: it has none yet. End has to be
// called. It returns nil where nothing is recorded.
func (r *Recorder) Begin(ctx context.Context, page any, a Action) *Step {
	if !r.On() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.check(page, a.Harmless)
	if r.last != nil && r.last.Changed && (r.last.after == nil || r.last.after.At.Before(r.last.Began)) {
		r.await(ctx, soon)
	}
	r.flush()
	r.follow(ctx, page, true)
	s := &Step{Action: a, recorder: r, before: r.frame}
	if r.paused {
		s.Params, s.Element, s.before = nil, "", nil
	}
	return s
}

// End records what came of it. page is the session's now.
func (s *Step) End(ctx context.Context, page any, o Outcome) {
	r := s.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	s.ended, s.tab, s.Outcome = time.Now(), o.Tab, o
	if !r.on() {
		return
	}
	r.follow(ctx, page, false)
	r.check(page, s.Harmless)
	if !r.on() { // it ended meanwhile
		return
	}
	s.after = r.frame
	if r.paused || r.within(s.Began) {
		s.Outcome = Outcome{Code: o.Code, Tab: o.Tab, Message: "said during a hand-off"}
		s.Params, s.Element, s.before, s.after = nil, "", nil, nil
	}
	if r.last != nil { // two at a time: a dialog, while another command waits
		r.flush()
	}
	r.last = s
	r.gather(ctx, false)
}

// flush writes the action that has ended. The caller holds mu.
func (r *Recorder) flush() {
	if r.last != nil && r.trace != nil {
		r.trace.action(r.last)
	}
	if r.last != nil && r.video != nil {
		r.video.action(r.last)
	}
	r.last = nil
}

// manyEntries is after how many new entries of a page's log its requests are read: it keeps some
// thousands, and reading them takes time.
const manyEntries = 1000

// gather takes what the page has written and asked for. The caller holds mu.
func (r *Recorder) gather(ctx context.Context, all bool) {
	logs, ok := r.page.(Logs)
	if !ok || r.trace == nil {
		return
	}
	written, now := logs.Console(protocol.Watching{Since: r.since.console})
	r.since.console = now
	for _, c := range written {
		if !r.within(c.Time) {
			r.trace.console(c)
		}
	}
	if !all && now-r.since.network < manyEntries {
		return
	}
	asked, next, err := logs.Network(ctx, protocol.Watching{Since: r.since.network, Full: true})
	if err != nil {
		return
	}
	r.since.network = next
	for _, x := range asked {
		if !x.Time.Before(r.trace.began) && !r.within(x.Time) {
			x.RequestBody = ""
			r.trace.request(x)
		}
	}
}

// within reports whether the recorder was paused then. The caller holds mu.
func (r *Recorder) within(at time.Time) bool {
	for _, p := range r.pauses {
		if !at.Before(p.from) && (p.to.IsZero() || at.Before(p.to)) {
			return true
		}
	}
	return false
}

// Pause records nothing of the page and nothing that is typed until Resume, such as while a person
// has the session: of commands the name, the code of the error, and when.
func (r *Recorder) Pause() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.paused {
		r.paused = true
		r.flush()
		r.pauses = append(r.pauses, span{from: time.Now()})
		r.frame, r.unchecked = nil, nil
	}
}

// Resume ends a pause.
func (r *Recorder) Resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paused {
		r.paused, r.refilm = false, true // what a picture shows that is on its way is of the pause
		r.pauses[len(r.pauses)-1].to = time.Now()
	}
}

// Stop ends a recording, which can be read then. Errors: invalid_params where none runs.
func (r *Recorder) Stop(ctx context.Context, kind Kind) (Stopped, error) {
	e, err := r.stop(ctx, kind)
	if err == nil {
		r.store.fit(folderOf(r.o.Agent), 0)
	}
	return e, err
}

func (r *Recorder) stop(ctx context.Context, kind Kind) (Stopped, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running(kind) == nil {
		return Stopped{}, protocol.Errorf(protocol.InvalidParams, "the session is not recorded as a %s", kind).With("parameter", "action").Then("begin with %s start", kind)
	}
	r.await(ctx, afterwards)
	f := r.running(kind)
	if f == nil {
		return Stopped{}, protocol.Errorf(protocol.InvalidParams, "the session is recorded no longer").With("parameter", "action")
	}
	r.flush()
	actions, err := 0, error(nil)
	if kind == Video {
		actions, err = len(r.video.chapters), r.video.close()
		r.video = nil
	} else {
		r.gather(ctx, true)
		actions, err = r.trace.actions, r.trace.close()
		r.trace = nil
	}
	if !r.on() {
		film := r.film
		r.film, r.page, r.frame = nil, nil, nil
		if film != nil {
			r.mu.Unlock()
			film.EndFilm()
			r.mu.Lock()
		}
	}
	e, err := f.finish(err)
	return Stopped{e, actions}, err
}

// Stopped is a recording that has ended.
type Stopped struct {
	Recorded
	Actions int `json:"actions"` // that it holds
}

// await waits for the picture of what the last action did, until so long after its end. The caller
// holds mu, which is free meanwhile.
func (r *Recorder) await(ctx context.Context, limit time.Duration) {
	if r.film == nil || r.paused || r.last == nil {
		return
	}
	for {
		left := limit - time.Since(r.last.ended)
		if left <= 0 || r.last.after != nil && r.last.after.At.After(r.last.ended) {
			return
		}
		came := r.came
		r.mu.Unlock()
		timer := time.NewTimer(left)
		select {
		case <-came:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		r.mu.Lock()
		if ctx.Err() != nil || r.last == nil {
			return
		}
	}
}

// Close ends what is recorded. It does not wait for a fleet, which counts it a moment later.
func (r *Recorder) Close(ctx context.Context) error {
	var errs []error
	for _, kind := range []Kind{Trace, Video} {
		r.mu.Lock()
		runs := r.running(kind) != nil
		r.mu.Unlock()
		if runs {
			_, err := r.stop(ctx, kind)
			errs = append(errs, err)
		}
	}
	if f := r.store.fleet; f != nil && len(errs) > 0 {
		f.Later(folderOf(r.o.Agent))
	}
	return errors.Join(errs...)
}
