package command

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/browserd/browserd/protocol"
)

// Markdown is docs/commands.md: every command with its parameters and examples.
// `go test ./actions -update` writes it.
func (r Repertoire) Markdown() string {
	var b strings.Builder
	b.WriteString(`# Commands

Generated from the rows in actions/; do not edit. ` + "`go test ./actions -update`" + ` writes it.

Every command accepts ` + "`session`" + ` (the session's name; left out: the connection's own) and ` + "`timeout_ms`" + ` (default 30000, at most 120000).
*at once*: does not queue behind the session's other commands. *reads*: runs while a command before it waits for the page. *acts*: changes the page, and the result has ` + "`effect`" + `. *static*: works without Chromium too.

Each example is what an agent sends, then the same on the command line. A ref such as ` + "`@e5`" + ` comes from a snapshot of the page.
`)
	for _, cmd := range r {
		cmd.markdown(&b)
	}
	return b.String()
}

func (cmd *Command) markdown(b *strings.Builder) {
	h := cmd.Help()
	fmt.Fprintf(b, "\n## %s\n\n%s", h.Command, h.Summary)
	for _, m := range []struct {
		word string
		on   bool
	}{{"at once", h.Unqueued}, {"reads", cmd.Is(Reads)}, {"acts", h.Acts}, {"static", h.Static}} {
		if m.on {
			fmt.Fprintf(b, " *%s*", m.word)
		}
	}
	b.WriteString("\n")
	header := false
	for _, p := range h.Parameters {
		if p.Name == "session" || p.Name == "timeout_ms" {
			continue
		}
		if !header {
			b.WriteString("\n| parameter | accepts | default | meaning |\n|---|---|---|---|\n")
			header = true
		}
		name := "`" + p.Name + "`"
		if p.Name == h.Main {
			name += " (main)"
		}
		def := p.Default
		if p.Required {
			def = "required"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, p.Takes, def, p.Doc)
	}
	for _, e := range cmd.Examples {
		line := cmd.CommandLine(e)
		fmt.Fprintf(b, "\n%s:\n\n```\n{\"id\": 1, \"method\": %q, \"params\": %s}\n", e.For, cmd.Name, e.Params)
		if line != "" {
			fmt.Fprintf(b, "%s\n", line)
		}
		b.WriteString("```\n")
	}
}

// CommandLine returns the example on the command line; empty if that cannot run it.
func (cmd *Command) CommandLine(e Example) string {
	given := map[string]json.RawMessage{}
	if cmd.Is(WebSocketOnly) || json.Unmarshal([]byte(e.Params), &given) != nil {
		return ""
	}
	h := cmd.Help()
	words := []string{"browserd", cmd.Name}
	positionals := h.Positionals()
	for i, p := range positionals {
		value, ok := given[p.Name]
		list := cmd.words(p.Name, value)
		if !ok || len(list) != 1 && i < len(positionals)-1 || strings.HasPrefix(list[0], "-") {
			break // the others need their names
		}
		words = append(words, list...)
		delete(given, p.Name)
	}
	for _, p := range h.Parameters {
		value, ok := given[p.Name]
		switch {
		case !ok:
		case string(value) == "true":
			words = append(words, "--"+p.Name)
		case string(value) == "false":
			words = append(words, "--"+p.Name+"=false")
		default:
			for _, word := range cmd.words(p.Name, value) {
				words = append(words, "--"+p.Name, word)
			}
		}
	}
	for i, word := range words {
		words[i] = Quoted(word)
	}
	return strings.Join(words, " ")
}

// words returns a parameter's value as words of the command line: a list is a word for
// each, and a file is its name.
func (cmd *Command) words(parameter string, value json.RawMessage) []string {
	var text string
	var list []json.RawMessage
	if json.Unmarshal(value, &text) == nil {
		return []string{text}
	}
	var target protocol.Target
	if target.UnmarshalJSON(value) == nil { // a locator has a text form
		return []string{string(target)}
	}
	if json.Unmarshal(value, &list) != nil || len(list) == 0 {
		return []string{string(value)}
	}
	var words []string
	for _, one := range list {
		var file struct{ Name string }
		if parameter == cmd.LocalFiles && json.Unmarshal(one, &file) == nil && file.Name != "" {
			words = append(words, file.Name)
			continue
		}
		words = append(words, cmd.words("", one)...)
	}
	return words
}

// Quoted returns a word as a POSIX shell reads it (POSIX, 2.2.2).
func Quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:@%,"
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
