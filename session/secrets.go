package session

import "slices"

// SecretUse records which elements of a session's documents hold secrets, and in which origins its agent has
// run JavaScript, which could read them. Only the holder of the turn may call its methods.
type SecretUse struct {
	elements   []SecretElement
	ran        []string // origins
	everywhere bool
}

// secretUseCheckpoint is the part of a SecretUse that goes into a checkpoint. Elements do not: their documents
// are lost. It is stored as JSON under the names of its fields.
type secretUseCheckpoint struct {
	Ran        []string
	Everywhere bool
}

func (u *SecretUse) checkpoint() secretUseCheckpoint {
	return secretUseCheckpoint{slices.Clone(u.ran), u.everywhere}
}

// SecretElement is an element into which a secret was written. It counts while its document exists.
type SecretElement struct {
	Ref    string
	Origin string
}

// Secrets returns the session's SecretUse.
func (s *Session) Secrets() *SecretUse { return &s.secrets }

// RecordScript records that the agent ran JavaScript in documents of that origin; empty: of any origin.
func (u *SecretUse) RecordScript(origin string) {
	u.everywhere = u.everywhere || origin == ""
	if !u.RanScript(origin) {
		u.ran = append(u.ran, origin)
	}
}

// RanScript reports whether the agent has run JavaScript in documents of that origin.
func (u *SecretUse) RanScript(origin string) bool {
	return u.everywhere || slices.Contains(u.ran, origin)
}

// AddElement records that the element holds a secret.
func (u *SecretUse) AddElement(h SecretElement) {
	if !slices.Contains(u.elements, h) {
		u.elements = append(u.elements, h)
	}
}

// Element returns an element that holds a secret in a document of that origin (empty: of any origin), and
// whether there is one. lives reports whether an element's document still exists; the elements of other
// documents are forgotten.
func (u *SecretUse) Element(origin string, lives func(ref string) bool) (SecretElement, bool) {
	u.elements = slices.DeleteFunc(u.elements, func(h SecretElement) bool { return !lives(h.Ref) })
	i := slices.IndexFunc(u.elements, func(h SecretElement) bool { return origin == "" || h.Origin == origin })
	if i < 0 {
		return SecretElement{}, false
	}
	return u.elements[i], true
}
