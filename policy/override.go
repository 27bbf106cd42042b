package policy

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Setting is the value of a refusal's details.config: the entries that one of the
// policy's lists would need for the request to be allowed.
type Setting struct {
	Key string   `json:"key"` // KeyAllowHosts or KeyAllowedDomains
	Add []string `json:"add"`
}

// The lists that operators can add to.
const (
	KeyAllowHosts     = "policy.allow_hosts"
	KeyAllowedDomains = "policy.allowed_domains"
)

// AddUntil adds the setting's entries to the policy, for every Gate, until undo is called.
// It carries out what an operator allows everybody, so an entry of KeyAllowHosts also
// counts as one of KeyAllowedDomains. An entry of KeyAllowedDomains does not open
// anything private. Neither overrides Config.DeniedDomains or a session's own
// restrictions. Any goroutine may call undo; a second call does nothing. After an error,
// which quotes the entry, nothing has been added.
func (p *Policy) AddUntil(s Setting) (undo func(), err error) {
	entries, err := s.parse()
	if err != nil {
		return nil, err
	}
	p.change(func(state *state) { state.add(entries) })
	return sync.OnceFunc(func() { p.change(func(state *state) { state.remove(entries) }) }), nil
}

// Additions are what operators have added to the policy for one agent alone, or for one of
// its sessions. They hold for the Gates that name them in GateOptions. Make them with
// NewAdditions. Any goroutine may call the methods; a nil *Additions is empty.
type Additions struct {
	agent *Additions // the session's agent's, which hold for its Gates too; nil: these are an agent's

	mu    sync.Mutex // held while added is replaced
	added atomic.Pointer[lists]
}

// NewAdditions returns empty additions: those of a session of the agent that has the given
// ones, or, if that is nil, those of an agent.
func NewAdditions(agent *Additions) *Additions {
	a := &Additions{agent: agent}
	a.added.Store(&lists{})
	return a
}

// AddUntil is Policy.AddUntil for the Gates of these additions.
func (a *Additions) AddUntil(s Setting) (undo func(), err error) {
	entries, err := s.parse()
	if err != nil {
		return nil, err
	}
	change := func(f func(*lists)) {
		a.mu.Lock()
		defer a.mu.Unlock()
		next := *a.added.Load()
		f(&next)
		a.added.Store(&next)
	}
	change(func(l *lists) { l.add(entries) })
	return sync.OnceFunc(func() { change(func(l *lists) { l.remove(entries) }) }), nil
}

// Empty reports whether nothing is added now, for the agent neither.
func (a *Additions) Empty() bool {
	all := a.all()
	return len(all.allow) == 0 && len(all.domains) == 0
}

// all returns what is added now, for the session and for its agent.
func (a *Additions) all() lists {
	if a == nil {
		return lists{}
	}
	all, of := *a.added.Load(), a.agent.all()
	return lists{slices.Concat(all.allow, of.allow), slices.Concat(all.domains, of.domains)}
}

// lists are the lists to which operators may add. They are immutable: a change replaces them.
type lists struct {
	allow   list // policy.allow_hosts, for a Policy with those of the configuration
	domains list // what was added to policy.allowed_domains
}

// parse returns the entries as they are to be added to the lists.
func (s Setting) parse() (lists, error) {
	if s.Key != KeyAllowHosts && s.Key != KeyAllowedDomains {
		return lists{}, fmt.Errorf("%s cannot be added to while the daemon runs", s.Key)
	}
	entries := make(list, len(s.Add))
	for i, line := range s.Add {
		var err error
		if entries[i], err = parseAllowEntry(line); err != nil {
			return lists{}, fmt.Errorf("%s: %w", s.Key, err)
		}
	}
	if s.Key == KeyAllowHosts {
		return lists{entries, entries}, nil
	}
	return lists{nil, entries}, nil
}

func (l *lists) add(o lists) {
	l.allow, l.domains = slices.Concat(l.allow, o.allow), slices.Concat(l.domains, o.domains)
}

func (l *lists) remove(o lists) {
	for _, e := range o.allow {
		l.allow = withoutLast(l.allow, e)
	}
	for _, e := range o.domains {
		l.domains = withoutLast(l.domains, e)
	}
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
