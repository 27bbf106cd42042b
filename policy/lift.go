package policy

import (
	"slices"
	"sync"
)

// AllowUntil is Allow, until shut is called; a line that was there before
// stays. shut may be called by any goroutine, and does nothing a second time.
func (p *Policy) AllowUntil(line string) (shut func(), err error) {
	e, err := parseOpening(line)
	if err != nil {
		return nil, err
	}
	if err := p.Allow(line); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() {
		p.change(func(s *state) {
			s.allow, s.opened = withoutLast(s.allow, e), withoutLast(s.opened, e)
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
