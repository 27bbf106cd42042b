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

// owned identifies a session.
type owned struct{ agent, session string }

// Recorder keeps what the sessions' commands did, for the view. It begins when somebody first
// asks for a link, so that a daemon without viewers pays nothing. Any goroutine may call its
// methods.
type Recorder struct {
	sessions *session.Manager
	begin    sync.Once

	mu      sync.Mutex
	actions map[owned][]Action
	number  int
	dialogs map[owned]any // that wait for an answer
}

// NewRecorder returns a Recorder that has not begun.
func NewRecorder(sessions *session.Manager) *Recorder {
	return &Recorder{sessions: sessions, actions: map[owned][]Action{}, dialogs: map[owned]any{}}
}

// Begin has it record from now on.
func (r *Recorder) Begin() {
	r.begin.Do(func() {
		r.sessions.Listen("", func(_, typ string) bool { return typ == protocol.EventCommand }, r.tell)
	})
}

func (r *Recorder) tell(e protocol.Event) {
	key := owned{e.Agent, e.Session}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Type {
	case protocol.EventSessionClosing:
		delete(r.actions, key)
		delete(r.dialogs, key)
	case protocol.EventNavigated:
		delete(r.dialogs, key)
	case protocol.EventCommand, protocol.EventPolicyDenied, protocol.EventDialog, protocol.EventHandoff:
		if e.Type == protocol.EventDialog && e.Fields["answer"] == "open" {
			r.dialogs[key] = map[string]any{"kind": e.Fields["kind"], "message": e.Fields["message"], "default": e.Fields["default"]}
		} else if e.Type != protocol.EventPolicyDenied {
			delete(r.dialogs, key)
		}
		r.number++
		a := Action{Number: r.number, At: time.Now(), Command: e.Type, Code: "event"}
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
		list := append(r.actions[key], a)
		r.actions[key] = list[max(0, len(list)-maxActions):]
	}
}

// Locate notes where the last action hit, if it is still the last.
func (r *Recorder) Locate(agent, session string, number int, box [4]float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.actions[owned{agent, session}]
	for i := range list {
		if list[i].Number == number {
			list[i].Box = box
		}
	}
}

// Dialog returns the dialog of a session that waits for an answer; nil: none.
func (r *Recorder) Dialog(agent, session string) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dialogs[owned{agent, session}]
}

// Answered takes it that the session's dialog waits no longer.
func (r *Recorder) Answered(agent, session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.dialogs, owned{agent, session})
}

// Actions returns the last commands of a session, the oldest first.
func (r *Recorder) Actions(agent, session string) []Action {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Action{}, r.actions[owned{agent, session}]...)
}
