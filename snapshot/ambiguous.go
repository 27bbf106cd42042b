package snapshot

import (
	"strings"

	"github.com/browserd/browserd/protocol"
)

// MaxCandidates is how many nodes Ambiguous shows.
const MaxCandidates = 10

// Ambiguous returns the error of a locator that several nodes fit. It shows the lines of the first.
func Ambiguous(locator string, nodes []Node, refs *Refs) *protocol.Error {
	shown := nodes[:min(len(nodes), MaxCandidates)]
	more := len(nodes) > MaxCandidates
	count := ""
	if more {
		count = "more than "
	}
	e := protocol.Errorf(protocol.AmbiguousTarget, "%s%d elements are %s", count, len(shown), Quote(Cut(locator, 120))).
		With("candidates", LinesOf(shown, refs))
	if more {
		e.With("truncated", true)
	}
	return e
}

// LinesOf gives refs to nodes and returns the lines that show them.
func LinesOf(nodes []Node, refs *Refs) []string {
	return strings.Split(Show(nodes, DefaultOptions(), refs).Text, "\n")
}
