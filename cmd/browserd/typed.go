package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// otherTools are the words of other tools for what a command here does.
var otherTools = map[string]string{
	"goto": actions.Open.Name, "navigate": actions.Open.Name,
	"tabs": actions.TabList.Name, "close": actions.SessionClose.Name,
	"sessions": actions.SessionList.Name, "quit": "stop", "--version": "version",
}

// switches are the flags that every command has and that accept no value; one that
// stands before the command is told by that from one with a value.
var switches = []string{"--json", "--" + allowLocal}

// typedWords returns the words of a command line with its command first, by its name here:
// flags may stand before it, it may be another tool's word, and run list is run_list, behind
// help too. It is an error where there is no such command.
func typedWords(root *cobra.Command, args []string) ([]string, error) {
	i := 0
	for i < len(args) && strings.HasPrefix(args[i], "-") && otherTools[args[i]] == "" {
		switch word := args[i]; {
		case word == "-h", word == "--help", word == "--":
			return args, nil
		case strings.Contains(word, "="), slices.Contains(switches, strings.ReplaceAll(word, "_", "-")):
			i++
		default:
			i += 2
		}
	}
	if i >= len(args) {
		return args, nil
	}
	name := args[i]
	if ours := otherTools[name]; ours != "" {
		name = ours
	}
	var known, own []string // own: commands of two words that are no command of an agent
	for _, cmd := range root.Commands() {
		known = append(known, cmd.Name())
		for _, sub := range cmd.Commands() {
			own = append(own, cmd.Name()+"_"+sub.Name())
		}
	}
	rest := args[i+1:]
	joined := func(first string, rest []string) string { // empty: they are no command
		if len(rest) == 0 {
			return ""
		}
		both := first + "_" + rest[0]
		if !slices.Contains(known, both) || slices.Contains(own, both) {
			return ""
		}
		return both
	}
	if both := joined(name, rest); both != "" {
		if file, err := os.Stat(rest[0]); name == actions.Run.Name && err == nil && file.Mode().IsRegular() {
			return nil, fmt.Errorf("%s %s may be the command %s or the file %[2]s\n→ browserd %[1]s ./%[2]s runs the file, browserd %[3]s is the command", name, rest[0], both)
		}
		name, rest = both, rest[1:]
	} else if name == actions.Help.Name && len(rest) > 0 {
		if both := joined(rest[0], rest[1:]); both != "" {
			rest = slices.Concat([]string{both}, rest[2:])
		}
	}
	if !slices.Contains(known, name) && !strings.HasPrefix(name, "__") {
		next := "browserd help lists the commands"
		if near := command.Nearest(name, known); len(near) > 0 {
			next = "browserd " + strings.Join(near, ", browserd ")
		}
		return nil, fmt.Errorf("unknown command %q for %q\n→ %s", name, root.Name(), next)
	}
	return slices.Concat([]string{name}, args[:i], rest), nil
}

// underscores lets a flag be typed with either: --wait-until is --wait_until.
func underscores(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "-", "_"))
}

// fileAmong takes the file to write out of the words of a command whose result is one:
// screenshot page.png. Where a command has a name, that comes before: recordings s_1-1.zip reads one.
func fileAmong(row *command.Command, args []string) (file string, rest []string) {
	if !row.Is(command.WritesFile) || len(args) == 0 || len(args) == 1 && row.Main == "name" {
		return "", args
	}
	last := args[len(args)-1]
	if filepath.Ext(last) == "" || strings.ContainsAny(last[:1], "@{[") {
		return "", args
	}
	return last, args[:len(args)-1]
}

// formatOf returns the format that a file's name asks for, where the command has a choice of
// them: .jpg is jpeg. Empty: it asks for none.
func formatOf(schema map[string]any, file string) string {
	about, _ := schema["format"].(map[string]any)
	words, _ := about["enum"].([]string)
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	if format == "jpg" {
		format = "jpeg"
	}
	if !slices.Contains(words, format) {
		return ""
	}
	return format
}

// asParams returns the parameters for words that a command has no parameter for, but that
// can mean one thing only: wait 500, wait @e3, fill @e3=Ann, fill @e3 Ann. It returns nil for all others.
func asParams(row *command.Command, args []string) map[string]any {
	switch row {
	case actions.Wait:
		if len(args) != 1 {
			return nil
		}
		if _, err := strconv.ParseUint(args[0], 10, 31); err == nil {
			return map[string]any{"ms": json.Number(args[0])}
		}
		if isTarget(args[0]) {
			return map[string]any{"ref": args[0]}
		}
	case actions.Fill:
		var fields []map[string]any
		for _, word := range args {
			ref, text := filledIn(word)
			if ref == "" {
				fields = nil
				break
			}
			fields = append(fields, map[string]any{"ref": ref, "value": fillValue(text)})
		}
		if fields == nil && len(args) == 2 && isTarget(args[0]) && !strings.HasPrefix(args[1], "@") {
			fields = []map[string]any{{"ref": args[0], "value": fillValue(args[1])}}
		}
		if fields != nil {
			return map[string]any{"fields": fields}
		}
	}
	return nil
}

// filledIn divides a word such as @e3=Ann or label=Name=Ann; the ref is empty where it is no such word.
func filledIn(word string) (ref, text string) {
	at := strings.LastIndexByte(word, '=')
	if strings.HasPrefix(word, "@") {
		at = strings.IndexByte(word, '=')
	}
	if at < 0 || !isTarget(word[:at]) || strings.Count(word[:at], "[") != strings.Count(word[:at], "]") {
		return "", "" // Chromium closes css=input[name itself
	}
	return word[:at], word[at+1:]
}

// isTarget reports whether a word is a ref or a locator.
func isTarget(word string) bool {
	if strings.HasPrefix(word, "@") {
		return !strings.Contains(word, "=")
	}
	_, ok, err := protocol.ParseLocator(word)
	return ok && err == nil
}

// fillValue is what a word fills a field with: true and false check and uncheck.
func fillValue(word string) any {
	if word == "true" || word == "false" {
		return word == "true"
	}
	return word
}

// completed is an address as a person leaves it: localhost:8000.
func completed(row *command.Command, params map[string]any) {
	if raw, ok := params["url"].(string); ok && row.Main == "url" && !row.Is(command.URLPattern) {
		params["url"] = policy.Complete(raw)
	}
}

// opensNamed reports whether a command failed only because the session that a person
// names with --session is yet to be opened. One that has ended is reported first.
func opensNamed(row *command.Command, params map[string]any, err error) bool {
	var said *protocol.Error
	name, _ := params["session"].(string)
	return name != "" && !row.Is(command.OpensSession) && !row.Is(command.NeedsSession) && !row.Is(command.NoSession) &&
		errors.As(err, &said) && said.Code == protocol.SessionNotFound && said.Details["ended_at"] == nil
}
