package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/tools"
)

// repertoire makes one subcommand of each row of the registry.
//
// Those that args do not name are listed and nothing more: to declare the flags
// of all took half of what a command line costs.
func repertoire(args []string) []*cobra.Command {
	var list []*cobra.Command
	for _, row := range actions.All {
		switch {
		case row == actions.Status:
			list = append(list, statusCommand(args))
		case row == actions.View:
			list = append(list, viewCommand(args))
		case row == actions.Help: // cobra's, made to answer as the command by speaksHelp
		case slices.Contains(args, row.Name):
			list = append(list, commandOf(row, args))
		default:
			list = append(list, &cobra.Command{Use: row.Name, Short: row.AtTerminal(), GroupID: groupCommands, Run: func(*cobra.Command, []string) {}})
		}
	}
	return list
}

// commandOf returns one row as a subcommand: the first positional argument is its
// main parameter, the following ones its other required parameters, and every
// parameter is a flag too.
func commandOf(row *command.Command, args []string) *cobra.Command {
	h := row.HelpAtTerminal()
	positional := h.Positionals()
	use := row.Name
	for _, p := range positional {
		if p.Required {
			use += " " + strings.ToUpper(p.Name)
		} else {
			use += " [" + strings.ToUpper(p.Name) + "]"
		}
	}
	cmd := &cobra.Command{Use: use, Short: h.Summary, Example: examplesOf(row), GroupID: groupCommands, Args: cobra.ArbitraryArgs}
	load := configured(cmd, args)
	asJSON := cmd.Flags().Bool("json", false, "print the result object as JSON")
	var output *string
	if row.Is(command.WritesFile) {
		output = cmd.Flags().StringP("output", "o", "", "the file to write; left out: a new one in the working directory")
	}
	schema := row.Schema()["properties"].(map[string]any)
	for _, p := range h.Parameters {
		about := schema[p.Name].(map[string]any)
		if p.Name == row.LocalFiles && about["type"] == "string" {
			p.Doc += " (a `file` that holds it, - for standard input, or the text itself)"
		} else if p.Name == row.LocalFiles {
			p.Doc, p.Takes = "files of this machine", "a list"
		}
		addFlag(cmd.Flags(), p, about)
	}
	allow := new(bool)
	if schema["url"] != nil && !row.Is(command.URLPattern) {
		allow = cmd.Flags().Bool(allowLocal, false, "allow the address until the daemon ends, where it is a private one: see browserd allow")
	}
	wait := waitFlag(cmd.Flags(), row)
	local := htmlFlags(cmd, row)
	completes(cmd, row, positional, schema, load)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file := ""
		if output != nil {
			if file = *output; file == "" {
				file, args = fileAmong(row, args)
			}
			if format := formatOf(schema, file); format != "" && !cmd.Flags().Changed("format") {
				cmd.Flags().Set("format", format)
			}
		}
		params, err := paramsOf(cmd.Flags(), row, positional, schema, args)
		if err != nil {
			return wrongWords(row, "%w", err)
		}
		completed(row, params)
		if given := params["passphrase"]; schema["passphrase"] != nil && (given == nil && isTerminal(stdin) || given == "-") {
			if params["passphrase"], err = readValue("the passphrase", stdin, cmd.ErrOrStderr()); err != nil {
				return err
			}
		}
		var before *tools.ReportedState
		show := func(result json.RawMessage) error {
			if !*asJSON {
				return show(cmd.OutOrStdout(), row, result, params, file, before)
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), string(result)); err != nil || file == "" {
				return err
			}
			return show(io.Discard, row, result, params, file, nil)
		}
		if is, err := local.given(cmd.Flags(), params); err != nil {
			return wrongWords(row, "%w", err)
		} else if is {
			result, err := local.snapshot(params, stdin)
			if err != nil {
				return err
			}
			return show(result)
		}
		c, err := load()
		if err != nil {
			return err
		}
		ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
		if name, is := recordingNamed(row, params); is {
			return fetchRecording(ctx, c, name, file, cmd.OutOrStdout(), stderr)
		}
		run := func() (json.RawMessage, error) {
			if !*asJSON {
				defer progress(stderr, row, params, func(ctx context.Context) string { return received(ctx, c, row, params) })()
			}
			return sendWhole(row, params, file, func(params map[string]any) (json.RawMessage, error) {
				return runCommand(ctx, c, row, params, stderr)
			})
		}
		result, err := run()
		if host := closedHost(err); host != "" && typed(host, params["url"]) {
			allowed, failed := askToAllow(ctx, c, host, *allow, stdin, stderr)
			if failed != nil {
				return failed
			}
			if allowed {
				result, err = run()
			}
		}
		if *wait && err == nil {
			result, err = untilHandedBack(ctx, result, stderr, func(ctx context.Context, params map[string]any) (json.RawMessage, error) {
				return runCommand(ctx, c, row, params, stderr)
			})
		}
		if err != nil {
			if said := (*protocol.Error)(nil); ctx.Err() != nil && !errors.As(err, &said) {
				err = command.ErrCancelled // by a signal; the daemon has lost its client and ends the command
			}
			return explain(row, err)
		}
		kept := keptSession{address: c.Server.Listen}
		before = kept.told()
		if err := show(result); err != nil {
			return err
		}
		if name := stoppedRecording(row, result); name != "" && file != "" {
			if err := fetchRecording(ctx, c, name, file, stderr, stderr); err != nil {
				return err
			}
		}
		if row == actions.Downloads && file != "" && !*asJSON {
			fmt.Fprintln(cmd.OutOrStdout(), file)
		}
		if !*asJSON {
			kept.tell(before)
		}
		return nil
	}
	return cmd
}

// valueKind is what help shows as a flag's value: pflag takes the word in backquotes.
var valueKind = regexp.MustCompile(`^(an? )(list|object)`)

// addFlag declares a parameter. What is no plain value is taken as JSON.
func addFlag(flags *pflag.FlagSet, p command.ParamHelp, schema map[string]any) {
	doc := p.Doc
	if p.Takes != "a string" && p.Takes != "true or false" {
		doc += " (" + p.Takes + ")"
	}
	switch schema["type"] {
	case "boolean":
		flags.Bool(p.Name, p.Default == "true", doc)
	case "array", "object":
		doc = p.Doc + " (" + strings.TrimSuffix(valueKind.ReplaceAllString(p.Takes, "$1`$2`"), " of strings") + "; repeatable)"
		flags.StringArray(p.Name, nil, doc)
	case "integer":
		flags.Var(&numberFlag{p.Default, "int"}, p.Name, doc)
	case "number":
		flags.Var(&numberFlag{p.Default, "number"}, p.Name, doc)
	default:
		flags.String(p.Name, p.Default, doc)
	}
}

// numberFlag is a flag for a number. It keeps what was typed: the command checks it.
type numberFlag struct{ text, kind string }

func (f *numberFlag) String() string     { return f.text }
func (f *numberFlag) Set(s string) error { f.text = s; return nil }
func (f *numberFlag) Type() string       { return f.kind }

// paramsOf gathers what was given, as the params object of the protocol.
func paramsOf(flags *pflag.FlagSet, row *command.Command, positional []command.ParamHelp, schema map[string]any, args []string) (map[string]any, error) {
	params := map[string]any{}
	put := func(name string, words []string) error {
		for _, word := range words {
			if !utf8.ValidString(word) {
				return fmt.Errorf("%s: %q is not UTF-8", name, protocol.Cut(word, 60))
			}
		}
		v, err := valueOf(row, name, schema[name].(map[string]any), words)
		params[name] = v
		return err
	}
	if meant := asParams(row, args); meant != nil {
		params, args = meant, nil
	}
	for i, p := range positional {
		if len(args) == 0 {
			break
		}
		words := args[:1]
		// The last one takes the rest where it is a list, or words of one text.
		kind := schema[p.Name].(map[string]any)["type"]
		if i == len(positional)-1 && (kind == "array" || kind == "string" && len(args) > 1 && slices.Contains([]string{"text", "query"}, p.Name)) {
			words = args
		}
		args = args[len(words):]
		if kind == "string" {
			words = []string{strings.Join(words, " ")}
		}
		if err := put(p.Name, words); err != nil {
			return nil, err
		}
	}
	if len(args) > 0 {
		return nil, fmt.Errorf("%s: %q is one argument too many", row.Name, args[0])
	}
	var wrong error
	flags.Visit(func(f *pflag.Flag) {
		if schema[f.Name] == nil || wrong != nil {
			return
		}
		if _, twice := params[f.Name]; twice {
			wrong = fmt.Errorf("--%s: %s is there as an argument already", f.Name, f.Name)
			return
		}
		words := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			words = list.GetSlice()
		}
		wrong = put(f.Name, words)
	})
	return params, wrong
}

// valueOf reads words as the parameter's schema has it. What is wrong with a
// plain value is said by the command itself, which knows its bounds.
func valueOf(row *command.Command, name string, schema map[string]any, words []string) (any, error) {
	word := words[0]
	switch {
	case name == row.LocalFiles && schema["type"] == "string":
		return localText(word)
	case name == row.LocalFiles:
		return localFiles(words)
	case schema["type"] == "object" && !strings.HasPrefix(strings.TrimSpace(word), "{"):
		return pairsOf(name, words)
	}
	switch schema["type"] {
	case "string":
		return word, nil
	case "boolean":
		b, err := strconv.ParseBool(word)
		if err != nil {
			return nil, fmt.Errorf("%s: accepts true or false, not %q", name, word)
		}
		return b, nil
	case "integer", "number":
		number := json.Number(word)
		if _, err := json.Marshal(number); err != nil || word == "" { // NaN, Inf and 0x2 are no JSON
			return nil, fmt.Errorf("%s: accepts a number, not %q", name, word)
		}
		return number, nil
	case "array":
		items, _ := schema["items"].(map[string]any)
		if items["type"] == "string" {
			if slices.Contains(row.CommaSeparated(), name) {
				words = strings.Split(strings.Join(words, ","), ",")
			}
			return words, nil
		}
		if len(words) == 1 && strings.HasPrefix(strings.TrimSpace(word), "[") {
			return jsonOf(name, word)
		}
		list, err := jsonOf(name, "["+strings.Join(words, ",")+"]")
		if err != nil {
			err = fmt.Errorf("%s: accepts JSON, not %q", name, strings.Join(words, " "))
		}
		return list, err
	}
	if schema["type"] == nil && !json.Valid([]byte(word)) {
		return word, nil // any value: a word stands for itself
	}
	return jsonOf(name, word)
}

func jsonOf(name, word string) (any, error) {
	if !json.Valid([]byte(word)) {
		return nil, fmt.Errorf("%s: accepts JSON, not %q", name, word)
	}
	return json.RawMessage(word), nil
}

// localFiles are files of this machine as upload takes them: by name and
// content, since the daemon reads none but its own.
func localFiles(paths []string) (any, error) {
	var files []map[string]string
	for _, path := range paths {
		path = localPath(path)
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("files: %w", err)
		}
		files = append(files, map[string]string{"name": filepath.Base(path), "base64": base64.StdEncoding.EncodeToString(b)})
	}
	return files, nil
}

// localPath returns the path of a file that may be named as curl has it, @file.
func localPath(word string) string {
	path, at := strings.CutPrefix(word, "@")
	if _, err := os.Stat(word); at && errors.Is(err, fs.ErrNotExist) {
		return path
	}
	return word
}

// localText returns the text of a file of this machine, or of standard input (-). What names no
// file and reads like code, JSON, Base64 or cookies is the text itself.
func localText(path string) (any, error) {
	read := func() ([]byte, error) { return os.ReadFile(localPath(path)) }
	if path == "-" {
		read = func() ([]byte, error) { return io.ReadAll(os.Stdin) }
	}
	b, err := read()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENAMETOOLONG) {
		if strings.ContainsAny(path, "(;{=\n\t") || strings.HasPrefix(path, "return ") {
			return path, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("%s is not UTF-8", path)
	}
	return string(b), nil
}

// pairsOf returns an object of words KEY=VALUE.
func pairsOf(name string, words []string) (any, error) {
	object := map[string]string{}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%s: accepts KEY=VALUE or a JSON object, not %q", name, word)
		}
		object[key] = value
	}
	return object, nil
}

// examplesOf returns the row's examples as --help shows them. A command that only
// makes sense within one connection has no command line: its message is shown.
func examplesOf(row *command.Command) string {
	var lines []string
	for _, e := range row.Examples {
		line := row.CommandLine(e)
		if line == "" {
			line = fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": %q, "params": %s}`, row.Name, e.Params)
			e.For += ", over a WebSocket"
		}
		lines = append(lines, "  # "+e.For, "  "+line)
	}
	return strings.Join(lines, "\n")
}

// runCommand sends the command to the daemon, which is started where none
// runs, in the session that the last command line used, unless another is named.
//
// The web tools start none: where no daemon answers they are run in this process.
func runCommand(ctx context.Context, c *config.Loaded, row *command.Command, params map[string]any, stderr io.Writer) (json.RawMessage, error) {
	if needsNoDaemon(c.Config, row, params) {
		token, err := tokenOf(c.Config)
		if err == nil {
			_, err = find(ctx, c.Server, token)
		}
		if err != nil {
			return runOffline(ctx, c.Config, row.Name, params)
		}
	}
	cl, err := reach(ctx, c, stderr)
	if err != nil {
		return nil, err
	}
	kept := keptSession{address: c.Server.Listen}
	if _, named := params["session"]; !named && !row.Is(command.OpensSession) {
		cl.use(kept.read())
	}
	before := cl.own()
	result, err := cl.call(ctx, row.Name, params)
	if opensNamed(row, params, err) {
		if _, err = cl.call(ctx, actions.SessionOpen.Name, map[string]any{"name": params["session"]}); err == nil {
			result, err = cl.call(ctx, row.Name, params)
		}
	}
	if before != "" && cl.gone(before, err) {
		ended := err
		if result, err = cl.call(ctx, row.Name, params); protocol.CodeOf(err) == protocol.SessionNotFound {
			err = ended // which says how the session ended
		}
	}
	if now := cl.own(); now != before {
		kept.write(now)
	}
	return result, err
}
