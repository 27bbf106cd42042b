package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// explain is an error of the daemon's for a person: its code and sentence, the next step
// as a command line, and the facts that the sentence leaves out. row is the command that
// was typed, nil for none.
func explain(row *command.Command, err error) error {
	var said *protocol.Error
	switch {
	case errors.As(err, new(refusal)):
		return err
	case !errors.As(err, &said):
		return coded{err, exitNoDaemon}
	}
	text := snapshot.Literally(said.Error()) + "\n→ " + snapshot.Literally(nextStep(row, said, closedHost(err)))
	for _, key := range slices.Sorted(maps.Keys(said.Details)) {
		value := compact(said.Details[key])
		if !slices.Contains(inSentence, key) && !strings.Contains(text, strings.Trim(value, `"[]`)) {
			text += "\n" + snapshot.Literally(key+": "+value)
		}
	}
	return coded{errors.New(text), said.Code.Row().Exit}
}

// inSentence are details that tell programs what the sentence tells people.
var inSentence = []string{"config", "host", "parameter", "reason", "session", "waited_for"}

// nextStep is what to do about an error, as a command line where there is one.
func nextStep(row *command.Command, said *protocol.Error, closed string) string {
	switch {
	case closed != "":
		return "browserd allow " + shellWord(closed)
	case said.Code == protocol.InvalidParams && said.Data().Next == said.Code.Row().Next && row != nil:
		return helpOf(row)
	}
	return asTyped(said.Data().Next)
}

// helpOf is the command line that shows a command's parameters.
func helpOf(row *command.Command) string { return "browserd " + actions.Help.Name + " " + row.Name }

// message is a command with its parameters as errors name one: tab_select {"tab": "t2"}.
var message = regexp.MustCompile(`\b([a-z_]+) (\{.*?\})`)

// asTyped writes the commands that a sentence names as they are typed.
func asTyped(sentence string) string {
	return message.ReplaceAllStringFunc(sentence, func(found string) string {
		parts := message.FindStringSubmatch(found)
		row, known := actions.All.Lookup(parts[1])
		if !known {
			return found
		}
		params := parts[2]
		if !json.Valid([]byte(params)) { // dialog {accept}: a hint, with values left out
			return fmt.Sprintf("browserd %s (browserd %s %s has its flags)", row.Name, actions.Help.Name, row.Name)
		}
		return row.CommandLine(command.Example{Params: params})
	})
}

// wrongWords is invalid_params for words of a command line of which no message can be
// made, as the daemon would say it.
func wrongWords(row *command.Command, format string, args ...any) error {
	return refusal{explain(row, protocol.Errorf(protocol.InvalidParams, format, args...))}
}
