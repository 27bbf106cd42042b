package policy

import (
	"fmt"
	"slices"
	"sync"
)

// Setting is what a refusal's details.config names: entries that one of the
// policy's lists would have to have.
type Setting struct {
	Key string   `json:"key"` // KeyAllowHosts or KeyAllowedDomains
	Add []string `json:"add"`
}

// The lists that may be added to while the daemon runs.
const (
	KeyAllowHosts     = "policy.allow_hosts"
	KeyAllowedDomains = "policy.allowed_domains"
)

// AddUntil adds the setting's entries, from now on and for every Gate, until
// shut is called; what the lists have beside them stays. It is an operator's
// answer to one refusal, so an entry of KeyAllowHosts counts as one of
// KeyAllowedDomains as well; one of KeyAllowedDomains opens nothing that is
// private. Neither lifts Config.DeniedDomains, nor what a session narrowed for
// itself. shut may be called by any goroutine, and does nothing a second time.
// An error, which quotes the entry, adds nothing.
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

// withoutLast is a copy of l without the last of the entries equal to e: the
// lines of the configuration stand first.
func withoutLast(l list, e entry) list {
	for i := len(l) - 1; i >= 0; i-- {
		if l[i] == e {
			return slices.Concat(l[:i], l[i+1:])
		}
	}
	return l
}
