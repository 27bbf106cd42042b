// Package profile runs the Chromium of each profile that a session uses: a process of its own, launched as
// the shared one, with a user data directory that is sealed when it has ended. It owns the directory from
// when it is filled until it is sealed, and promises that a name has one user, and that what a profile gained
// is sealed, or stays on this machine until it can be. It never reads what a profile holds.
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

// Set is the profiles of a daemon. Any goroutine may call its methods.
type Set struct {
	store *session.Profiles
	// stateDir has the marks of browsers (chromium.Reap); empty: there are none.
	stateDir string
	cfg      chromium.Config
	egress   func() (browser.Egress, error) // nil: Chromium reaches the network itself

	limit  int           // profile.open
	again  time.Duration // sealAgainFor, but for tests
	log    *slog.Logger
	ending chan struct{} // closed when the daemon ends

	mu     sync.Mutex
	open   map[profileID]*Open
	left   map[profileID]bool // whose directory waits to be sealed, since the database did not answer, or another node had the name
	seals  bool               // a goroutine sees to left
	closed bool
	work   sync.WaitGroup // profiles that are being closed, and that goroutine
}

type profileID struct{ agent, name string }

// New returns the profiles that store keeps, of which limit are in use at once. stateDir has the marks of
// browsers. Configure and Close follow.
func New(store *session.Profiles, stateDir string, limit int, log *slog.Logger) *Set {
	return &Set{store: store, stateDir: stateDir, limit: limit, again: sealAgainFor, open: map[profileID]*Open{}, left: map[profileID]bool{}, ending: make(chan struct{}), log: log}
}

// Configure says how Chromium is launched, and what makes the egress of each; nil: none. Call it before Use.
func (p *Set) Configure(cfg chromium.Config, egress func() (browser.Egress, error)) {
	p.cfg, p.egress = cfg, egress
}

// Reap removes what killed daemons left behind, as chromium.Reap, and seals their profiles.
func (p *Set) Reap() (chromium.Reaped, error) { return chromium.Reap(p.stateDir, p.recover) }

// mark is how the mark of a running browser names its profile, and when what its directory was filled with
// had been sealed, by the clock of whoever keeps it.
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
	of         *Set
	session    string
	supervisor *chromium.Supervisor
	browser    *browser.Browser
	release    func()

	closing bool          // guarded by of.mu
	ended   chan struct{} // closed when it is sealed and given up
	endErr  error         // why it was not sealed; read after ended

	out chan struct{} // has an element while the user data directory lies outside of the archive

	mu       sync.Mutex
	egress   browser.Egress // of the Chromium launched last
	userData string         // empty: none runs
	filled   time.Time      // when that which it was filled with had been sealed; zero: it was empty
	waits    string         // the user data directory of the Chromium before, which is to be sealed first; empty: none
	full     error          // it exceeded the quota while it ran
	kept     error          // why what its last Chromium wrote was not sealed
	lost     bool           // it is another node's: nothing is sealed
	holds    int            // who has the name: this one until it has ended, and what is kept beside it
	stop     context.CancelFunc
}

// checkQuotaEvery is how often the user data directory of a running profile is measured.
const checkQuotaEvery = 5 * time.Second

// fillWithin is how long a launch waits for the sealing of the Chromium before it.
const fillWithin = 60 * time.Second

// sealAgainFor is how long a profile waits for a database that does not answer before its session's end says
// that it is sealed later; sealAgainEvery is how often it asks then, and sealLeftEvery how often afterwards.
const (
	sealAgainFor   = 30 * time.Second
	sealAgainEvery = 500 * time.Millisecond
	sealLeftEvery  = 5 * time.Second
)

// sealLater has the directory of a profile sealed when it can be. Until then nobody uses the profile here.
func (p *Set) sealLater(id profileID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left[id] = true
	if !p.seals && !p.closed {
		p.seals = true
		p.work.Go(p.sealLeft)
	}
}

// sealLeft seals the profiles whose directories wait for it, until none is left.
func (p *Set) sealLeft() {
	for {
		select {
		case <-time.After(sealLeftEvery):
		case <-p.ending:
			return
		}
		p.mu.Lock()
		waited := maps.Clone(p.left)
		p.mu.Unlock()
		_, err := chromium.Reap(p.stateDir, p.recover)
		p.mu.Lock()
		if !errors.Is(err, chromium.ErrLater) {
			maps.DeleteFunc(p.left, func(id profileID, _ bool) bool { return waited[id] }) // one whose directory somebody removed, too
		}
		p.seals = len(p.left) > 0
		goesOn := p.seals
		p.mu.Unlock()
		if !goesOn {
			return
		}
	}
}

// recover seals what was left of a profile by a daemon that was killed, or by this one while the database did
// not answer: not in the place of what was sealed since its Chromium began, or of what was deleted.
func (p *Set) recover(mark, userData string) error {
	id, filled, err := readMark(mark)
	if err != nil {
		return err
	}
	err = p.recoverOne(id, filled, userData)
	if later(err) {
		p.sealLater(id)
		return fmt.Errorf("the profile %s: %w: %w", id.name, chromium.ErrLater, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.left, id)
	return err
}

// later reports whether a profile that was not sealed because of err can be sealed later.
func later(err error) bool {
	code := protocol.CodeOf(err)
	return err != nil && (code == protocol.FleetUnavailable || code == protocol.InUse)
}

func (p *Set) recoverOne(id profileID, filled time.Time, userData string) error {
	release, err := p.store.Hold(id.agent, id.name)
	if err != nil {
		return err
	}
	defer release()
	sealed, err := p.store.Sealed(id.agent, id.name)
	if err != nil {
		return err
	}
	if !sealed.Equal(filled) {
		p.log.Info("a profile was sealed or deleted since its Chromium began: what that left is removed", "profile", id.name)
		return nil
	}
	return p.store.Keep(id.agent, id.name, userData)
}

// Use returns the profile for a session of the agent's, which has it alone. Errors: in_use,
// session_limit, shutting_down, those of Profiles.
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
	case open == nil && !p.left[id]:
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
	if err := p.store.Admits(o.Agent, o.Profile, inUse); err != nil {
		release()
		return nil, err
	}
	open := &Open{profileID: id, of: p, session: o.Name, release: release, holds: 1, ended: make(chan struct{}), out: make(chan struct{}, 1)}
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

// configure has the browser's own context, whose proxy is that of the command line, leave by an
// egress proxy that no context had before.
func (o *Open) configure(c *chromium.Config) error {
	if o.of.egress == nil {
		return nil
	}
	egress, err := o.of.egress()
	if err != nil {
		return err
	}
	c.ProxyServer = egress.ProxyServer()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.egress = egress
	return nil
}

// fill puts the profile into a new user data directory, when the one before is sealed.
func (o *Open) fill(userData string) error {
	select {
	case o.out <- struct{}{}:
	case <-time.After(fillWithin):
		return session.BeingSealed(o.name)
	}
	o.mu.Lock()
	err := o.full
	o.mu.Unlock()
	var filled time.Time
	if err == nil {
		err = o.sealWaiting()
	}
	if err == nil {
		err = o.of.store.Fill(o.agent, o.name, userData)
	}
	if err == nil {
		filled, err = o.of.store.Sealed(o.agent, o.name)
	}
	if err != nil {
		<-o.out
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.userData, o.filled = userData, filled
	return nil
}

// mark names the profile, with what was filled last.
func (o *Open) mark() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.profileID.mark(o.filled)
}

// keep seals the profile when its Chromium has ended. While the database does not answer it tries again for
// a while; then the directory stays, and is sealed when it answers.
func (o *Open) keep(userData string) error {
	err := o.seal(userData)
	if protocol.CodeOf(err) == protocol.FleetUnavailable {
		o.of.log.Warn("a profile is not sealed yet", "profile", o.name, "error", err)
	}
	for began := time.Now(); protocol.CodeOf(err) == protocol.FleetUnavailable && time.Since(began) < o.of.again; err = o.seal(userData) {
		time.Sleep(sealAgainEvery)
	}
	if protocol.CodeOf(err) == protocol.FleetUnavailable && o.of.stateDir != "" {
		o.of.sealLater(o.profileID)
		o.mu.Lock()
		o.waits = userData
		o.mu.Unlock()
		err = protocol.Errorf(protocol.FleetUnavailable, "the profile %s is as it was sealed last, since the fleet's database does not answer; %w", o.name, chromium.ErrLater).
			With("profile", o.name).Then("have the operator keep this node, or start it again on its machine: it seals the profile when the database answers")
	}
	o.drop(err)
	return err
}

// sealWaiting seals what the Chromium before left, where the database did not answer at its end: the next one
// goes on from it.
func (o *Open) sealWaiting() error {
	o.mu.Lock()
	waits := o.waits
	o.mu.Unlock()
	if waits == "" {
		return nil
	}
	err := o.seal(waits)
	if later(err) {
		return err
	}
	if err != nil {
		o.of.log.Warn("what a Chromium left of a profile is not sealed", "profile", o.name, "error", err)
	}
	o.mu.Lock()
	o.waits = ""
	o.mu.Unlock()
	return nil
}

// seal is keep once.
func (o *Open) seal(userData string) error {
	o.mu.Lock()
	lost := o.lost
	o.mu.Unlock()
	if lost {
		o.of.log.Info("a profile is another node's by now: what its Chromium wrote here is removed", "profile", o.name)
		return nil
	}
	return o.of.store.Keep(o.agent, o.name, userData)
}

// drop says that the user data directory is gone, and why it was not sealed.
func (o *Open) drop(why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.userData, o.kept = "", why
	select {
	case <-o.out:
	default:
	}
}

// watch ends the Chromium of a profile that exceeds its quota: what it keeps stays as it was
// sealed last.
func (o *Open) watch(ctx context.Context) {
	ticker := time.NewTicker(checkQuotaEvery)
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
		if err := o.of.store.Exceeds(o.agent, o.name, dir); protocol.CodeOf(err) == protocol.TooLarge {
			o.mu.Lock()
			o.full = err
			o.mu.Unlock()
			o.of.log.Warn("a profile exceeds its quota: its Chromium is ended", "profile", o.name, "error", err)
			o.supervisor.StopIdle()
		}
	}
}

// Page makes the page of the session that has the profile.
func (o *Open) Page(ctx context.Context, c browser.ContextOptions, emit func(typ string, fields map[string]any)) (session.Page, error) {
	o.mu.Lock()
	err := o.full
	o.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if o.supervisor.Running() { // its own context belonged to the page before
		o.supervisor.StopIdle()
	}
	made, err := o.browser.NewContext(ctx, c, emit)
	if err != nil {
		return nil, err
	}
	return &profilePage{made, o}, nil
}

// Close ends the Chromium of a profile, seals the profile and gives it up; who comes second waits for
// the first. Its error is why the profile was not sealed, or timeout when ctx ends: it goes on then,
// and nobody has the profile before it is done.
func (o *Open) Close(ctx context.Context) error {
	o.begin()
	select {
	case <-o.ended:
		return o.endErr
	case <-ctx.Done():
		return session.BeingSealed(o.name)
	}
}

// begin begins to close.
func (o *Open) begin() {
	p := o.of
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
	err := o.supervisor.Close(context.Background()) // it and what it calls have limits
	o.stop()
	o.mu.Lock()
	if o.kept != nil {
		err = o.kept
	}
	waits := o.waits != ""
	o.mu.Unlock()
	p := o.of
	if waits { // sealLeft may have looked before Chromium's mark said that nobody has the directory
		p.sealLater(o.profileID)
	}
	o.giveUp()
	p.mu.Lock()
	if p.open[o.profileID] == o {
		delete(p.open, o.profileID)
	}
	p.mu.Unlock()
	o.endErr = err
	close(o.ended)
}

// giveUp gives the name up for one of those who have it.
func (o *Open) giveUp() {
	o.mu.Lock()
	o.holds--
	last := o.holds == 0
	o.mu.Unlock()
	if last {
		o.release()
	}
}

// profileEnds is how long the daemon waits at its end for profiles that are being sealed. What is not
// sealed by then, the next one seals.
const profileEnds = 60 * time.Second

// Close waits until all profiles are sealed, and closes those whose sessions did not.
func (p *Set) Close() {
	p.mu.Lock()
	if !p.closed {
		close(p.ending)
	}
	p.closed = true
	left := slices.Collect(maps.Values(p.open))
	p.mu.Unlock()
	for _, o := range left {
		o.begin()
	}
	done := make(chan struct{})
	go func() {
		p.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(profileEnds):
		p.log.Warn("profiles are still being sealed: the next daemon seals them")
	}
}

// profilePage is a page in a profile's Chromium, which ends with it.
type profilePage struct {
	*browser.Context
	profile *Open
}

// Close closes the page, and seals the profile. The error is why the profile was not kept.
func (p *profilePage) Close(ctx context.Context) error {
	p.Context.Close(ctx) // Chromium does not dispose of its own context
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

// Drop is of session.Dropper.
func (p *profilePage) Drop() {
	p.profile.mu.Lock()
	defer p.profile.mu.Unlock()
	p.profile.lost = true
}

// ShareName is of session.NameSharer.
func (p *profilePage) ShareName() (release func()) {
	o := p.profile
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.holds == 0 {
		return func() {}
	}
	o.holds++
	return sync.OnceFunc(o.giveUp)
}
