package policy

import (
	"errors"
	"fmt"
	"slices"
)

// Autonomy is what an agent may do without asking an operator.
type Autonomy string

// The values of policy.autonomy and of a token's autonomy.
const (
	// Full: everything that the other rules allow.
	Full Autonomy = "full"
	// Supervised: an operator is asked before the commands of policy.confirm.
	Supervised Autonomy = "supervised"
	// ReadOnly: the agent opens and reads pages, and changes nothing.
	ReadOnly Autonomy = "read_only"
)

// ParseAutonomy parses one of these values. It returns "" for an empty string.
func ParseAutonomy(word string) (Autonomy, error) {
	switch a := Autonomy(word); a {
	case "", Full, Supervised, ReadOnly:
		return a, nil
	}
	return "", fmt.Errorf("%q: accepts full, supervised or read_only", word)
}

// The reasons to refuse a caller, as opposed to an address. Append only.
const (
	ReasonReadOnly Reason = "read_only" // the agent may only read, and the command changes something
	ReasonRole     Reason = "role"      // only an operator may do this, and not the one who asked for it
)

// checkAutonomy returns an error that names the key with an invalid value. It does not
// check names of commands, which this package does not know.
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
