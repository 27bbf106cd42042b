package session

import (
	"reflect"
	"slices"

	"github.com/browserd/browserd/protocol"
)

// SecretUse records which elements of a session's documents hold secrets, and in which origins its agent has
// run JavaScript, which could read them. Only the holder of the turn may call its methods.
type SecretUse struct {
	elements []SecretElement
	scripts  scriptOrigins
	profile  string                    // the profile that keeps scripts; empty: none
	keep     func(scriptOrigins) error // stores scripts with the profile; nil: there is none
}

// scriptOrigins says in which origins an agent has run JavaScript. It is part of checkpoints and is kept with
// profiles, as JSON under the names of its fields.
type scriptOrigins struct {
	Ran        []string
	Everywhere bool
}

// maxScriptOrigins is how many origins are told apart. More of them count as all.
const maxScriptOrigins = 1000

// has reports whether JavaScript may have run at the origin; empty: whether it has run at all origins.
func (r scriptOrigins) has(origin string) bool {
	return r.Everywhere || origin != "" && slices.Contains(r.Ran, origin)
}

// with returns a copy with more origins; an empty one stands for all.
func (r scriptOrigins) with(origins ...string) scriptOrigins {
	r.Ran = slices.Clone(r.Ran)
	for _, origin := range origins {
		if !r.has(origin) {
			r.Everywhere = origin == "" || len(r.Ran) >= maxScriptOrigins
			r.Ran = append(r.Ran, origin)
		}
	}
	if r.Everywhere {
		r.Ran = nil
	}
	return r
}

// any reports whether JavaScript has run anywhere.
func (r scriptOrigins) any() bool { return r.Everywhere || len(r.Ran) > 0 }

// SecretElement is an element into which a secret was written. It counts while its document exists.
type SecretElement struct {
	Ref      string
	Document int // its number, as in snapshot.Key
	Origin   string
}

// Secrets returns the session's SecretUse.
func (s *Session) Secrets() *SecretUse { return &s.secrets }

// RecordScript records that the agent runs JavaScript in documents of that origin; empty: of any origin. Call it
// before the JavaScript runs. An error means that the profile could not be made to say so.
func (u *SecretUse) RecordScript(origin string) error {
	if u.scripts.has(origin) {
		return nil
	}
	next := u.scripts.with(origin)
	if u.keep != nil {
		if err := u.keep(next); err != nil {
			return err
		}
	}
	u.scripts = next
	return nil
}

// mark says in a state that is to be saved where JavaScript of the agent has run.
func (u *SecretUse) mark(s *protocol.State) {
	s.Ran, s.Everywhere = slices.Clone(u.scripts.Ran), u.scripts.Everywhere
}

// RanScript reports whether the agent has run JavaScript in documents of that origin, in this session or in an
// earlier one with the same profile.
func (u *SecretUse) RanScript(origin string) bool { return u.scripts.has(origin) }

// Profile returns the profile that keeps what RanScript reports; empty: the session has none.
func (u *SecretUse) Profile() string { return u.profile }

// AddElement records that the element holds a secret.
func (u *SecretUse) AddElement(h SecretElement) {
	if !slices.Contains(u.elements, h) {
		u.elements = append(u.elements, h)
	}
}

// Forget forgets the elements whose documents do not exist any more, and reports whether others are left. lives
// reports whether the document of that number exists.
func (u *SecretUse) Forget(lives func(document int) bool) (left bool) {
	u.elements = slices.DeleteFunc(u.elements, func(h SecretElement) bool { return !lives(h.Document) })
	return len(u.elements) > 0
}

// Element returns an element that holds a secret in a document of that origin (empty: of any origin), and
// whether there is one.
func (u *SecretUse) Element(origin string) (SecretElement, bool) {
	i := slices.IndexFunc(u.elements, func(h SecretElement) bool { return origin == "" || h.Origin == origin })
	if i < 0 {
		return SecretElement{}, false
	}
	return u.elements[i], true
}

// keepScripts makes the session know where JavaScript has run in earlier sessions with its profile, and makes
// the profile say where it runs in this one: service workers, caches and databases outlive the session. Only for
// the holder of the turn.
func keepScripts(s *Session) error {
	u, p, name := &s.secrets, s.manager.Stores.Profiles, s.options.Profile
	if name == "" || p == nil || u.keep != nil {
		return nil
	}
	kept, err := p.loadScripts(s.agent, name)
	if err != nil {
		return err
	}
	all := kept.with(u.scripts.Ran...)
	if u.scripts.Everywhere {
		all = all.with("")
	}
	keep := func(r scriptOrigins) error { return p.saveScripts(s.agent, name, r) }
	if !reflect.DeepEqual(all, kept) {
		if err := keep(all); err != nil {
			return err
		}
	}
	u.scripts, u.profile, u.keep = all, name, keep
	if all.any() {
		s.control.RecordScript()
	}
	return nil
}
