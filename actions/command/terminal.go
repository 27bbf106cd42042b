package command

import (
	"regexp"
	"strings"
)

// AtTerminal is the command's summary for a person at a terminal.
func (cmd *Command) AtTerminal() string {
	summary := atTerminal(cmd.Summary)
	if cmd.Instead != "" {
		summary = strings.TrimSuffix(summary, ".") + ", for programs; " + cmd.Instead + "."
	}
	return summary
}

// HelpAtTerminal is Help for a person at a terminal, who has no connection, and writes no JSON.
func (cmd *Command) HelpAtTerminal() CommandHelp {
	const used = "the session's name; left out: the session that the last command line used"
	h := cmd.Help()
	h.Summary = cmd.AtTerminal()
	for i, p := range h.Parameters {
		doc := &h.Parameters[i].Doc
		switch {
		case p.Name != "session":
			*doc = atTerminal(p.Doc)
		case cmd.Is(OpensSession):
			*doc = "the session's name, where --name is left out"
		case cmd.Is(BeginsSession):
			*doc = used + ", or a new one"
		default:
			*doc = used
		}
	}
	return h
}

// forPrograms is what rows say to programs, with what is said at a terminal in its place.
var forPrograms = []struct {
	said    *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\bthis connection\b`), "the WebSocket"},
	{regexp.MustCompile(`\bdetails\.([a-z_]+)`), "the error's $1"},
	{regexp.MustCompile(`\b([a-z]+_[a-z]+) \{([a-z_]+)\}`), "browserd $1 --$2"},
}

// atTerminal writes a row's sentence for a terminal.
func atTerminal(sentence string) string {
	for _, one := range forPrograms {
		sentence = one.said.ReplaceAllString(sentence, one.instead)
	}
	return sentence
}
