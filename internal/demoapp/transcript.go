package demoapp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Caller sends one command to a daemon and returns its result.
type Caller func(ctx context.Context, method string, params any) (json.RawMessage, error)

// shownBase stands for the app's address in the transcript: the port is
// another one each time.
const shownBase = "http://demo/"

// Transcript plays an agent's visit to the app that Handler serves at base
// ("http://127.0.0.1:port/") and writes it to w as it goes: each command, then
// what it answered. Refs are found as an agent finds them, by role and name.
// The same daemon writes the same bytes each time.
//
// It stops at the first command that is refused, and where the app does not
// show what it should; the error says which.
func Transcript(ctx context.Context, call Caller, base string, w io.Writer) error {
	v := &visit{ctx: ctx, call: call, base: strings.TrimSuffix(base, "/") + "/", w: w}
	v.send("open", params{{"url", v.base}})
	v.do("click", target{role: "link", name: "Items"}, nil)
	v.do("type", target{role: "textbox", name: "New item"}, params{{"text", "Oat milk"}})
	v.do("click", target{role: "button", name: "Add"}, nil)
	v.do("click", target{role: "button", name: "Delete", after: "Bread"}, nil)
	v.do("click", target{role: "button", name: "Delete"}, nil)
	v.do("click", target{role: "link", name: "Contact"}, nil)
	v.do("type", target{role: "textbox", name: "Name"}, params{{"text", "Ola"}})
	v.do("type", target{role: "textbox", name: "Message"}, params{{"text", "More coffee, please."}})
	v.do("select", target{role: "combobox", name: "Topic"}, params{{"values", []string{"Praise"}}})
	v.do("check", target{role: "checkbox", name: "Send me a copy"}, nil)
	v.do("click", target{role: "button", name: "Save"}, nil)
	v.send("read", params{{"kind", "text"}})
	v.want("Saved")
	return v.err
}

// visit is a Transcript under way. After an error its methods do nothing.
type visit struct {
	ctx  context.Context
	call Caller
	base string
	w    io.Writer
	last string // the text part of the last answer
	err  error
}

// params keep the order in which they are written.
type params []struct {
	key   string
	value any
}

// MarshalJSON writes the members in order.
func (p params) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, member := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(member.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", member.key, value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// target says which element is meant: the first of the role and name, behind
// the first node named after where that is not empty.
type target struct {
	role, name, after string
}

// do sends a command with the ref of the target, as the page is now.
func (v *visit) do(method string, t target, rest params) {
	if v.err != nil {
		return
	}
	ref, err := v.find(t)
	if err != nil {
		v.err = fmt.Errorf("%s: %w", method, err)
		return
	}
	v.send(method, append(params{{"ref", ref}}, rest...))
}

// answer is what the transcript shows of a result.
type answer struct {
	Effect   *protocol.Effect   `json:"effect"`
	Snapshot *snapshot.Snapshot `json:"snapshot"`
	Delta    *snapshot.Delta    `json:"delta"`
	Content  string             `json:"content"`
}

func (a answer) text() string {
	switch {
	case a.Snapshot != nil:
		return a.Snapshot.Text
	case a.Delta != nil:
		return a.Delta.Text
	}
	return a.Content
}

func (v *visit) send(method string, p params) {
	if v.err != nil {
		return
	}
	sent, err := json.Marshal(p)
	if err != nil {
		v.err = err
		return
	}
	v.print("→ %s %s\n", method, sent)
	raw, err := v.call(v.ctx, method, p)
	if err != nil {
		v.err = fmt.Errorf("%s %s: %w", method, sent, err)
		return
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		v.err = fmt.Errorf("the result of %s: %w", method, err)
		return
	}
	v.last = a.text()
	if a.Effect != nil && len(a.Effect.Announced) > 0 {
		v.print("  announced: %s\n", strings.Join(a.Effect.Announced, ", "))
	}
	for line := range strings.Lines(v.last) {
		v.print("  %s\n", strings.TrimRight(line, "\n"))
	}
	v.print("\n")
}

// want holds the app to what the visit came for.
func (v *visit) want(text string) {
	if v.err == nil && !strings.Contains(v.last, text) {
		v.err = fmt.Errorf("the page says %q and not %q", v.last, text)
	}
}

func (v *visit) print(format string, args ...any) {
	if v.err != nil {
		return
	}
	_, v.err = io.WriteString(v.w, strings.ReplaceAll(fmt.Sprintf(format, args...), v.base, shownBase))
}

// find takes a snapshot of its own: a delta shows only what changed.
func (v *visit) find(t target) (string, error) {
	raw, err := v.call(v.ctx, "snapshot", params{{"format", "json"}})
	if err != nil {
		return "", err
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return "", fmt.Errorf("the result of snapshot: %w", err)
	}
	if a.Snapshot == nil {
		return "", fmt.Errorf("the result of snapshot has no snapshot")
	}
	behind := t.after == ""
	for _, n := range a.Snapshot.Nodes {
		if behind && n.Ref != "" && n.Role == t.role && (t.name == "" || n.Name == t.name) {
			return n.Ref, nil
		}
		behind = behind || n.Name == t.after
	}
	return "", fmt.Errorf("no %s %q in the snapshot:\n%s", t.role, t.name, a.Snapshot.Text)
}
