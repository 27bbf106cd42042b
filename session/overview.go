package session

import (
	"time"

	"github.com/browserd/browserd/protocol"
)

// Overview is a session as an operator or the live view sees it.
type Overview struct {
	Info
	Source  string         // what serves its page; where there is none yet, what it was opened for
	Lost    bool           // its page can serve no more: the next command makes another
	Tabs    []protocol.Tab // none before the first page
	Command string         // the one that has the turn; empty: none
	Since   time.Time      // when it got the turn
	Waiting int            // commands that wait for theirs
}

// Overviews returns the agent's sessions, or with everybody those of all agents,
// oldest first. It says what is known: it asks no page and no browser, waits
// for no turn, and is no use of a session, whose idle time goes on.
func (m *Manager) Overviews(agent string, everybody bool) []Overview {
	list := []Overview{}
	for _, s := range m.inOrder() {
		if everybody || s.agent == agent {
			list = append(list, s.overview())
		}
	}
	return list
}

// Max is how many sessions may be open at once in the daemon.
func (m *Manager) Max() int { return m.cfg.Max }

func (s *Session) overview() Overview {
	v := Overview{Info: s.info(), Source: s.options.Source}
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
	v.Source, v.Lost = at.Source, gone(page)
	if live, ok := page.(Tabs); ok {
		v.Tabs = live.Tabs()
	} else {
		v.Tabs = []protocol.Tab{{Tab: at.Tab, URL: at.URL, Title: at.Title, Selected: true}}
	}
	return v
}
