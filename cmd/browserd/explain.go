package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// explain returns an error of the daemon's for a person: its code and sentence, the next step
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
	text := snapshot.Literally(said.Error()) + "\n" + nextMark + snapshot.Literally(nextStep(row, said, closedHost(err)))
	for _, key := range slices.Sorted(maps.Keys(said.Details)) {
		value := compact(said.Details[key])
		if !slices.Contains(inSentence, key) && !strings.Contains(text, strings.ReplaceAll(strings.Trim(value, `"[]`), `","`, ", ")) {
			text += "\n" + snapshot.Literally(key+": "+value)
		}
	}
	return coded{errors.New(text), said.Code.Row().Exit}
}

// nextMark begins the line of an error that says what to do next.
const nextMark = "→ "

// otherwiseNext returns the command line that helps with an error that names none itself: the
// help of the command that was typed wrongly, the list of the settings, or doctor.
func otherwiseNext(cmd *cobra.Command, err error, begun bool) string {
	switch {
	case errors.As(err, new(badSetting)):
		return "browserd help configuration"
	case exitOf(err, begun) == exitRefused:
		return cmd.CommandPath() + " --help"
	}
	return "browserd doctor"
}

// badSetting is an error of the configuration.
type badSetting struct{ error }

func (b badSetting) Unwrap() error { return b.error }

// inSentence are details that tell programs what the sentence tells people.
var inSentence = []string{"config", "host", "parameter", "reason", "session", "waited_for"}

// tokenHelps is what to do about a daemon that was started with another token.
const tokenHelps = "browserd restart starts it with the token of this shell (its sessions end); or set " + config.TokenEnv + " as it was, or unset it"

// nextStep returns what to do about an error, as a command line if there is one.
func nextStep(row *command.Command, said *protocol.Error, closed string) string {
	switch {
	case closed != "":
		return "browserd allow " + command.Quoted(closed)
	case said.Code == protocol.InvalidParams && said.Data().Next == said.Code.Row().Next && row != nil:
		return helpOf(row)
	case said.Code == protocol.Unauthorized:
		return tokenHelps
	case said.Code == protocol.SessionNotFound && said.Details["ended_at"] == nil:
		return "browserd " + actions.Open.Name + " URL opens one, browserd " + actions.SessionList.Name + " lists yours"
	}
	return asTyped(said.Data().Next)
}

// helpOf returns the command line that shows a command's parameters.
func helpOf(row *command.Command) string { return "browserd " + actions.Help.Name + " " + row.Name }

// message is a command with its parameters as errors name one: tab_select {"tab": "t2"}.
var message = regexp.MustCompile(`\b([a-z_]+) (\{.*?\})`)

// asTyped writes the commands, parameters and details that a sentence names as they are typed
// and printed here.
func asTyped(sentence string) string {
	sentence = message.ReplaceAllStringFunc(sentence, func(found string) string {
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
	for _, one := range spokenOf {
		sentence = one.said.ReplaceAllString(sentence, one.typed)
	}
	// A word with _ is a command; one without may be English.
	return longName.ReplaceAllStringFunc(sentence, func(found string) string {
		if _, known := actions.All.Lookup(found); !known { // browserd tab_close, or max_chars
			return found
		}
		return "browserd " + found
	})
}

// spokenOf is how errors speak of commands and parameters to programs, and how they are typed.
var spokenOf = []struct {
	said  *regexp.Regexp
	typed string
}{
	{regexp.MustCompile(`\btake a snapshot\b`), "run browserd snapshot"},
	{regexp.MustCompile(`\bopen a URL\b`), "run browserd open URL"},
	{regexp.MustCompile(`: open begins\b`), ": browserd open URL begins"},
	{regexp.MustCompile(`\buse (check|upload|click)\b`), "use browserd $1"},
	{regexp.MustCompile(`\b(help|status) lists\b`), "browserd $1 lists"},
	{regexp.MustCompile(`\(confirm (\S+)\)`), "(browserd confirm $1)"},
	{regexp.MustCompile(`(^|[^-])\b(timeout_ms|max_chars|page_ranges)\b`), "$1--$2"},
	{regexp.MustCompile(`\ba larger limit\b`), "a larger --limit"},
	{regexp.MustCompile(`\binteractive_only false\b`), "--interactive_only false"},
	{regexp.MustCompile(`\bsource (auto|http|chromium)\b`), "--source $1"},
	{regexp.MustCompile(`\bdetails\.([a-z_]+)`), "$1 (below)"},
}

var longName = regexp.MustCompile(`(?:browserd )?\b[a-z]+_[a-z_]+\b`)

// wrongWords is invalid_params for words of a command line of which no message can be
// made, as the daemon would say it.
func wrongWords(row *command.Command, format string, args ...any) error {
	return refusal{explain(row, protocol.Errorf(protocol.InvalidParams, format, args...))}
}
