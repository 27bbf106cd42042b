package live

import (
	"slices"
	"time"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/recording"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/handoff"
)

// State is everything on the page but the pictures.
type State struct {
	T         string            `json:"t"` // state
	Version   string            `json:"version"`
	NotReady  string            `json:"not_ready,omitempty"`
	Sources   []Source          `json:"sources"`
	Open      int               `json:"open"`
	Max       int               `json:"max"`
	Drives    bool              `json:"drives"`
	Everybody bool              `json:"everybody"` // a view of all sessions, not of one
	Answers   bool              `json:"answers"`
	Owner     bool              `json:"owner,omitempty"` // the viewer is the person whose browser is attached
	Sessions  []SessionState    `json:"sessions"`
	Silent    []string          `json:"silent,omitempty"` // nodes of the fleet that do not answer
	Questions []policy.Question `json:"questions"`
}

// SessionState is one session.
type SessionState struct {
	Name   string `json:"name"`
	Agent  string `json:"agent"`
	Node   string `json:"node,omitempty"` // the node that owns it; empty: this one
	Source string `json:"source"`
	Lost   bool   `json:"lost,omitempty"`
	Live   bool   `json:"live"` // its page can be watched
	// Attached: its page is in a person's own browser, to which neither the jail nor the egress policy applies.
	Attached bool           `json:"attached,omitempty"`
	Command  string         `json:"command,omitempty"`
	Since    time.Time      `json:"since,omitzero"`
	Waiting  int            `json:"waiting"`
	Used     time.Time      `json:"used,omitzero"`
	Tabs     []protocol.Tab `json:"tabs"`
	Handoff  handoff.Status `json:"handoff"`
	Mine     bool           `json:"mine"` // this view drives it
	Scripts  bool           `json:"scripts"`
	Private  bool           `json:"private,omitempty"` // the view may not show the page now (mayNotWatch)
	Dialog   any            `json:"dialog,omitempty"`
	Actions  []Action       `json:"actions"`
	Credits  any            `json:"credits,omitempty"`
	// Recordings are those of all sessions of that name, newest first.
	Recordings []recording.Recorded `json:"recordings"`
}

// State returns what a view shows now.
func (h Host) State(v *View) State {
	d := h.Daemon()
	state := State{T: "state", Version: d.Version, NotReady: d.NotReady, Sources: d.Sources, Open: d.Open, Max: d.Max,
		Drives: v.Drives, Everybody: v.Session == nil, Answers: v.Answers, Owner: v.OwnUser(), Sessions: []SessionState{}, Questions: h.Questions()}
	for _, o := range h.Sessions() {
		of, err := h.Find(o.Agent, o.Session)
		if err != nil {
			continue
		}
		st := SessionState{Name: o.Session, Agent: o.Agent, Source: o.Source, Lost: o.Lost, Command: o.Command, Since: o.Since, Waiting: o.Waiting,
			Handoff: o.Handoff, Mine: o.Handoff.ID == v.ID && o.Handoff.Ready, Actions: h.Timeline.Actions(o.Agent, o.Session), Tabs: tabsOf(o), Recordings: h.Recordings.ForSession(o.Agent, o.Session)}
		page := of.Page()
		_, st.Live = page.(session.Viewable)
		st.Attached = page != nil && page.State().Attached
		st.Scripts = session.Control(of).RanScript()
		st.Dialog = h.Timeline.Dialog(o.Agent, o.Session)
		if v.mayNotWatch(of) {
			st.Private, st.Tabs, st.Dialog = true, []protocol.Tab{}, nil
			if of.CheckLease() != nil { // secrets that other daemons have given meanwhile are not redacted in them yet
				st.Actions = nil
			}
		}
		if h.Credits != nil {
			st.Credits = h.Credits(o.Agent)
		}
		state.Sessions = append(state.Sessions, st)
	}
	for _, other := range h.others() {
		if other.Silent {
			state.Silent = append(state.Silent, other.Node)
		}
		state.Open, state.Max = state.Open+other.Open, state.Max+other.Max
		state.Questions = append(state.Questions, other.Questions...)
		for _, o := range other.Sessions {
			state.Sessions = append(state.Sessions, SessionState{Name: o.Session, Agent: o.Agent, Node: other.Node, Source: o.Source, Lost: o.Lost, Command: o.Command, Since: o.Since, Waiting: o.Waiting,
				Live: o.Live && !other.Silent, Handoff: o.Handoff, Actions: []Action{}, Tabs: tabsOf(o), Recordings: []recording.Recorded{}, Private: o.Handoff.Driver != ""})
		}
	}
	return state
}

// others returns the overviews of the other daemons of the fleet. One that did not answer keeps only the sessions that
// no other daemon shows by now.
func (h Host) others() []NodeOverview {
	if h.Others == nil {
		return nil
	}
	others := h.Others()
	type of struct{ agent, session string }
	known := map[of]bool{}
	note := func(sessions []session.Overview) {
		for _, o := range sessions {
			known[of{o.Agent, o.Session}] = true
		}
	}
	note(h.Sessions())
	for _, other := range others {
		if !other.Silent {
			note(other.Sessions)
		}
	}
	for i, other := range others {
		if other.Silent { // cloned: other views share the list
			others[i].Sessions = slices.DeleteFunc(slices.Clone(other.Sessions), func(o session.Overview) bool { return known[of{o.Agent, o.Session}] })
		}
	}
	return others
}

// nodeOf returns the overview of the daemon that shows a session; nil: none does.
func (h Host) nodeOf(agent, name string) *NodeOverview {
	for _, other := range h.others() {
		for _, o := range other.Sessions {
			if o.Agent == agent && o.Session == name {
				return &other
			}
		}
	}
	return nil
}

// NodeOverview is what another daemon of the fleet shows in a live view. Daemons send it to each other as JSON.
type NodeOverview struct {
	Node      string // its name
	ID        string
	Silent    bool // it did not answer: Sessions are those of its last answer
	Open, Max int
	Sessions  []session.Overview
	Questions []policy.Question
}

// tabsOf returns a session's tabs with masked URLs and escaped titles.
func tabsOf(o session.Overview) []protocol.Tab {
	tabs := []protocol.Tab{}
	for _, t := range rowOf(o, time.Now()).Tabs {
		title := t.Title // quoted, so that it has no invisible characters and none that reorder text
		if title != "" {
			title = title[1 : len(title)-1]
		}
		tabs = append(tabs, protocol.Tab{Tab: t.Name, URL: t.URL, Title: title, Selected: t.Selected, Person: t.Person})
	}
	return tabs
}
