package command

import (
	"slices"

	"github.com/browserd/browserd/session"
)

// checkHandOff returns the error handed_off if the agent may not run the call because of a hand-off. While a
// person drives, that is any command that uses the page or queues, so that the agent cannot watch what the
// person types. While a person is waited for, it is any command that changes something.
func checkHandOff(c *Call) error {
	switch {
	case c.Command.Is(HandedOff), c.Command.Is(NoSession | Unqueued):
		return nil
	}
	changes := !c.Command.Is(NoSession) && slices.ContainsFunc(c.effectiveCommands(), func(cmd *Command) bool { return !cmd.Is(Unaudited) || cmd.Is(Group) })
	return session.Control(c.Session).Refusal(changes)
}
