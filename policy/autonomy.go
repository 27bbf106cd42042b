package policy

import (
	"errors"
	"fmt"
	"slices"
)

// Autonomy is how far an agent may go by itself.
type Autonomy string

// The words that policy.autonomy and a token's autonomy take.
const (
	// Full: whatever the other rules allow.
	Full Autonomy = "full"
	// Supervised: an operator is asked before the commands of policy.confirm.
	Supervised Autonomy = "supervised"
	// ReadOnly: the agent goes to pages and reads them, and changes nothing.
	ReadOnly Autonomy = "read_only"
)

// ParseAutonomy reads one of the words; an empty one is none, and says so by "".
func ParseAutonomy(word string) (Autonomy, error) {
	switch a := Autonomy(word); a {
	case "", Full, Supervised, ReadOnly:
		return a, nil
	}
	return "", fmt.Errorf("%q: accepts full, supervised or read_only", word)
}

// The reasons for which a caller, and not an address, is refused. Append only.
const (
	ReasonReadOnly Reason = "read_only" // the agent only reads, and this changes something
	ReasonRole     Reason = "role"      // only an operator may, and not the one who asks
)

// checkAutonomy says which key has a value that makes no sense. Which commands
// there are, this package does not know.
func (c Config) checkAutonomy() error {
	if _, err := ParseAutonomy(c.Autonomy); err != nil {
		return fmt.Errorf("policy.autonomy: %w", err)
	}
	if slices.Contains(c.Confirm, "") {
		return errors.New("policy.confirm: an empty name: accepts names of commands, such as click, upload")
	}
	if c.ConfirmTimeout < 0 {
		return fmt.Errorf("policy.confirm_timeout: %v: accepts a duration, such as 60s", c.ConfirmTimeout)
	}
	return nil
}
