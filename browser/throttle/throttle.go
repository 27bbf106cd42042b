// Package throttle limits what a page can make browserd and its client listen to:
// the CDP events of its console and its requests, and the events that a client gets.
package throttle

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
)

// What a page writes to its console and asks of the network comes through the one
// pipe on which all sessions wait for their answers. Where a page causes more events
// in a second than any reader could want, the domain is disabled for a while, which
// also spares Chromium the sending.
const (
	maxPause = 8 // times FirstPause: the pause is doubled while the page goes on
	// calm is how long a page has to be within its limits for the next pause to be the first one again.
	calm = 15 * time.Second
	// cpuRate is by how much the page's main thread is slowed down meanwhile: the
	// browser process hears of each console message and each request as well, on the
	// thread that serves all sessions, whoever listens.
	cpuRate = 20
)

// FirstPause is how long a domain is disabled at first. Only tests change it, before they open
// a page.
var FirstPause = time.Second

// MaxEvents are how many events a page may cause in a second, by their domain: a
// request has four or more. Only tests change it, before they open a page.
var MaxEvents = map[string]int{"Runtime": 1000, "Network": 6000, "Log": 1000, Tools: 1000}

// maxBytes is how many bytes they may have at once, the last event's left out, and drain how many more in each second
// after that: while they are read nobody else's answer is, and on a busy machine little of a flood is read in a second:
// the rest waits in Chromium. There the pipe took one or two megabytes a second of console lines, and four to eight of
// network events, which an ordinary page has many of: each WebSocket frame comes whole, in base64.
var (
	maxBytes = map[string]int{"Runtime": 2 << 20, "Network": 8 << 20, "Log": 2 << 20, Tools: 8 << 20}
	drain    = map[string]float64{"Runtime": 256 << 10, "Network": 3 << 20, "Log": 256 << 10, Tools: 1 << 20}
)

// unbounded are the events of Runtime of which a page can cause any number.
var unbounded = map[string]bool{"Runtime.consoleAPICalled": true, "Runtime.exceptionThrown": true}

// Unbounded reports whether an event is one of Runtime of which a page can cause any number.
func Unbounded(method string) bool { return unbounded[method] }

// Throttle counts the events of one tab's CDP sessions, and disables a domain that
// sends too many. Its methods are called on the reader goroutine alone; its timers
// run on goroutines of their own.
type Throttle struct {
	life  context.Context // the tab's
	began func(s *cdp.Session, domain string, pause time.Duration)

	domains map[key]*domain // the reader goroutine's own

	mu sync.Mutex // held while a domain is disabled, and while the page's CPU rate is put back
}

// key is one domain of one CDP session.
type key struct {
	session target.SessionID
	domain  string
}

// domain is what came of one domain of one CDP session. The reader goroutine owns
// all but disabled, which the timers read and write as well.
type domain struct {
	since    time.Time // when this second began
	events   int       // in it
	held     int       // those whose values Chromium holds
	bytes    int       // of its events, less what has drained until last
	last     time.Time // when the last one came
	pause    time.Duration
	resumed  time.Time // when the last pause ends
	disabled atomic.Bool
}

// New returns the throttle of a tab that lives as long as life. began is called on the
// reader goroutine, without a lock, when a domain of a CDP session is about to be
// disabled for a time: what Chromium would say of it until then is lost.
func New(life context.Context, began func(s *cdp.Session, domain string, pause time.Duration)) *Throttle {
	return &Throttle{life: life, began: began, domains: map[key]*domain{}}
}

// Drop counts an event of so many bytes and reports whether it is to be dropped.
func (t *Throttle) Drop(s *cdp.Session, method string, bytes int) bool {
	name, _, _ := strings.Cut(method, ".")
	if name != "Network" && name != "Log" && name != Tools && !unbounded[method] {
		return false
	}
	k := key{s.ID(), name}
	d := t.domains[k]
	if d == nil {
		d = &domain{}
		t.domains[k] = d
	}
	if d.disabled.Load() {
		return true
	}
	d.events++
	if unbounded[method] {
		if d.held++; d.held >= maxHeld {
			d.held = 0
			s.Send("Runtime.releaseObjectGroup", map[string]any{"objectGroup": "console"})
		}
	}
	now := time.Now()
	d.bytes = max(0, d.bytes-int(drain[name]*now.Sub(d.last).Seconds()))
	d.last = now
	if now.Sub(d.since) >= time.Second {
		d.since, d.events = now, 1
	}
	before := d.bytes
	if d.bytes += bytes; d.events < MaxEvents[name] && before < maxBytes[name] {
		return false
	}
	if name == Tools {
		d.disabled.Store(true)
		t.began(s, name, 0)
		s.Send(name+".disable", cdproto.Empty{})
		return true
	}
	if now.Sub(d.resumed) > calm {
		d.pause = 0
	}
	d.pause = min(max(2*d.pause, FirstPause), maxPause*FirstPause)
	d.resumed, d.bytes = now.Add(d.pause), 0
	t.mu.Lock()
	d.disabled.Store(true)
	setCPURate(s, cpuRate)
	t.mu.Unlock()
	t.began(s, name, d.pause)
	s.Send(name+".disable", cdproto.Empty{})
	time.AfterFunc(d.pause, func() { t.enable(s, name, d, true) })
	return true
}

// The bodies of answers that Chromium keeps in a page's process, for each CDP session and by default up to 200 MB: so much
// of them all, the oldest go first, and of one.
const (
	maxBodies = 32 << 20
	maxBody   = 8 << 20
)

// Enable enables a domain of a CDP session.
func Enable(s *cdp.Session, domain string) *cdp.Pending {
	if domain == "Network" {
		return s.Send(network.Enable.Method, network.EnableParams{MaxTotalBufferSize: new(int64(maxBodies)), MaxResourceBufferSize: new(int64(maxBody))})
	}
	return s.Send(domain+".enable", cdproto.Empty{})
}

// maxHeld is how many events whose values Chromium holds for the CDP session are let through before it is told to let
// go of them: nobody reads more of a value than its event says.
const maxHeld = 200

// Tools is the domain of page tools. It is not enabled again while the document is there, since
// Chromium would tell all of its tools once more.
const Tools = "WebMCP"

func setCPURate(s *cdp.Session, rate int) {
	s.Send("Emulation.setCPUThrottlingRate", map[string]any{"rate": rate})
}

// enable switches a domain on again. What the page said meanwhile is forgotten where
// forget says so; Chromium reports its execution contexts once more. A document that has taken
// the page's place, and of which the events have not told yet, loses what it has said so far.
func (t *Throttle) enable(s *cdp.Session, name string, d *domain, forget bool) {
	if !d.disabled.CompareAndSwap(true, false) || t.life.Err() != nil {
		return
	}
	switch {
	case name == "Runtime" && forget:
		s.Send("Runtime.discardConsoleEntries", cdproto.Empty{})
	case name == "Log":
		s.Send("Log.clear", cdproto.Empty{})
	}
	Enable(s, name)
	if !forget {
		setCPURate(s, 1)
		return
	}
	// A page that goes on would have queued up so much by the time it is heard that the
	// browser process is held up for long behind it: it stays slow until it is found quiet.
	time.AfterFunc(FirstPause, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !d.disabled.Load() {
			setCPURate(s, 1)
		}
	})
}

// Resume enables the disabled domains of a CDP session for a document that has just
// come: it is another page, whose execution contexts must be known. V8 has forgotten
// what the page before it said; what this one has said already is reported now. cleared says
// that Runtime was disabled, so that the end of the old execution contexts was not reported.
func (t *Throttle) Resume(s *cdp.Session) (cleared bool) {
	for k, d := range t.domains {
		if k.session == s.ID() && d.disabled.Load() {
			d.since, d.events, d.bytes, d.pause = time.Now(), 0, 0, 0
			cleared = cleared || k.domain == "Runtime"
			t.enable(s, k.domain, d, false)
		}
	}
	return cleared
}

// Forget forgets a CDP session that has ended.
func (t *Throttle) Forget(id target.SessionID) {
	for k := range t.domains {
		if k.session == id {
			delete(t.domains, k)
		}
	}
}
