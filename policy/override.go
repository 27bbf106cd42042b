package policy

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Setting is the value of a refusal's details.config: the entries that one of the
// policy's lists would need for the request to be allowed.
type Setting struct {
	Key string   `json:"key"` // KeyAllowHosts or KeyAllowedDomains
	Add []string `json:"add"`
}

// The lists that AddUntil can extend.
const (
	KeyAllowHosts     = "policy.allow_hosts"
	KeyAllowedDomains = "policy.allowed_domains"
)

// AddUntil adds the setting's entries to the policy, for every Gate, until shut is called.
// It carries out an operator's answer to one refusal, so an entry of KeyAllowHosts also
// counts as one of KeyAllowedDomains. An entry of KeyAllowedDomains does not open
// anything private. Neither overrides Config.DeniedDomains or a session's own
// restrictions. Any goroutine may call shut; a second call does nothing. After an error,
// which quotes the entry, nothing has been added.
func (p *Policy) AddUntil(s Setting) (shut func(), err error) {
	opens := s.Key == KeyAllowHosts
	if !opens && s.Key != KeyAllowedDomains {
		return nil, fmt.Errorf("%s cannot be added to while the daemon runs", s.Key)
	}
	entries := make([]entry, len(s.Add))
	for i, line := range s.Add {
		if entries[i], err = parseOpening(line); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Key, err)
		}
	}
	p.change(func(state *state) {
		if opens {
			state.allow = slices.Concat(state.allow, entries)
		}
		state.domains = slices.Concat(state.domains, entries)
	})
	return sync.OnceFunc(func() {
		p.change(func(state *state) {
			for _, e := range entries {
				if opens {
					state.allow = withoutLast(state.allow, e)
				}
				state.domains = withoutLast(state.domains, e)
			}
		})
	}), nil
}

// withoutLast returns a copy of l without the last entry that is equal to e. Entries of
// the configuration come first in l, so they stay.
func withoutLast(l list, e entry) list {
	for i := len(l) - 1; i >= 0; i-- {
		if l[i] == e {
			return slices.Concat(l[:i], l[i+1:])
		}
	}
	return l
}

// addition is one entry of a Setting.
type addition struct{ key, entry string }

// Hold adds the settings to the policy, in place of those of the last call, as AddUntil does.
// What it cannot add it leaves out, and names in the error.
func (p *Policy) Hold(settings []Setting) error {
	p.held.mu.Lock()
	defer p.held.mu.Unlock()
	var faults []error
	next := map[addition]func(){}
	for _, s := range settings {
		for _, entry := range s.Add {
			a := addition{s.Key, entry}
			shut, had := p.held.shut[a]
			if _, twice := next[a]; twice {
				continue
			}
			if !had {
				var err error
				if shut, err = p.AddUntil(Setting{s.Key, []string{entry}}); err != nil {
					faults = append(faults, err)
					continue
				}
			}
			next[a] = shut
		}
	}
	for a, shut := range p.held.shut {
		if _, still := next[a]; !still {
			shut()
		}
	}
	p.held.shut = next
	return errors.Join(faults...)
}
