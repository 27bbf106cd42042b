package child

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Name is the name (argv[0]) under which a program runs one script and ends.
const Name = "browserd-script"

// MaxFrame is how many bytes one message between the daemon and the child may have.
const MaxFrame = 8 << 20

// Start is the first message to the child: the script and its limits.
type Start struct {
	Code  string          `json:"code"`
	Input json.RawMessage `json:"input,omitempty"`
	// Commands are the methods that the object browser has, each with the parameter that
	// an argument is for which is no object.
	Commands map[string]string `json:"commands"`
	Limits   Limits            `json:"limits"`
	Prefix   int               `json:"prefix"` // characters before the script's first line; the child's own
}

// Limits are what one script may use.
type Limits struct {
	MemoryMB   int `json:"memory_mb"`   // of the script's own values
	CPUMS      int `json:"cpu_ms"`      // processor time, in milliseconds
	Steps      int `json:"steps"`       // commands
	ValueChars int `json:"value_chars"` // of the value's JSON
	LogChars   int `json:"log_chars"`   // of all that console.log writes
}

// Answer is a later message to the child: the result of the step before, or its error.
type Answer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"` // {code, message, next, details}
}

// Message is what the child sends. Exactly one of the fields is set. The daemon trusts
// none of them.
type Message struct {
	Ready bool  `json:"ready,omitempty"`
	Step  *Step `json:"step,omitempty"`
	Done  *Done `json:"done,omitempty"`
}

// Step is one command that the script asks for.
type Step struct {
	Command string          `json:"command"`
	Params  json.RawMessage `json:"params"`
	Call    string          `json:"call,omitempty"` // as the script wrote it: page.click
	Line    int             `json:"line,omitempty"` // of the script, from 1
	Column  int             `json:"column,omitempty"`
}

// Done is the end of the script: its value or its error.
type Done struct {
	Value json.RawMessage `json:"value,omitempty"` // JSON
	Logs  []string        `json:"logs,omitempty"`
	Error *Failure        `json:"error,omitempty"`
}

// Failure is how a script failed.
type Failure struct {
	Message string          `json:"message"`
	Limit   string          `json:"limit,omitempty"` // which one it reached; empty: none
	Line    int             `json:"line,omitempty"`
	Column  int             `json:"column,omitempty"`
	Step    int             `json:"step,omitempty"`  // the number of the step that failed, from 1; 0: none
	Cause   json.RawMessage `json:"cause,omitempty"` // Answer.Error
}

// ErrTooLong is the error of a message that has more than MaxFrame bytes.
var ErrTooLong = errors.New("a message is too long")

// WriteFrame writes a message: its length in four bytes, big-endian, and its JSON. After
// ErrTooLong nothing of it was written.
func WriteFrame(w io.Writer, message any) error {
	var head [4]byte
	frame, err := appendJSON(head[:], message)
	if err != nil {
		return err
	}
	n := len(frame) - len(head)
	if n > MaxFrame {
		return ErrTooLong
	}
	binary.BigEndian.PutUint32(frame, uint32(n))
	_, err = w.Write(frame)
	return err
}

// JSON returns v as JSON in which <, > and & are not escaped: they would have six characters
// each, and what scripts return and read is often markup.
func JSON(v any) ([]byte, error) { return appendJSON(nil, v) }

// appendJSON is JSON with a prefix.
func appendJSON(begins []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(begins)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// ReadFrame reads a message.
func ReadFrame(r io.Reader, message any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > MaxFrame {
		return ErrTooLong
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, message); err != nil {
		return fmt.Errorf("a message is no JSON: %w", err)
	}
	return nil
}
