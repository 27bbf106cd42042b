package command

import "time"

// What the tests of this package, which use the commands, see of its inside.
var (
	ShownValue = shownValue
	Permitted  = (*Call).checkReadOnly
	Summary    = (*Call).summary
	Audited    = func(c *Call) bool { return c.audited(nil) }
	Confirm    = (*Call).confirm
)

// CallOf is the job's call.
func CallOf(j *Job) *Call { return j.call }

// Timeout is how long the job's command may take.
func Timeout(j *Job) time.Duration { return j.call.Common.timeout() }

// Does are the names of the commands whose work the call does.
func Does(c *Call) []string {
	var names []string
	for _, cmd := range c.effectiveCommands() {
		names = append(names, cmd.Name)
	}
	return names
}
