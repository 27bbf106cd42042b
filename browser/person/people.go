package person

import (
	"context"
	"sync"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
)

// People are those who look at one browser context and drive it. It has the documents mark
// the fields that a person types into: what is in them is told to nobody afterwards.
type People struct {
	mu      sync.Mutex
	world   string
	on      bool
	scripts map[target.SessionID]*marked
	tabs    map[target.SessionID]*Tab // that somebody has looked at
}

type marked struct {
	s *cdp.Session
	p *cdp.Pending
}

// The scripts that begin and end it, in documents that are there and to come.
const (
	begins = "__bd.now().personDrives(true)"
	ends   = "__bd.now().personDrives(false)"
)

// endWait is how long a page may take to hear that a person drives no longer.
const endWait = 2 * time.Second

// New returns the People of a context whose documents have the page script in the isolated
// world of that name.
func New(world string) *People {
	return &People{world: world, scripts: map[target.SessionID]*marked{}, tabs: map[target.SessionID]*Tab{}}
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

// DialogTimeout returns how long a dialog that opens now waits: the agent's time, or more
// where a person drives.
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

// Attach is for a page or an out-of-process frame that comes, before its first document.
func (m *People) Attach(s *cdp.Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.on {
		m.scripts[s.ID()] = &marked{s, m.send(s, begins)}
	}
}

// Drive marks from now on, in these pages and frames and those to come, or no longer. It
// returns when their documents know.
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
			m.scripts[s.ID()] = &marked{s, p}
		}
	}
	m.mu.Unlock()
	// Behind them in each session's order.
	for _, s := range sessions {
		pending = append(pending, s.Send("Page.enable", struct{}{}))
	}
	return cdp.WaitAll(ctx, pending)
}

// end marks no longer. What was marked stays so, and is shown as dots.
func (m *People) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	m.mu.Lock()
	scripts := m.scripts
	m.on, m.scripts = false, map[target.SessionID]*marked{}
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
