package live

import (
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// maxActions is how many commands of a session the view shows.
const maxActions = 60

// Action is a command that has ended, as the view shows it.
type Action struct {
	Number  int       `json:"n"`
	At      time.Time `json:"at"`
	Command string    `json:"command"`
	Ref     any       `json:"ref,omitempty"` // {ref, role, name}
	MS      any       `json:"ms"`
	Code    any       `json:"code"`
	Message any       `json:"message,omitempty"`
	Effect  any       `json:"effect,omitempty"`
	Box     any       `json:"box,omitempty"` // where it hit: x, y, width, height in CSS pixels
}

// sessionKey identifies a session.
type sessionKey struct{ agent, session string }

// Timeline records the sessions' last commands for the view. It begins when somebody first asks for a link, so
// that it costs nothing without viewers. Any goroutine may call its methods.
type Timeline struct {
	sessions *session.Manager
	begin    sync.Once

	mu      sync.Mutex
	actions map[sessionKey][]Action
	number  int
	dialogs map[sessionKey]any // open dialogs that wait for an answer
}

// NewTimeline returns a Timeline that has not begun.
func NewTimeline(sessions *session.Manager) *Timeline {
	return &Timeline{sessions: sessions, actions: map[sessionKey][]Action{}, dialogs: map[sessionKey]any{}}
}

// Begin starts recording, if it has not begun.
func (t *Timeline) Begin() {
	t.begin.Do(func() {
		t.sessions.Listen("", func(_, typ string) bool { return typ == protocol.EventCommand }, t.record)
	})
}

func (t *Timeline) record(e protocol.Event) {
	key := sessionKey{e.Agent, e.Session}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Type {
	case protocol.EventSessionClosing, protocol.EventSessionMoved:
		delete(t.actions, key)
		delete(t.dialogs, key)
	case protocol.EventNavigated:
		delete(t.dialogs, key)
	case protocol.EventCommand, protocol.EventPolicyDenied, protocol.EventDialog, protocol.EventHandoff:
		if e.Type == protocol.EventDialog && e.Fields["answer"] == "open" {
			t.dialogs[key] = map[string]any{"kind": e.Fields["kind"], "message": e.Fields["message"], "default": e.Fields["default"]}
		} else if e.Type != protocol.EventPolicyDenied {
			delete(t.dialogs, key)
		}
		t.number++
		a := Action{Number: t.number, At: time.Now(), Command: e.Type, Code: "event"}
		switch e.Type {
		case protocol.EventCommand:
			a.Command, _ = e.Fields["command"].(string)
			a.Ref, a.MS, a.Code, a.Message, a.Effect = e.Fields["ref"], e.Fields["ms"], e.Fields["code"], e.Fields["message"], e.Fields["effect"]
		case protocol.EventHandoff:
			a.Code, a.Message = e.Fields["state"], e.Fields["reason"]
			if driver := e.Fields["driver"]; driver != nil {
				a.Message = driver
			}
		default:
			a.Message = e.Fields["message"]
		}
		list := append(t.actions[key], a)
		t.actions[key] = list[max(0, len(list)-maxActions):]
	}
}

// Locate records where the action of that number hit.
func (t *Timeline) Locate(agent, session string, number int, box [4]float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.actions[sessionKey{agent, session}]
	for i := range list {
		if list[i].Number == number {
			list[i].Box = box
		}
	}
}

// Dialog returns the dialog of a session that waits for an answer; nil: none.
func (t *Timeline) Dialog(agent, session string) any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dialogs[sessionKey{agent, session}]
}

// DialogClosed records that the session's dialog does not wait for an answer any more.
func (t *Timeline) DialogClosed(agent, session string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.dialogs, sessionKey{agent, session})
}

// Actions returns the last commands of a session, the oldest first.
func (t *Timeline) Actions(agent, session string) []Action {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Action{}, t.actions[sessionKey{agent, session}]...)
}
