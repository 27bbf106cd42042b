// Package profile runs the Chromium of each profile that a session uses: a process of its own, launched like
// the shared one, whose user data directory is sealed when it has ended. The package owns the directory from
// when it is filled until it is sealed. It promises that one session at a time uses a profile, and that what a
// profile gained is sealed or stays on this machine until it can be sealed. It never reads what a profile
// holds.
package profile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/browser"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// Set runs the profiles of a daemon. Any goroutine may call its methods.
type Set struct {
	store *session.Profiles
	// stateDir has the mark files of running browsers (chromium.Reap); empty: there are none.
	stateDir string
	cfg      chromium.Config
	egress   func() (browser.Egress, error) // makes an egress for one Chromium; nil: Chromium reaches the network itself

	limit     int           // profile.open
	sealRetry time.Duration // sealRetryLimit, except in tests
	log       *slog.Logger
	ending    chan struct{} // closed when the daemon ends

	mu       sync.Mutex
	open     map[profileID]*Open
	unsealed map[profileID]bool // profiles whose directory waits to be sealed, since the database did not answer or another node held the name
	sealing  bool               // the goroutine sealPending runs
	closed   bool
	work     sync.WaitGroup // profiles that are being closed, and sealPending
}

type profileID struct{ agent, name string }

// New returns the Set of the profiles in store. At most limit are in use at once. stateDir has the mark files
// of browsers. Call Configure before Use, and Close at the end.
func New(store *session.Profiles, stateDir string, limit int, log *slog.Logger) *Set {
	return &Set{store: store, stateDir: stateDir, limit: limit, sealRetry: sealRetryLimit, open: map[profileID]*Open{}, unsealed: map[profileID]bool{}, ending: make(chan struct{}), log: log}
}

// Configure sets how Chromium is launched, and the func that makes the egress of each process; nil: none. Call
// it before Use.
func (p *Set) Configure(cfg chromium.Config, egress func() (browser.Egress, error)) {
	p.cfg, p.egress = cfg, egress
}

// Reap removes what killed daemons left behind (chromium.Reap), and seals their profiles.
func (p *Set) Reap() (chromium.Reaped, error) { return chromium.Reap(p.stateDir, p.recover) }

// mark returns what the mark file of a running browser says about its profile: its agent and name, and the time
// at which the content of its directory had been sealed, by the shelf's clock.
func (id profileID) mark(filled time.Time) string {
	return id.agent + "\x00" + id.name + "\x00" + filled.UTC().Format(time.RFC3339Nano)
}

func readMark(mark string) (id profileID, filled time.Time, err error) {
	fields := strings.Split(mark, "\x00")
	if len(fields) != 3 {
		return id, filled, errors.New("a profile without a name")
	}
	filled, err = time.Parse(time.RFC3339Nano, fields[2])
	return profileID{fields[0], fields[1]}, filled, err
}

// Open is a profile that a session uses.
type Open struct {
	profileID
	set        *Set
	session    string
	supervisor *chromium.Supervisor
	browser    *browser.Browser
	release    func()

	closing bool          // guarded by set.mu
	ended   chan struct{} // closed when it is sealed and its name is free
	endErr  error         // why it was not sealed; read it after ended is closed

	dirInUse chan struct{} // a semaphore of one, held from fill until the user data directory is sealed or dropped

	mu          sync.Mutex
	egress      browser.Egress // the egress of the Chromium that was launched last
	userData    string         // the directory of the running Chromium; empty: none runs
	filled      time.Time      // when the content that userData was filled with had been sealed; zero: it was empty
	unsealedDir string         // the directory of the Chromium before, which has to be sealed first; empty: none
	quotaErr    error          // set if the profile exceeded its quota while it ran
	sealErr     error          // why the directory of its last Chromium was not sealed
	takenOver   bool           // another node took the session over: nothing is sealed here
	nameUsers   int            // how many hold the name: this Open until it has ended, and those of HoldName
	stop        context.CancelFunc
}

// quotaInterval is how often the user data directory of a running profile is measured.
const quotaInterval = 5 * time.Second

// fillTimeout is how long a launch waits until the directory of the Chromium before it is sealed.
const fillTimeout = 60 * time.Second

// sealRetryLimit is how long the end of a session waits for a database that does not answer, before it reports
// that the profile is sealed later. sealRetryInterval is the pause between its attempts, and
// backgroundSealInterval the pause between those of sealPending.
const (
	sealRetryLimit         = 30 * time.Second
	sealRetryInterval      = 500 * time.Millisecond
	backgroundSealInterval = 5 * time.Second
)

// sealInBackground lets sealPending seal the directory of a profile. Until then no session uses the profile
// here.
func (p *Set) sealInBackground(id profileID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unsealed[id] = true
	if !p.sealing && !p.closed {
		p.sealing = true
		p.work.Go(p.sealPending)
	}
}

// sealPending seals the profiles in unsealed, until none is left.
func (p *Set) sealPending() {
	for {
		select {
		case <-time.After(backgroundSealInterval):
		case <-p.ending:
			return
		}
		p.mu.Lock()
		waited := maps.Clone(p.unsealed)
		p.mu.Unlock()
		_, err := chromium.Reap(p.stateDir, p.recover)
		p.mu.Lock()
		if !errors.Is(err, chromium.ErrLater) {
			maps.DeleteFunc(p.unsealed, func(id profileID, _ bool) bool { return waited[id] }) // including those whose directory somebody has removed
		}
		p.sealing = len(p.unsealed) > 0
		goesOn := p.sealing
		p.mu.Unlock()
		if !goesOn {
			return
		}
	}
}

// recover seals the directory of a profile that a killed daemon left behind, or this one while the database did
// not answer. If the profile was sealed or deleted since its Chromium began, recover does not replace it: the
// directory is removed.
func (p *Set) recover(mark, userData string) error {
	id, filled, err := readMark(mark)
	if err != nil {
		return err
	}
	err = p.recoverOne(id, filled, userData)
	if canRetry(err) {
		p.sealInBackground(id)
		return fmt.Errorf("the profile %s: %w: %w", id.name, chromium.ErrLater, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.unsealed, id)
	return err
}

// canRetry reports whether a profile that could not be sealed because of err can be sealed later.
func canRetry(err error) bool {
	code := protocol.CodeOf(err)
	return err != nil && (code == protocol.FleetUnavailable || code == protocol.InUse)
}

func (p *Set) recoverOne(id profileID, filled time.Time, userData string) error {
	release, err := p.store.Hold(id.agent, id.name)
	if err != nil {
		return err
	}
	defer release()
	sealed, err := p.store.SealedAt(id.agent, id.name)
	if err != nil {
		return err
	}
	if !sealed.Equal(filled) {
		p.log.Info("a profile was sealed or deleted since its Chromium began: what that left is removed", "profile", id.name)
		return nil
	}
	return p.store.Seal(id.agent, id.name, userData)
}

// Use returns the profile for a session of the agent. No other session can use it until it is closed. Errors:
// in_use, session_limit, shutting_down, those of session.Profiles.
func (p *Set) Use(o session.Options) (*Open, error) {
	if err := p.store.Usable(); err != nil {
		return nil, err
	}
	if p.cfg.Endpoint != "" {
		return nil, protocol.Errorf(protocol.Unsupported, "a profile needs a Chromium of its own, and that of browser.endpoint runs elsewhere").
			With("source", session.SourceChromium).Then("keep a state instead: session_open {state, keep: true}")
	}
	id := profileID{o.Agent, o.Profile}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, protocol.Errorf(protocol.ShuttingDown, "the daemon is shutting down")
	}
	switch open := p.open[id]; {
	case open == nil && !p.unsealed[id]:
	case open == nil || open.closing:
		return nil, protocol.Errorf(protocol.InUse, "the profile %s is still being sealed", o.Profile).With("profile", o.Profile).Then("try again in a few seconds")
	case open.session == o.Name:
		return open, nil
	}
	if len(p.open) >= p.limit {
		return nil, protocol.Errorf(protocol.SessionLimit, "the Chromium of %d profiles runs, as many as profile.open allows", len(p.open)).
			With("limit", p.limit).With("open", len(p.open))
	}
	var inUse []string
	for other := range p.open {
		if other.agent == o.Agent {
			inUse = append(inUse, other.name)
		}
	}
	release, err := p.store.Hold(o.Agent, o.Profile)
	if err != nil {
		return nil, err
	}
	if err := p.store.CheckNew(o.Agent, o.Profile, inUse); err != nil {
		release()
		return nil, err
	}
	open := &Open{profileID: id, set: p, session: o.Name, release: release, nameUsers: 1, ended: make(chan struct{}), dirInUse: make(chan struct{}, 1)}
	cfg := p.cfg
	complete := cfg.Complete
	cfg.Complete = func(c *chromium.Config) error {
		if complete != nil {
			if err := complete(c); err != nil {
				return err
			}
		}
		return open.configure(c)
	}
	cfg.Kept = &chromium.Kept{ID: open.mark, Fill: open.fill, Keep: open.keep, Drop: open.drop}
	ctx, stop := context.WithCancel(context.Background())
	open.stop = stop
	open.supervisor = chromium.Start(ctx, cfg, p.log)
	open.browser = browser.New(open.supervisor, p.log)
	pool := browser.Pool{Own: true}
	if p.egress != nil {
		pool.Egress = func() (browser.Egress, error) {
			open.mu.Lock()
			defer open.mu.Unlock()
			return open.egress, nil
		}
	}
	open.browser.StartPool(pool)
	p.open[id] = open
	p.work.Go(func() { open.watch(ctx) })
	return open, nil
}

// configure gives Chromium a new egress proxy on the command line, since that is the proxy of its default
// browser context. No other context has had this proxy.
func (o *Open) configure(c *chromium.Config) error {
	if o.set.egress == nil {
		return nil
	}
	egress, err := o.set.egress()
	if err != nil {
		return err
	}
	c.ProxyServer = egress.ProxyServer()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.egress = egress
	return nil
}

// fill unseals the profile into a new user data directory, once the directory before is sealed.
func (o *Open) fill(userData string) error {
	select {
	case o.dirInUse <- struct{}{}:
	case <-time.After(fillTimeout):
		return session.SealingTimeout(o.name)
	}
	o.mu.Lock()
	err := o.quotaErr
	o.mu.Unlock()
	var filled time.Time
	if err == nil {
		err = o.sealWaiting()
	}
	if err == nil {
		err = o.set.store.Unseal(o.agent, o.name, userData)
	}
	if err == nil {
		filled, err = o.set.store.SealedAt(o.agent, o.name)
	}
	if err != nil {
		<-o.dirInUse
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.userData, o.filled = userData, filled
	return nil
}

// mark returns the text for the mark file of the running browser.
func (o *Open) mark() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.profileID.mark(o.filled)
}

// keep seals the profile when its Chromium has ended. While the database does not answer, keep tries again for
// sealRetryLimit. Then the directory stays, and sealPending seals it when the database answers.
func (o *Open) keep(userData string) error {
	err := o.seal(userData)
	if protocol.CodeOf(err) == protocol.FleetUnavailable {
		o.set.log.Warn("a profile is not sealed yet", "profile", o.name, "error", err)
	}
	for began := time.Now(); protocol.CodeOf(err) == protocol.FleetUnavailable && time.Since(began) < o.set.sealRetry; err = o.seal(userData) {
		time.Sleep(sealRetryInterval)
	}
	if protocol.CodeOf(err) == protocol.FleetUnavailable && o.set.stateDir != "" {
		o.set.sealInBackground(o.profileID)
		o.mu.Lock()
		o.unsealedDir = userData
		o.mu.Unlock()
		err = protocol.Errorf(protocol.FleetUnavailable, "the profile %s is as it was sealed last, since the fleet's database does not answer; %w", o.name, chromium.ErrLater).
			With("profile", o.name).Then("have the operator keep this node, or start it again on its machine: it seals the profile when the database answers")
	}
	o.drop(err)
	return err
}

// sealWaiting seals the directory of the Chromium before, if the database did not answer at its end, so that
// the next Chromium continues from it.
func (o *Open) sealWaiting() error {
	o.mu.Lock()
	waits := o.unsealedDir
	o.mu.Unlock()
	if waits == "" {
		return nil
	}
	err := o.seal(waits)
	if canRetry(err) {
		return err
	}
	if err != nil {
		o.set.log.Warn("what a Chromium left of a profile is not sealed", "profile", o.name, "error", err)
	}
	o.mu.Lock()
	o.unsealedDir = ""
	o.mu.Unlock()
	return nil
}

// seal seals the profile, without a second attempt.
func (o *Open) seal(userData string) error {
	o.mu.Lock()
	lost := o.takenOver
	o.mu.Unlock()
	if lost {
		o.set.log.Info("a profile is another node's by now: what its Chromium wrote here is removed", "profile", o.name)
		return nil
	}
	return o.set.store.Seal(o.agent, o.name, userData)
}

// drop records that the user data directory is not used any more, and why it was not sealed (nil: it was).
func (o *Open) drop(why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.userData, o.sealErr = "", why
	select {
	case <-o.dirInUse:
	default:
	}
}

// watch ends the Chromium of a profile that exceeds its quota. The profile stays as it was sealed last.
func (o *Open) watch(ctx context.Context) {
	ticker := time.NewTicker(quotaInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		o.mu.Lock()
		dir := o.userData
		o.mu.Unlock()
		if dir == "" {
			continue
		}
		if err := o.set.store.CheckSize(o.agent, o.name, dir); protocol.CodeOf(err) == protocol.TooLarge {
			o.mu.Lock()
			o.quotaErr = err
			o.mu.Unlock()
			o.set.log.Warn("a profile exceeds its quota: its Chromium is ended", "profile", o.name, "error", err)
			o.supervisor.StopIdle()
		}
	}
}

// Page makes the page of the session that has the profile.
func (o *Open) Page(ctx context.Context, c browser.ContextOptions, emit func(typ string, fields map[string]any)) (session.Page, error) {
	o.mu.Lock()
	err := o.quotaErr
	o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if o.supervisor.Running() { // its default browser context belonged to the page before
		o.supervisor.StopIdle()
	}
	made, err := o.browser.NewContext(ctx, c, emit)
	if err != nil {
		return nil, err
	}
	return &profilePage{made, o}, nil
}

// Close ends the Chromium of a profile, seals the profile and frees its name. A second call waits for the
// first. The error says why the profile was not sealed. If ctx ends first, it is timeout: closing goes on, and
// nobody can use the profile before that is done.
func (o *Open) Close(ctx context.Context) error {
	o.startClosing()
	select {
	case <-o.ended:
		return o.endErr
	case <-ctx.Done():
		return session.SealingTimeout(o.name)
	}
}

// startClosing begins to close the profile, unless that has begun.
func (o *Open) startClosing() {
	p := o.set
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.closing {
		return
	}
	o.closing = true
	p.work.Go(o.end)
}

func (o *Open) end() {
	o.browser.Close()
	err := o.supervisor.Close(context.Background()) // Close and what it calls have time limits of their own
	o.stop()
	o.mu.Lock()
	if o.sealErr != nil {
		err = o.sealErr
	}
	waits := o.unsealedDir != ""
	o.mu.Unlock()
	p := o.set
	if waits { // sealPending may have run before the mark file said that no process uses the directory
		p.sealInBackground(o.profileID)
	}
	o.releaseName()
	p.mu.Lock()
	if p.open[o.profileID] == o {
		delete(p.open, o.profileID)
	}
	p.mu.Unlock()
	o.endErr = err
	close(o.ended)
}

// releaseName gives the name up for one of its holders. It is free when the last one has.
func (o *Open) releaseName() {
	o.mu.Lock()
	o.nameUsers--
	last := o.nameUsers == 0
	o.mu.Unlock()
	if last {
		o.release()
	}
}

// closeTimeout is how long the daemon waits at its end for profiles that are being sealed. The next daemon
// seals the others.
const closeTimeout = 60 * time.Second

// Close closes all profiles that are still open, and waits until they are sealed, or for closeTimeout.
func (p *Set) Close() {
	p.mu.Lock()
	if !p.closed {
		close(p.ending)
	}
	p.closed = true
	left := slices.Collect(maps.Values(p.open))
	p.mu.Unlock()
	for _, o := range left {
		o.startClosing()
	}
	done := make(chan struct{})
	go func() {
		p.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(closeTimeout):
		p.log.Warn("profiles are still being sealed: the next daemon seals them")
	}
}

// profilePage is a page in a profile's Chromium. Closing it ends the Chromium.
type profilePage struct {
	*browser.Context
	profile *Open
}

// Close closes the page and seals the profile. The error says why the profile was not sealed.
func (p *profilePage) Close(ctx context.Context) error {
	p.Context.Close(ctx) // Chromium cannot dispose of its default browser context
	err := p.profile.Close(ctx)
	if err == nil {
		return nil
	}
	var coded *protocol.Error
	if errors.As(err, &coded) {
		return coded
	}
	e := protocol.Errorf(protocol.NoSpace, "the profile %s could not be sealed, and is as it was before: %w", p.profile.name, err)
	return e.With("profile", p.profile.name).Then("ask the operator to make room before you use it again")
}

// StopSaving implements session.SaveStopper.
func (p *profilePage) StopSaving() {
	p.profile.mu.Lock()
	defer p.profile.mu.Unlock()
	p.profile.takenOver = true
}

// HoldName implements session.NameHolder.
func (p *profilePage) HoldName() (release func()) {
	o := p.profile
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.nameUsers == 0 {
		return func() {}
	}
	o.nameUsers++
	return sync.OnceFunc(o.releaseName)
}
