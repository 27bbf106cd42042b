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

// AddUntil adds the setting's entries to the policy, for every Gate, until undo is called.
// It carries out an operator's answer to one refusal, so an entry of KeyAllowHosts also
// counts as one of KeyAllowedDomains. An entry of KeyAllowedDomains does not open
// anything private. Neither overrides Config.DeniedDomains or a session's own
// restrictions. Any goroutine may call undo; a second call does nothing. After an error,
// which quotes the entry, nothing has been added.
func (p *Policy) AddUntil(s Setting) (undo func(), err error) {
	opens := s.Key == KeyAllowHosts
	if !opens && s.Key != KeyAllowedDomains {
		return nil, fmt.Errorf("%s cannot be added to while the daemon runs", s.Key)
	}
	entries := make([]entry, len(s.Add))
	for i, line := range s.Add {
		if entries[i], err = parseAllowEntry(line); err != nil {
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

// SetAdditions adds the settings to the policy as AddUntil does, in place of those of the
// last call. A setting that cannot be added is left out and named in the error.
func (p *Policy) SetAdditions(settings []Setting) error {
	p.additions.mu.Lock()
	defer p.additions.mu.Unlock()
	var faults []error
	next := map[addition]func(){}
	for _, s := range settings {
		for _, entry := range s.Add {
			a := addition{s.Key, entry}
			undo, had := p.additions.undo[a]
			if _, twice := next[a]; twice {
				continue
			}
			if !had {
				var err error
				if undo, err = p.AddUntil(Setting{s.Key, []string{entry}}); err != nil {
					faults = append(faults, err)
					continue
				}
			}
			next[a] = undo
		}
	}
	for a, undo := range p.additions.undo {
		if _, kept := next[a]; !kept {
			undo()
		}
	}
	p.additions.undo = next
	return errors.Join(faults...)
}
