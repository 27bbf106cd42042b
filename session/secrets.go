package session

import "slices"

// SecretUse is where a session's documents hold secrets, and where its agent has run
// JavaScript, which could read them. Only the holder of the turn may call its methods.
type SecretUse struct {
	held       []Held
	ran        []string // origins
	everywhere bool
}

// secretUse is what of a SecretUse holds at another daemon too, where no document is that held one.
type secretUse struct {
	Ran        []string
	Everywhere bool
}

func (u *SecretUse) kept() secretUse {
	return secretUse{slices.Clone(u.ran), u.everywhere}
}

// Held is an element into which a secret was written. It counts until its document is gone.
type Held struct {
	Ref    string
	Origin string
}

// Secrets returns that of the session.
func (s *Session) Secrets() *SecretUse { return &s.secrets }

// Ran records that the agent ran JavaScript in documents of that origin; empty: of any.
func (u *SecretUse) Ran(origin string) {
	u.everywhere = u.everywhere || origin == ""
	if !u.HasRun(origin) {
		u.ran = append(u.ran, origin)
	}
}

// HasRun reports whether the agent has run JavaScript in documents of that origin.
func (u *SecretUse) HasRun(origin string) bool { return u.everywhere || slices.Contains(u.ran, origin) }

// Hold records that the element holds a secret.
func (u *SecretUse) Hold(h Held) {
	if !slices.Contains(u.held, h) {
		u.held = append(u.held, h)
	}
}

// Held returns an element in a document of that origin, empty: of any, that holds a secret, if
// there is one. lives reports whether the element's document is there; those of which
// it is not are forgotten.
func (u *SecretUse) Held(origin string, lives func(ref string) bool) (Held, bool) {
	u.held = slices.DeleteFunc(u.held, func(h Held) bool { return !lives(h.Ref) })
	i := slices.IndexFunc(u.held, func(h Held) bool { return origin == "" || h.Origin == origin })
	if i < 0 {
		return Held{}, false
	}
	return u.held[i], true
}
