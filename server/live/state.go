package live

import (
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
	Everybody bool              `json:"everybody"` // of all sessions, not of one
	Answers   bool              `json:"answers"`
	Owner     bool              `json:"owner,omitempty"` // of the browser that is attached
	Sessions  []SessionState    `json:"sessions"`
	Questions []policy.Question `json:"questions"`
}

// SessionState is one session.
type SessionState struct {
	Name   string `json:"name"`
	Agent  string `json:"agent"`
	Source string `json:"source"`
	Lost   bool   `json:"lost,omitempty"`
	Live   bool   `json:"live"` // it has a picture
	// Attached: in a person's own browser, where neither the jail nor the egress policy holds.
	Attached bool           `json:"attached,omitempty"`
	Command  string         `json:"command,omitempty"`
	Since    time.Time      `json:"since,omitzero"`
	Waiting  int            `json:"waiting"`
	Used     time.Time      `json:"used,omitzero"`
	Tabs     []protocol.Tab `json:"tabs"`
	Handoff  handoff.Status `json:"handoff"`
	Mine     bool           `json:"mine"` // this view drives it
	Scripts  bool           `json:"scripts"`
	Private  bool           `json:"private,omitempty"` // somebody else drives, whom this view does not show
	Dialog   any            `json:"dialog,omitempty"`
	Actions  []Action       `json:"actions"`
	Credits  any            `json:"credits,omitempty"`
	// Recordings are of sessions of that name, the newest first.
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
		row := rowOf(o, time.Now())
		st := SessionState{Name: o.Session, Agent: o.Agent, Source: o.Source, Lost: o.Lost, Command: o.Command, Since: o.Since, Waiting: o.Waiting,
			Handoff: o.Handoff, Mine: o.Handoff.ID == v.ID && o.Handoff.Ready, Actions: h.Recorder.Actions(o.Agent, o.Session), Tabs: []protocol.Tab{}, Recordings: h.Recordings.Of(o.Agent, o.Session)}
		for _, t := range row.Tabs {
			title := t.Title // quoted, so that nothing in it is invisible or turns the line
			if title != "" {
				title = title[1 : len(title)-1]
			}
			st.Tabs = append(st.Tabs, protocol.Tab{Tab: t.Name, URL: t.URL, Title: title, Selected: t.Selected, Person: t.Person})
		}
		page := of.Page()
		_, st.Live = page.(session.Viewable)
		st.Attached = page != nil && page.State().Attached
		st.Scripts = session.Control(of).Scripted()
		st.Dialog = h.Recorder.Dialog(o.Agent, o.Session)
		if v.excluded(of) {
			st.Private, st.Tabs, st.Dialog = true, []protocol.Tab{}, nil
		}
		if h.Credits != nil {
			st.Credits = h.Credits(o.Agent)
		}
		state.Sessions = append(state.Sessions, st)
	}
	return state
}
