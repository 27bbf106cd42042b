package person

import (
	"context"
	"sync"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
)

// People are those who watch one browser context and drive it. Its documents mark the fields
// that a person types into: their values are never reported afterwards.
type People struct {
	mu      sync.Mutex
	world   string
	on      bool
	scripts map[target.SessionID]*injected
	tabs    map[target.SessionID]*Tab // that were watched
}

// injected is the script that makes the documents of a page or frame mark fields.
type injected struct {
	s *cdp.Session
	p *cdp.Pending // the answer has the script's identifier
}

// The scripts that begin and end the marking, in the current document and later ones.
const (
	begins = "__bd.now().personDrives(true)"
	ends   = "__bd.now().personDrives(false)"
)

// endWait is how long a page may take to answer that a person no longer drives.
const endWait = 2 * time.Second

// New returns the People of a context whose documents have the page script in the isolated
// world of that name.
func New(world string) *People {
	return &People{world: world, scripts: map[target.SessionID]*injected{}, tabs: map[target.SessionID]*Tab{}}
}

// Tab returns a tab by its own CDP session. life ends with the tab.
func (m *People) Tab(life context.Context, s *cdp.Session) *Tab {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tabs[s.ID()]
	if t == nil {
		t = newTab(life, s)
		m.tabs[s.ID()] = t
		context.AfterFunc(life, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.tabs, s.ID())
		})
	}
	return t
}

// dialogWait is how long a dialog waits for a person who drives.
const dialogWait = 10 * time.Minute

// DialogTimeout returns how long a dialog that opens now waits: the agent's time, or longer
// if a person drives.
func (m *People) DialogTimeout(agents time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.on {
		return max(agents, dialogWait)
	}
	return agents
}

// Driven reports whether a person drives.
func (m *People) Driven() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.on
}

func (m *People) send(s *cdp.Session, source string) *cdp.Pending {
	return s.Send(page.AddScriptToEvaluateOnNewDocument.Method, page.AddScriptToEvaluateOnNewDocumentParams{Source: source, WorldName: m.world, RunImmediately: ptr(true)})
}

// Attach injects the script into a new page or out-of-process frame, before its first document.
func (m *People) Attach(s *cdp.Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.on {
		m.scripts[s.ID()] = &injected{s, m.send(s, begins)}
	}
}

// Drive begins or ends the marking of fields, in these pages and frames and in later ones. It
// returns when their documents have answered.
func (m *People) Drive(ctx context.Context, drives bool, sessions []*cdp.Session) error {
	if drives {
		return m.begin(ctx, sessions)
	}
	m.end(ctx)
	return nil
}

func (m *People) begin(ctx context.Context, sessions []*cdp.Session) error {
	m.mu.Lock()
	m.on = true
	var pending []*cdp.Pending
	for _, s := range sessions {
		if m.scripts[s.ID()] == nil {
			p := m.send(s, begins)
			m.scripts[s.ID()] = &injected{s, p}
		}
	}
	m.mu.Unlock()
	// Sent after the scripts, so answered after they ran.
	for _, s := range sessions {
		pending = append(pending, s.Send("Page.enable", struct{}{}))
	}
	return cdp.WaitAll(ctx, pending)
}

// end ends the marking. Fields that were marked stay so, and are shown as dots.
func (m *People) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	m.mu.Lock()
	scripts := m.scripts
	m.on, m.scripts = false, map[target.SessionID]*injected{}
	m.mu.Unlock()
	for _, begun := range scripts {
		var added, last struct {
			Identifier page.ScriptIdentifier `json:"identifier"`
		}
		if begun.p.Wait(ctx, &added) == nil {
			begun.s.Send(page.RemoveScriptToEvaluateOnNewDocument.Method, page.RemoveScriptToEvaluateOnNewDocumentParams{Identifier: added.Identifier})
		}
		if m.send(begun.s, ends).Wait(ctx, &last) == nil {
			begun.s.Send(page.RemoveScriptToEvaluateOnNewDocument.Method, page.RemoveScriptToEvaluateOnNewDocumentParams{Identifier: last.Identifier})
		}
	}
}
