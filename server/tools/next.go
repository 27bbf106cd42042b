package tools

import (
	"encoding/json"
	"fmt"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/handoff"
	"github.com/browserd/browserd/snapshot"
)

// NextStep is a command that a result suggests: for example because a dialog waits, a tab has opened or a
// download has begun.
type NextStep struct {
	Why     string
	Command *command.Command
	Params  string // a JSON object
}

// forModel returns the step as a line of a tool's answer.
func (s NextStep) forModel() string {
	return fmt.Sprintf("next: %s: %s %s", s.Why, s.Command.Name, s.Params)
}

// ForTerminal returns the step as a line for a person.
func (s NextStep) ForTerminal() string {
	return fmt.Sprintf("next: %s: %s", s.Why, s.Command.CommandLine(command.Example{Params: s.Params}))
}

// NextSteps returns the steps that a result suggests.
func NextSteps(result json.RawMessage) []NextStep {
	var r struct {
		Page   protocol.Page   `json:"page"`
		Effect protocol.Effect `json:"effect"`
		State  any             `json:"state"` // of a hand-off; in other results it means something else
	}
	if json.Unmarshal(result, &r) != nil {
		return nil
	}
	var steps []NextStep
	if r.State == string(handoff.Waiting) {
		steps = append(steps, NextStep{"to wait until the person is done", actions.Handoff, `{"wait_ms":25000}`})
	}
	if d := r.Effect.Dialog; d != nil && d.Answer == "open" {
		params := `{"accept":true}`
		if d.Kind == "prompt" {
			params = `{"accept":true,"text":"…"}`
		}
		steps = append(steps, NextStep{"the dialog waits for an answer", actions.Dialog, params})
	}
	for _, tab := range r.Effect.TabsOpened {
		if tab.Tab != r.Page.Tab {
			steps = append(steps, NextStep{"a tab opened", actions.TabSelect, object("tab", tab.Tab)})
		}
	}
	for _, name := range r.Effect.Downloads {
		steps = append(steps, NextStep{"a download began", actions.Downloads, fmt.Sprintf(`{"name":%s,"wait":true}`, snapshot.Quote(name))})
	}
	if len(r.Effect.DownloadsDenied) > 0 && r.Page.Source == session.SourceChromium {
		steps = append(steps, NextStep{"a download was denied; to have it, allow downloads and do the same again", actions.Downloads, `{"allow":true}`})
	}
	return steps
}

// object returns a JSON object with one member.
func object(name, value string) string {
	return fmt.Sprintf("{%q:%s}", name, snapshot.Quote(value))
}

// continuationHint returns a line that says how to read on, if a result has only a part; else "".
func continuationHint(result json.RawMessage) string {
	var r struct {
		Next int `json:"next_offset"`
	}
	if json.Unmarshal(result, &r) != nil || r.Next == 0 {
		return ""
	}
	return fmt.Sprintf("next: for the rest, the same with \"offset\": %d", r.Next)
}
