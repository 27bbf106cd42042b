package fleet

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/recording"
)

// Call is a command that one node forwards to another. It holds no token: the sender has authenticated the client.
type Call struct {
	Agent    string `json:"agent"`
	Role     string `json:"role"`
	Autonomy string `json:"autonomy,omitempty"`
	Token    int    `json:"token"`              // the number of the client's token in auth.tokens
	TokenID  string `json:"token_id,omitempty"` // which token that is, in whatever order the nodes have them
	Client   string `json:"client,omitempty"`   // the ID of the client's connection at the sender; empty: a single request
	Shared   bool   `json:"shared,omitempty"`
	// Session is the session that the command is for; empty: it needs none.
	Session string `json:"session,omitempty"`
	// Open: the receiver opens the session under that name. Follows is the client's session before it, if that has ended.
	Open    bool   `json:"open,omitempty"`
	Follows *Ended `json:"follows,omitempty"`
	// Recover: the session's owner is lost or has handed it over, and the receiver takes it over.
	Recover bool   `json:"recover,omitempty"`
	Trace   string `json:"trace,omitempty"` // the traceparent of the sender's span; empty: it is not traced
	Method  string `json:"method"`
	Params  []byte `json:"-"` // as the client wrote them
}

// Ended says how a session ended.
type Ended struct {
	Session string    `json:"session"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"`
}

// Answer is the other node's answer to a Call.
type Answer struct {
	// NotHere: nothing was done, since that node does not have the session. Ended says how the session ended there; nil:
	// that node does not know.
	NotHere bool   `json:"not_here,omitempty"`
	Ended   *Ended `json:"ended,omitempty"`
	Error   *Error `json:"error,omitempty"`
	Session string `json:"session,omitempty"` // the client's own session from now on
	Source  string `json:"source,omitempty"`  // what served the page
	Result  []byte `json:"-"`                 // JSON
}

// Error is a *protocol.Error as it is sent between nodes.
type Error struct {
	Code    protocol.Code  `json:"code"`
	Message string         `json:"message"`
	Next    string         `json:"next,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// WireError returns e as it is sent.
func WireError(e *protocol.Error) *Error {
	return &Error{e.Code, e.Message, e.Next, e.Details}
}

// Protocol returns the error that was sent.
func (e *Error) Protocol() *protocol.Error {
	return &protocol.Error{Code: e.Code, Message: e.Message, Next: e.Next, Details: e.Details}
}

// Event is an event of a session for the agent's clients at another node, or a question for operators there.
type Event struct {
	Agent   string `json:"agent"` // empty: for operators
	Session string `json:"session,omitempty"`
	Type    string `json:"type"`
	Fields  []byte `json:"-"` // a JSON object
}

// Subscription says which events a node's clients want.
type Subscription struct {
	Agent string `json:"agent"` // whose events; empty: questions for operators
	// Commands: a client has subscribed to the event command, of which there are many.
	Commands bool `json:"commands,omitempty"`
	// Nth is how many operators have connected so far. A new number makes this a new subscription, and a new subscription
	// gets all questions that wait.
	Nth int `json:"nth,omitempty"`
}

// Removal names the recordings that a node has to remove from a folder.
type Removal struct {
	Folder string           `json:"folder"`
	Gone   []recording.Kept `json:"gone"`
}

// frame is one message between nodes: a header, and a body that is not decoded on the way.
type frame struct {
	ID            uint64          `json:"id,omitempty"` // of the call
	Call          *Call           `json:"call,omitempty"`
	Cancel        bool            `json:"cancel,omitempty"`
	Answer        *Answer         `json:"answer,omitempty"`
	Event         *Event          `json:"event,omitempty"`
	Subscriptions *[]Subscription `json:"interest,omitempty"` // all subscriptions of the sender's clients
	Gone          string          `json:"gone,omitempty"`     // a client of the sender that has disconnected
	Hide          *hideRequest    `json:"hide,omitempty"`     // is answered when the values are hidden
	Remove        *Removal        `json:"remove,omitempty"`
	Card          *Card           `json:"card,omitempty"`    // streamed until Cancel; answered when the stream has ended
	Picture       *Picture        `json:"picture,omitempty"` // of a card
	Drawn         bool            `json:"drawn,omitempty"`   // acknowledges the card's last picture
	body          []byte
}

// maxFrame is the size of the largest frame. Results hold files.
const maxFrame = 128 << 20

// encode returns the frame's bytes: two big-endian numbers of 4 bytes, which are the size of all that follows the first
// one and the size of the header; then the header as JSON; then the body.
func (f *frame) encode() ([]byte, error) {
	switch {
	case f.Call != nil:
		f.body = f.Call.Params
	case f.Answer != nil:
		f.body = f.Answer.Result
	case f.Event != nil:
		f.body = f.Event.Fields
	case f.Picture != nil:
		f.body = f.Picture.JPEG
	}
	header, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	size := 4 + len(header) + len(f.body)
	if size > maxFrame {
		return nil, fmt.Errorf("a message of %d bytes is more than nodes send each other", size)
	}
	out := make([]byte, 0, 4+size)
	out = binary.BigEndian.AppendUint32(out, uint32(size))
	out = binary.BigEndian.AppendUint32(out, uint32(len(header)))
	return append(append(out, header...), f.body...), nil
}

// readFrame reads the next frame.
func readFrame(in *bufio.Reader) (*frame, error) {
	var sizes [8]byte
	if _, err := io.ReadFull(in, sizes[:]); err != nil {
		return nil, err
	}
	size, head := binary.BigEndian.Uint32(sizes[:4]), binary.BigEndian.Uint32(sizes[4:])
	if size > maxFrame || size < 4 || head > size-4 {
		return nil, fmt.Errorf("a message of %d and %d bytes", size, head)
	}
	text := make([]byte, size-4)
	if _, err := io.ReadFull(in, text); err != nil {
		return nil, err
	}
	f := &frame{body: text[head:]}
	d := json.NewDecoder(bytes.NewReader(text[:head]))
	d.UseNumber() // so that details and fields keep the form of their numbers
	if err := d.Decode(f); err != nil {
		return nil, err
	}
	switch {
	case f.Call != nil:
		f.Call.Params = f.body
	case f.Answer != nil:
		f.Answer.Result = f.body
	case f.Event != nil:
		f.Event.Fields = f.body
	case f.Picture != nil:
		f.Picture.JPEG = f.body
	}
	return f, nil
}
