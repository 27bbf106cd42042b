// Package condition knows what a client may wait for: which waits are well formed,
// which URLs a pattern matches, and how a wait that timed out is reported. It promises errors that
// name the parameter or what was waited for. It never looks at a page itself.
package condition

import (
	"path"
	"strings"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/protocol"
)

// Check refuses a wait for nothing, or for what there is not. Errors: invalid_params.
func Check(q protocol.Wait) error {
	if q.Ref == "" && q.Text == "" && q.URL == "" && q.State == "" && q.Expression == "" && q.For == "" {
		return protocol.Errorf(protocol.InvalidParams, "wait needs at least one of ref, text, url, state, expression and for").With("parameter", "ref")
	}
	if q.Gone && q.Ref == "" && q.Text == "" {
		return protocol.Errorf(protocol.InvalidParams, "gone: needs a ref or a text").With("parameter", "gone")
	}
	switch q.State {
	case "", protocol.WaitLoad, protocol.WaitNetworkIdle:
	default:
		return protocol.Errorf(protocol.InvalidParams, "state %q: accepts load or networkidle", q.State).With("parameter", "state")
	}
	return nil
}

// Late returns the error of a wait whose time is up, with what was seen instead.
func Late(q protocol.Wait, seen map[string]any) error {
	waited := map[string]any{}
	var words []string
	add := func(name, value string) {
		if value != "" {
			waited[name] = value
			words = append(words, name+" "+failure.Quote(value))
		}
	}
	add("ref", q.Ref)
	add("text", q.Text)
	add("url", q.URL)
	add("state", q.State)
	add("expression", q.Expression)
	add("for", q.For)
	if q.Gone {
		waited["gone"] = true
		words = append(words, "gone")
	}
	return protocol.Errorf(protocol.Timeout, "timed out waiting for %s", strings.Join(words, ", ")).
		With("waited_for", waited).With("seen", seen)
}

// Thrown returns the first line of what an expression threw, which is not true yet. One that does not parse is
// invalid_params.
func Thrown(description string) (string, error) {
	text := protocol.Cut(description, 200)
	if strings.HasPrefix(text, "SyntaxError") {
		return "", protocol.Errorf(protocol.InvalidParams, "expression: %s", text).With("parameter", "expression").
			Then("correct the expression")
	}
	line, _, _ := strings.Cut(text, "\n")
	return line, nil
}

// MatchURL reports whether a URL contains the pattern, or matches it as a whole
// where it has a *.
func MatchURL(pattern, url string) bool {
	if !strings.Contains(pattern, "*") {
		return strings.Contains(url, pattern)
	}
	// In path.Match a * does not cross a slash, and [ ? \ mean something.
	quoted := strings.NewReplacer(`\`, `\\`, "[", `\[`, "?", `\?`).Replace(strings.ReplaceAll(pattern, "/", "\x00"))
	ok, err := path.Match(quoted, strings.ReplaceAll(url, "/", "\x00"))
	return err == nil && ok
}
