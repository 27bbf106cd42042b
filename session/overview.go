package session

import (
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/handoff"
)

// Overview describes a session for operators and the live view.
type Overview struct {
	Info
	Source  string         // the source of its page, or, before the first page, the one that it was opened with
	Lost    bool           // its page was lost: the next command makes another one
	Live    bool           // people can see and drive its page
	Tabs    []protocol.Tab // empty before the first page
	Command string         // the command that holds the turn; empty: none
	Since   time.Time      // when that command got the turn
	Waiting int            // commands that wait for the turn
	Handoff handoff.Status // the zero value: no hand-off
}

// Overviews returns the agent's sessions, or with everybody those of all agents, oldest first. It does not ask
// a page or browser, does not wait for a turn, and does not count as use of a session.
func (m *Manager) Overviews(agent string, everybody bool) []Overview {
	list := []Overview{}
	for _, s := range m.inOrder() {
		if !everybody && s.agent != agent {
			continue
		}
		v := s.Overview()
		if !everybody && hidesPages(s) {
			v.Page, v.Tabs = nil, nil
		}
		list = append(list, v)
	}
	return list
}

// Max returns how many sessions may be open at once in the daemon.
func (m *Manager) Max() int { return m.cfg.Max }

// Overview describes the session. Like Overviews, it does not ask the page and does not count as use.
func (s *Session) Overview() Overview {
	v := Overview{Info: s.info(), Source: s.options.Source, Handoff: s.control.Status()}
	v.Agent, v.Waiting = s.agent, v.Queued
	s.mu.Lock()
	page := s.page
	if s.command != "" {
		v.Command, v.Since = s.command, s.used
		v.Waiting = max(v.Queued-1, 0) // Queued counts the holder of the turn
	}
	s.mu.Unlock()
	if page == nil {
		if v.Source == "" {
			v.Source = SourceAuto
		}
		return v
	}
	at := page.State()
	v.Source, v.Lost = at.Source, isLost(page)
	_, v.Live = page.(Viewable)
	if live, ok := page.(Tabs); ok {
		v.Tabs = live.Tabs()
	} else {
		v.Tabs = []protocol.Tab{{Tab: at.Tab, URL: at.URL, Title: at.Title, Selected: true}}
	}
	return v
}
