package command

import (
	"slices"

	"github.com/browserd/browserd/session"
)

// handedOff refuses what an agent may not do to a session that a person drives or is waited
// for: while one drives, whatever concerns the page or would wait for its turn, so that
// nobody watches what the person types; while one is waited for, what changes something.
func handedOff(c *Call) error {
	switch {
	case c.Command.Is(HandedOff), c.Command.Is(NoSession | Unqueued):
		return nil
	}
	changes := !c.Command.Is(NoSession) && slices.ContainsFunc(c.does(), func(cmd *Command) bool { return !cmd.Is(Unaudited) || cmd.Is(Group) })
	return session.Control(c.Session).Refusal(changes)
}
