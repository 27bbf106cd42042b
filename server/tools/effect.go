package tools

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/browserd/browserd/snapshot"
)

// asked is what an answer's effect may repeat of its call.
type asked struct {
	Ref any `json:"ref"`
	URL any `json:"url"`
}

// effectLine returns what a reader has to be told of an action's effect beside its call and the
// lines of the page that follow, or "". Left out are the element that received the input if it
// is the call's, the address of a call with an address if the snapshot's header has it, that
// something changed if lines follow, and the focus if the line of its element has it.
func (t told) effectLine(params json.RawMessage) string {
	if t.Effect == nil {
		return ""
	}
	var call asked
	json.Unmarshal(params, &call) // without it, nothing is left out for it
	e, shown := *t.Effect, t.snapshotText()
	if t.Delta != nil {
		shown = t.Delta.Text
	}
	if e.Hit == call.Ref {
		e.Hit = ""
	}
	if header, _, _ := strings.Cut(t.snapshotText(), "\n"); call.URL != nil && strings.Contains(header, " url="+snapshot.Quote(e.Navigated)) {
		e.Navigated = ""
	}
	if showsFocus(shown, e.Focused) {
		e.Focused = ""
	}
	if shown != "" {
		e.Changed = false
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if enc.Encode(e) != nil || line.String() == "{}\n" {
		return ""
	}
	return "effect: " + string(snapshot.EscapeJSON(bytes.TrimSpace(line.Bytes())))
}

// before reports whether all that a delta shows had changed before the action.
func (t told) before() bool {
	return t.Delta != nil && t.Delta.Text != "" && t.Effect != nil && !t.Effect.Changed && t.Since != nil && t.Since.Changed
}

// quoted is a value within a line's brackets, or a name behind them.
var quoted = regexp.MustCompile(`"(\\.|[^"\\])*"`)

// showsFocus reports whether a line of a snapshot or delta says that the element has the focus.
func showsFocus(lines, ref string) bool {
	for line := range strings.Lines(lines) {
		line, of := strings.CutPrefix(strings.TrimLeft(line, "+~* "), ref+" [")
		states, _, _ := strings.Cut(quoted.ReplaceAllString(line, ""), "]")
		if ref != "" && of && slices.Contains(strings.Fields(states), "focused") {
			return true
		}
	}
	return false
}
