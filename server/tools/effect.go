package tools

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/browserd/browserd/snapshot"
)

// callArguments are the arguments of a call that its effect may repeat.
type callArguments struct {
	Ref any `json:"ref"`
	URL any `json:"url"`
}

// effectLine returns the line of an action's effect, or "". It leaves out what the call or the rest of the
// answer says: the hit element if the call named it, the URL of a call with a URL if the snapshot's header has
// it, that something changed if lines of the page follow, and the focus if the element's line has it.
func (t resultParts) effectLine(params json.RawMessage) string {
	if t.Effect == nil {
		return ""
	}
	var call callArguments
	json.Unmarshal(params, &call) // if they cannot be read, nothing is left out
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

// changedBefore reports whether everything in the delta had changed before the action.
func (t resultParts) changedBefore() bool {
	return t.Delta != nil && t.Delta.Text != "" && t.Effect != nil && !t.Effect.Changed && t.Since != nil && t.Since.Changed
}

// quoted matches a quoted value in a line's brackets, or the name after them.
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
