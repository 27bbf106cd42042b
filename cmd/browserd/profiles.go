package main

import (
	"context"
	"errors"
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

// profiles runs the Chromium of each profile that is in use: a process of its own, launched as the
// shared one, with a user data directory that is sealed when it has ended. Any goroutine may call its methods.
type profiles struct {
	store  *session.Profiles
	cfg    chromium.Config
	egress egressSetup
	limit  int // profile.open
	log    *slog.Logger

	mu     sync.Mutex
	open   map[profileID]*openProfile
	closed bool
	work   sync.WaitGroup // profiles that are being closed
}

type profileID struct{ agent, name string }

// mark is how the mark of a running browser names its profile.
func (id profileID) mark() string { return id.agent + "\x00" + id.name }

// openProfile is a profile that a session uses.
type openProfile struct {
	profileID
	of         *profiles
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
	full     error          // it exceeded the quota while it ran
	kept     error          // why what its last Chromium wrote was not sealed
	lost     bool           // it is another node's: nothing is sealed
	stop     context.CancelFunc
}

// checkQuotaEvery is how often the user data directory of a running profile is measured.
const checkQuotaEvery = 5 * time.Second

// fillWithin is how long a launch waits for the sealing of the Chromium before it.
const fillWithin = 60 * time.Second

// recover seals what a killed daemon left of a profile, whose Chromium began at a time: not in the
// place of what was sealed after it.
func (p *profiles) recover(mark, userData string, began time.Time) error {
	agent, name, ok := strings.Cut(mark, "\x00")
	if !ok {
		return errors.New("a profile without a name")
	}
	release, err := p.store.Hold(agent, name)
	if err != nil {
		return err
	}
	defer release()
	if p.store.SealedAfter(agent, name, began) {
		p.log.Info("a profile was sealed after a killed daemon had left it: what it left is removed", "profile", name)
		return nil
	}
	return p.store.Keep(agent, name, userData)
}

// use returns the profile for a session of the agent's, which has it alone. Errors: in_use,
// session_limit, shutting_down, those of Profiles.
func (p *profiles) use(o session.Options) (*openProfile, error) {
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
	case open == nil:
	case open.closing:
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
	open := &openProfile{profileID: id, of: p, session: o.Name, release: release, ended: make(chan struct{}), out: make(chan struct{}, 1)}
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
	cfg.Kept = &chromium.Kept{ID: id.mark(), Fill: open.fill, Keep: open.keep, Drop: open.drop}
	ctx, stop := context.WithCancel(context.Background())
	open.stop = stop
	open.supervisor = chromium.Start(ctx, cfg, p.log)
	open.browser = browser.New(open.supervisor, p.log)
	pool := browser.Pool{Own: true}
	if p.egress.open(p.cfg) != nil {
		pool.Egress = func() (browser.Egress, error) {
			open.mu.Lock()
			defer open.mu.Unlock()
			return open.egress, nil
		}
	}
	open.browser.Keep(pool)
	p.open[id] = open
	p.work.Go(func() { open.watch(ctx) })
	return open, nil
}

// configure has the browser's own context, whose proxy is that of the command line, leave by an
// egress proxy that no context had before.
func (o *openProfile) configure(c *chromium.Config) error {
	open := o.of.egress.open(o.of.cfg)
	if open == nil {
		return nil
	}
	egress, err := open()
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
func (o *openProfile) fill(userData string) error {
	select {
	case o.out <- struct{}{}:
	case <-time.After(fillWithin):
		return stillSealed(o.name)
	}
	o.mu.Lock()
	err := o.full
	o.mu.Unlock()
	if err == nil {
		err = o.of.store.Fill(o.agent, o.name, userData)
	}
	if err != nil {
		<-o.out
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.userData = userData
	return nil
}

// keep seals the profile when its Chromium has ended.
func (o *openProfile) keep(userData string) error {
	o.mu.Lock()
	lost := o.lost
	o.mu.Unlock()
	var err error
	if lost {
		o.of.log.Info("a profile is another node's by now: what its Chromium wrote here is removed", "profile", o.name)
	} else {
		err = o.of.store.Keep(o.agent, o.name, userData)
	}
	o.drop(err)
	return err
}

// drop says that the user data directory is gone, and why it was not sealed.
func (o *openProfile) drop(why error) {
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
func (o *openProfile) watch(ctx context.Context) {
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

// page makes the page of the session that has the profile.
func (o *openProfile) page(ctx context.Context, c browser.ContextOptions, emit func(typ string, fields map[string]any)) (session.Page, error) {
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

// close ends the Chromium of a profile, seals the profile and gives it up; who comes second waits for
// the first. Its error is why the profile was not sealed, or timeout when ctx ends: it goes on then,
// and nobody has the profile before it is done.
func (o *openProfile) close(ctx context.Context) error {
	o.begin()
	select {
	case <-o.ended:
		return o.endErr
	case <-ctx.Done():
		return stillSealed(o.name)
	}
}

func stillSealed(name string) error {
	return protocol.Errorf(protocol.Timeout, "the profile %s is still being sealed", name).With("profile", name).
		Then("nothing is lost by it; session_open with this profile answers in_use until it is sealed")
}

// begin begins to close.
func (o *openProfile) begin() {
	p := o.of
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.closing {
		return
	}
	o.closing = true
	p.work.Go(o.end)
}

func (o *openProfile) end() {
	o.browser.Close()
	err := o.supervisor.Close(context.Background()) // it and what it calls have limits
	o.stop()
	o.mu.Lock()
	if o.kept != nil {
		err = o.kept
	}
	o.mu.Unlock()
	o.release()
	p := o.of
	p.mu.Lock()
	if p.open[o.profileID] == o {
		delete(p.open, o.profileID)
	}
	p.mu.Unlock()
	o.endErr = err
	close(o.ended)
}

// profileEnds is how long the daemon waits at its end for profiles that are being sealed. What is not
// sealed by then, the next one seals.
const profileEnds = 60 * time.Second

// close waits until all profiles are sealed, and closes those whose sessions did not.
func (p *profiles) close() {
	p.mu.Lock()
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
	profile *openProfile
}

// Close closes the page, and seals the profile. The error is why the profile was not kept.
func (p *profilePage) Close(ctx context.Context) error {
	p.Context.Close(ctx) // Chromium does not dispose of its own context
	err := p.profile.close(ctx)
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
