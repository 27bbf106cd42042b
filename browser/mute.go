package browser

import (
	"strings"
	"sync/atomic"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
)

// What a page says on its console and asks of the network comes through the one
// pipe on which all sessions wait for their answers. A page that says more in a
// second than any reader could want is not listened to for a while: the domain
// is switched off for it, which also spares Chromium the telling.
const (
	muteFor    = time.Second     // the first time
	muteAtMost = 8 * time.Second // doubled while it goes on
	// slowed is by how much the page's main thread is slowed down meanwhile: the
	// browser process hears of each console message and each request as well, on the
	// thread that serves all sessions, whoever listens.
	slowed = 20
)

// tooMany are how many events a page may cause in a second, by their domain: a
// request has four or more.
var tooMany = map[string]int{"Runtime": 1000, "Network": 6000}

// tooMuch is how many bytes they may have together, the last of them left out: while
// they are read nobody else's answer is, and on a busy machine the pipe takes no more
// than some megabytes a second.
var tooMuch = map[string]int{"Runtime": 2 << 20, "Network": 8 << 20}

// loud are the events of Runtime of which a page can cause any number.
var loud = map[string]bool{"Runtime.consoleAPICalled": true, "Runtime.exceptionThrown": true}

// speech is one domain of one cdp session. Only the reader goroutine uses it, but
// for muted.
type speech struct {
	since time.Time // when this second began
	said  int       // in it
	bytes int       // of what was said
	mute  time.Duration
	muted atomic.Bool
}

type voice struct {
	session target.SessionID
	domain  string
}

// tooLoud counts an event of so many bytes and tells whether it is to be dropped. On
// the reader goroutine alone.
func (t *tab) tooLoud(s *cdp.Session, method string, bytes int) bool {
	domain, _, _ := strings.Cut(method, ".")
	if domain != "Network" && !loud[method] {
		return false
	}
	key := voice{s.ID(), domain}
	p := t.speech[key]
	if p == nil {
		p = &speech{}
		t.speech[key] = p
	}
	if p.muted.Load() {
		return true
	}
	p.said++
	now := time.Now()
	if now.Sub(p.since) >= time.Second {
		if p.said < tooMany[domain]/2 && p.bytes < tooMuch[domain]/2 {
			p.mute = 0
		}
		p.since, p.said, p.bytes = now, 1, 0
	}
	before := p.bytes
	if p.bytes += bytes; p.said < tooMany[domain] && before < tooMuch[domain] {
		return false
	}
	p.mute = min(max(2*p.mute, muteFor), muteAtMost)
	t.c.mu.Lock()
	p.muted.Store(true)
	s.Send("Emulation.setCPUThrottlingRate", map[string]any{"rate": slowed})
	switch domain {
	case "Network":
		clear(t.inflight) // their ends will not be told
		t.wake()
	case "Runtime":
		for _, f := range t.frames {
			if f.cdp.ID() == s.ID() {
				f.marks = nil // remote objects end with the domain
			}
		}
	}
	t.c.log.Write(t.name, "warning", "browserd: the page floods "+map[string]string{"Network": "the network", "Runtime": "the console"}[domain]+
		": what comes in the next "+p.mute.String()+" is left out", "", 0)
	t.c.mu.Unlock()
	s.Send(domain+".disable", cdproto.Empty{})
	time.AfterFunc(p.mute, func() { t.listenAgain(s, domain, p, true) })
	return true
}

// listenAgain switches a domain on again. What the page said meanwhile is
// forgotten where forget says so; its execution contexts are told once more.
func (t *tab) listenAgain(s *cdp.Session, domain string, p *speech, forget bool) {
	if !p.muted.CompareAndSwap(true, false) || t.life.Err() != nil {
		return
	}
	if domain == "Runtime" && forget {
		s.Send("Runtime.discardConsoleEntries", cdproto.Empty{})
	}
	s.Send(domain+".enable", cdproto.Empty{})
	if !forget {
		s.Send("Emulation.setCPUThrottlingRate", map[string]any{"rate": 1})
		return
	}
	// One that goes on would have queued up so much by the time it is heard that the
	// browser process is held up for long behind it: it stays slow until it is found quiet.
	time.AfterFunc(muteFor, func() {
		t.c.mu.Lock()
		defer t.c.mu.Unlock()
		if !p.muted.Load() {
			s.Send("Emulation.setCPUThrottlingRate", map[string]any{"rate": 1})
		}
	})
}

// listenToAll switches on what is muted, for a document that has just come: it
// is another page, whose execution contexts must be known. V8 has forgotten what
// the page before it said, and what this one has said already is told now. On the
// reader goroutine alone.
func (t *tab) listenToAll(s *cdp.Session) {
	for key, p := range t.speech {
		if key.session == s.ID() && p.muted.Load() {
			p.since, p.said, p.bytes, p.mute = time.Now(), 0, 0, 0
			if key.domain == "Runtime" {
				t.worldsCleared(s, struct{}{}) // which was not told
			}
			t.listenAgain(s, key.domain, p, false)
		}
	}
}
