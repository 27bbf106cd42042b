package live

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"net"
	"regexp"
	"sync"
	"time"

	"github.com/browserd/browserd/browser/person"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

// Limits of one viewer's socket.
const (
	maxStreams    = 24        // tabs that it watches at once
	maxInFlight   = 8         // actions of its driver that run at once
	maxMessage    = 256 << 10 // bytes of what it sends
	writeWait     = 10 * time.Second
	stateInterval = 300 * time.Millisecond // how often the state is compared with the last one that was sent
	viewerTimeout = 45 * time.Second       // a viewer from whom nothing comes for so long is gone
	snapshotWait  = 3 * time.Second
	boxWait       = 300 * time.Millisecond
)

// Conn is a WebSocket.
type Conn interface {
	SetReadLimit(bytes int64)
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
	ReadMessage() (kind int, data []byte, err error)
	WriteMessage(kind int, data []byte) error
	NetConn() net.Conn
}

// Kinds of messages (RFC 6455, 5.2).
const (
	textMessage   = 1
	binaryMessage = 2
)

// Host is what the view of a daemon needs from it. Its funcs may be called by any goroutine.
type Host struct {
	Sessions func() []session.Overview
	Find     func(agent, name string) (*session.Session, error)
	// Questions are the confirmations that the viewer may answer.
	Questions func() []policy.Question
	// Others returns what the other daemons of the fleet show. It may be nil.
	Others func() []NodeOverview
	// Watch asks another daemon of the fleet to stream a card; nil: this view shows no cards of other daemons.
	Watch    func(ctx context.Context, node string, c fleet.Card) (*fleet.CardStream, error)
	Daemon   func() Daemon
	Timeline *Timeline
	// Recordings are the traces and videos of the sessions.
	Recordings *Recordings
	Credits    func(agent string) any // the credits that the agent has left; nil: credits are not counted
	// CheckURL decides on an address that a person opens.
	CheckURL func(ctx context.Context, within policy.GateOptions, url string) (string, error)
	// Secrets decides which pictures are not sent since they show a secret; nil: all are sent.
	Secrets *Secrets
	// Redact removes the agents' secrets from text that is sent.
	Redact func([]byte) []byte
	Log    *slog.Logger
}

// clientMessage is a message of the view's page.
type clientMessage struct {
	T       string      `json:"t"`
	ID      uint32      `json:"id"`
	Agent   string      `json:"agent"`
	Session string      `json:"session"`
	Tab     string      `json:"tab"`
	Whole   bool        `json:"whole"`
	Act     *person.Act `json:"act"`
	Option  int         `json:"option"`
	Accept  bool        `json:"accept"`
	Text    string      `json:"text"`
	URL     string      `json:"url"`
}

// stream is one tab that a socket watches.
type stream struct {
	id     uint32
	of     *session.Session
	agent  string // whose it is
	tab    *person.Tab
	viewer *person.Viewer
	stop   context.CancelFunc
	queue  *person.Queue
	acked  chan struct{} // has an element when the page has drawn the last frame
	name   string        // the tab's
	// snapshotting has an element while a snapshot of the tab is taken. Requests for another one are dropped
	// meanwhile.
	snapshotting chan struct{}
	hidden       bool // the viewer was told that the page shows a secret; only sendFrames uses it
	checked      bool // the page showed no secret before the picture was taken; only sendFrames uses it
}

// socket is one connection of a view's page.
type socket struct {
	ws   Conn
	view *View
	host Host
	ctx  context.Context
	work sync.WaitGroup

	writing sync.Mutex // held while a message is written

	inFlight chan struct{} // a semaphore with maxInFlight places, for the driver's actions

	mu      sync.Mutex
	streams map[uint32]*stream
	cards   map[uint32]*card
}

// Serve serves the socket of a view's page until it ends, the view is over, or ctx ends.
func Serve(ctx context.Context, ws Conn, v *View, host Host) {
	ctx, cancel := context.WithDeadline(ctx, v.Expires)
	defer cancel()
	s := &socket{ws: ws, view: v, host: host, ctx: ctx, inFlight: make(chan struct{}, maxInFlight), streams: map[uint32]*stream{}, cards: map[uint32]*card{}}
	stop := context.AfterFunc(ctx, func() { ws.NetConn().Close() })
	defer stop()
	go func() {
		over := make(<-chan struct{})
		if v.Session != nil {
			over = v.Session.Done()
		}
		select {
		case <-over:
			s.send(map[string]any{"t": "over"})
			cancel()
		case <-v.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	s.work.Go(s.pushState)
	s.read()
	cancel()
	s.mu.Lock()
	streams := s.streams
	s.streams = nil
	s.mu.Unlock()
	for _, st := range streams {
		st.end()
	}
	s.work.Wait()
}

func (st *stream) end() {
	st.stop()
	st.queue.Close()
}

func (s *socket) read() {
	s.ws.SetReadLimit(maxMessage)
	for {
		s.ws.SetReadDeadline(time.Now().Add(viewerTimeout))
		kind, raw, err := s.ws.ReadMessage()
		if err != nil {
			return
		}
		var m clientMessage
		if kind != textMessage || json.Unmarshal(raw, &m) != nil {
			return
		}
		if err := s.do(&m); err != nil {
			s.send(map[string]any{"t": "error", "id": m.ID, "asked": m.T, "text": s.message(err)})
		}
	}
}

// message returns the text of an error for a person. It never has what they typed. Errors that are not
// *protocol.Error are only logged.
func (s *socket) message(err error) string {
	if e, ok := err.(*protocol.Error); ok {
		return protocol.Cut(e.Message, 300)
	}
	s.host.Log.Warn("the live view could not do what a person asked for", "error", protocol.Cut(err.Error(), 300))
	return "browserd could not do that; its log says why"
}

// do handles one message of the page.
func (s *socket) do(m *clientMessage) error {
	switch m.T {
	case "here":
		for _, o := range s.host.Sessions() {
			if of, err := s.host.Find(o.Agent, o.Session); err == nil {
				session.Control(of).MarkActive(s.view.Person(), false)
			}
		}
		return nil
	case "watch":
		return s.watch(m)
	case "person_tabs":
		return s.personTabs(m)
	}
	s.mu.Lock()
	st, far := s.streams[m.ID], s.cards[m.ID]
	s.mu.Unlock()
	if far != nil {
		return s.handleCardMessage(far, m.T)
	}
	if st == nil {
		return nil // it has just ended
	}
	switch m.T {
	case "ack":
		select {
		case st.acked <- struct{}{}:
		default:
		}
		return nil
	case "unwatch":
		s.mu.Lock()
		delete(s.streams, m.ID)
		s.mu.Unlock()
		go st.end()
		return nil
	case "snapshot":
		select {
		case st.snapshotting <- struct{}{}:
			s.work.Go(func() {
				defer func() { <-st.snapshotting }()
				s.snapshot(st)
			})
		default:
		}
		return nil
	}
	// Everything else is for drivers only.
	control := session.Control(st.of)
	if !s.view.Drives || !control.Drives(s.view.Person()) {
		return protocol.Errorf(protocol.PolicyDenied, "you do not drive this session: press Take over first")
	}
	control.MarkActive(s.view.Person(), true)
	if err := st.of.CheckLease(); err != nil {
		return err
	}
	page, ok := st.of.Page().(session.Viewable)
	if !ok {
		return protocol.Errorf(protocol.Unsupported, "the session has no page in Chromium")
	}
	switch m.T {
	case "act":
		if m.Act != nil {
			st.queue.Put(*m.Act)
		}
	case "choose":
		return s.begin(st, false, func(ctx context.Context) error {
			s.typed(st)
			return st.tab.Choose(ctx, m.Option)
		})
	case "dialog":
		return s.begin(st, false, func(ctx context.Context) error {
			s.typed(st)
			_, _, _, err := page.(session.Dialogs).Dialog(ctx, nil, protocol.DialogAnswer{Accept: m.Accept, Text: m.Text, Unshown: true})
			s.host.Timeline.DialogClosed(st.agent, st.of.Name())
			return err
		})
	case "tab", "newtab", "closetab", "open", "back", "forward", "reload":
		return s.begin(st, true, func(ctx context.Context) error { return s.navigate(ctx, st, m) })
	}
	return nil
}

// enter calls Control.Enter for an act of the driver, and records if it types.
func (s *socket) enter(ctx context.Context, st *stream, a *person.Act) (leave func(), ok bool) {
	_, leave, ok = session.Control(st.of).Enter(ctx, s.view.Person(), false)
	if ok && a.Types() {
		s.typed(st)
	}
	return leave, ok
}

// typed records that the person types into the document that the stream shows.
func (s *socket) typed(st *stream) {
	if page, ok := st.of.Page().(session.Viewable); ok {
		session.Control(st.of).RecordTyping(page.Documents()[st.name])
	}
}

// begin runs an action of the driver other than input in its own goroutine. exclusive is as in Control.Enter.
// At most maxInFlight of a socket run at once.
func (s *socket) begin(st *stream, exclusive bool, do func(context.Context) error) error {
	select {
	case s.inFlight <- struct{}{}:
	default:
		return protocol.Errorf(protocol.RateLimited, "the page has not done what you asked for before")
	}
	s.work.Go(func() {
		defer func() { <-s.inFlight }()
		ctx, cancel := context.WithTimeout(s.ctx, 30*time.Second)
		defer cancel()
		inside, leave, ok := session.Control(st.of).Enter(ctx, s.view.Person(), exclusive)
		if !ok {
			return // they drive no longer
		}
		defer leave()
		s.reportError(st, do(inside))
	})
	return nil
}

// navigate does what a button of the bar above the picture asks for. The driver holds the turn.
func (s *socket) navigate(ctx context.Context, st *stream, m *clientMessage) error {
	p := st.of.Page()
	tabs := p.(session.Tabs)
	var err error
	switch m.T {
	case "tab":
		_, err = tabs.TabSelect(ctx, m.Tab)
	case "newtab":
		_, err = tabs.TabNew(ctx, "")
	case "closetab":
		_, err = tabs.TabClose(ctx, m.Tab)
	case "open":
		var url string
		if url, err = s.host.CheckURL(ctx, session.GateOptions(st.of), m.URL); err == nil {
			_, err = p.Open(ctx, url, protocol.WaitNone)
		}
	case "back":
		_, err = p.History(ctx, -1)
	case "forward":
		_, err = p.History(ctx, 1)
	case "reload":
		_, err = p.History(ctx, 0)
	}
	return err
}

func (s *socket) reportError(st *stream, err error) {
	if err != nil && s.ctx.Err() == nil {
		s.send(map[string]any{"t": "error", "id": st.id, "text": s.message(err)})
	}
}

// watch begins a stream of frames.
func (s *socket) watch(m *clientMessage) error {
	of, err := s.host.Find(m.Agent, m.Session)
	if err != nil && s.host.Watch != nil && s.host.nodeOf(m.Agent, m.Session) != nil {
		return s.watchCard(m)
	}
	if err != nil {
		return err
	}
	page, ok := of.Page().(session.Viewable)
	if !ok {
		return protocol.Errorf(protocol.Unsupported, "the session has no page in Chromium")
	}
	name := m.Tab
	if name == "" {
		name = of.Page().State().Tab
	}
	tab, err := page.Surface(name)
	if err != nil {
		return err
	}
	size := person.Card
	if m.Whole {
		size = person.Whole
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if room, err := s.checkCapacity(m.ID); !room {
		return err
	}
	ctx, stop := context.WithCancel(s.ctx)
	st := &stream{id: m.ID, of: of, agent: m.Agent, tab: tab, viewer: tab.Watch(size), stop: stop, acked: make(chan struct{}, 1), name: name, snapshotting: make(chan struct{}, 1)}
	st.queue = person.NewQueue(ctx, tab, func(ctx context.Context, a *person.Act) (func(), bool) { return s.enter(ctx, st, a) }, func(err error) { s.reportError(st, err) })
	s.streams[m.ID] = st
	s.work.Go(func() { s.sendFrames(ctx, st) })
	s.work.Go(func() {
		tab.Asking(ctx, func(a person.Asks) {
			if session.Control(of).Drives(s.view.Person()) {
				s.send(map[string]any{"t": "asks", "id": st.id, "asks": a})
			}
		})
	})
	return nil
}

// checkCapacity reports whether the socket may watch another tab under that number. If it is false without an
// error, the socket is closing. The caller holds mu.
func (s *socket) checkCapacity(id uint32) (bool, error) {
	switch {
	case s.streams == nil:
		return false, nil
	case s.streams[id] != nil || s.cards[id] != nil:
		return false, protocol.Errorf(protocol.InvalidParams, "picture %d is there already", id)
	case len(s.streams)+len(s.cards) >= maxStreams:
		return false, protocol.Errorf(protocol.RateLimited, "this view watches %d tabs already", maxStreams)
	}
	return true, nil
}

// sendFrames sends the newest frame, waits until the page has drawn it, and so on.
func (s *socket) sendFrames(ctx context.Context, st *stream) {
	defer st.viewer.Close()
	for {
		f, err := st.viewer.Next(ctx)
		if err != nil {
			if s.ctx.Err() == nil && ctx.Err() == nil {
				s.mu.Lock()
				delete(s.streams, st.id) // the page may watch another tab instead
				s.mu.Unlock()
				s.send(map[string]any{"t": "ended", "id": st.id})
				st.end()
			}
			return
		}
		if s.view.mayNotWatch(st.of) {
			for s.view.mayNotWatch(st.of) {
				select { // do not send a picture, and do not wait for one to be drawn
				case <-time.After(stateInterval):
				case <-ctx.Done():
					return
				}
			}
			st.viewer.Again()
			continue
		}
		if !s.mayShow(ctx, st) {
			continue
		}
		if !s.sendFrame(st.id, int(f.Width), int(f.Height), f.JPEG) {
			return
		}
		select {
		case <-st.acked:
		case <-ctx.Done():
			return
		}
	}
}

// sendFrame sends a picture. width and height are those of the part of the page that it shows, in CSS pixels.
func (s *socket) sendFrame(id uint32, width, height int, jpeg []byte) bool {
	head := binary.BigEndian.AppendUint32(make([]byte, 0, 8+len(jpeg)), id)
	head = binary.BigEndian.AppendUint16(head, uint16(width))
	head = binary.BigEndian.AppendUint16(head, uint16(height))
	return s.write(binaryMessage, append(head, jpeg...))
}

func (s *socket) send(v any) {
	text, err := json.Marshal(v)
	if err == nil {
		s.write(textMessage, s.host.Redact(snapshot.EscapeJSON(text)))
	}
}

func (s *socket) write(kind int, data []byte) bool {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.ws.SetWriteDeadline(time.Now().Add(writeWait))
	if s.ws.WriteMessage(kind, data) != nil {
		s.ws.NetConn().Close()
		return false
	}
	return true
}

// pushState sends the state, which is everything on the page but the pictures, whenever it has changed.
func (s *socket) pushState() {
	tick := time.NewTicker(stateInterval)
	defer tick.Stop()
	var before []byte
	located := map[sessionKey]int{}
	for {
		state := s.host.State(s.view)
		now, err := json.Marshal(state)
		if err == nil && !bytes.Equal(before, now) {
			before = now
			s.write(textMessage, s.host.Redact(snapshot.EscapeJSON(now)))
		}
		for _, o := range state.Sessions {
			if n := len(o.Actions); n > 0 {
				last, key := o.Actions[n-1], sessionKey{o.Agent, o.Name}
				if ref := refOf(last.Ref); ref != "" && located[key] != last.Number {
					located[key] = last.Number
					s.locateAction(key, last.Number, ref)
				}
			}
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}

func refOf(v any) string {
	text, err := json.Marshal(v)
	var named struct {
		Ref string `json:"ref"`
	}
	if err != nil || json.Unmarshal(text, &named) != nil {
		return ""
	}
	return named.Ref
}

// locateAction asks the page where an action hit, if no command runs in its session now.
func (s *socket) locateAction(key sessionKey, number int, ref string) {
	of, err := s.host.Find(key.agent, key.session)
	if err != nil {
		return
	}
	page, ok := of.Page().(session.Viewable)
	turn := of.TakeIdle()
	if turn == nil {
		return
	}
	defer turn.End()
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, boxWait)
	defer cancel()
	if boxes, err := page.Boxes(ctx, of.Refs(), []string{ref}); err == nil {
		for _, box := range boxes {
			s.host.Timeline.Locate(key.agent, key.session, number, box)
		}
	}
}

// snapshot sends a snapshot of the page as an agent sees it, with the boxes of its lines.
func (s *socket) snapshot(st *stream) {
	ctx, cancel := context.WithTimeout(s.ctx, snapshotWait)
	defer cancel()
	control := session.Control(st.of)
	if inside, leave, ok := control.Enter(ctx, s.view.Person(), true); ok {
		defer leave()
		ctx = inside
	} else {
		turn := st.of.TakeIdle()
		if turn == nil {
			s.send(map[string]any{"t": "snapshot", "id": st.id, "busy": true})
			return
		}
		defer turn.End()
	}
	p := st.of.Page()
	page, ok := p.(session.Viewable)
	if !ok {
		return
	}
	o := snapshot.DefaultOptions()
	snap, err := st.of.View(s.view).Snapshot(ctx, p, o)
	if s.view.mayNotWatch(st.of) {
		return
	}
	if err != nil {
		s.reportError(st, err)
		return
	}
	boxes, err := page.Boxes(ctx, st.of.Refs(), refsIn(snap.Text))
	if err != nil {
		boxes = nil
	}
	s.send(map[string]any{"t": "snapshot", "id": st.id, "text": snap.Text, "boxes": boxes})
}

// maxBoxes is how many lines of a snapshot get a box.
const maxBoxes = 400

// shownRef matches the ref of a snapshot's line.
var shownRef = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*(@e\d+) `) })

func refsIn(text string) []string {
	var refs []string
	for _, m := range shownRef().FindAllStringSubmatch(text, maxBoxes) {
		refs = append(refs, m[1])
	}
	return refs
}
