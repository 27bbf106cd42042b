// Package secret keeps what an agent may use and not know: passwords, keys and one-time
// codes, each with the origins to which it may be given.
//
// An agent writes {{secret:NAME}} in the place of the value. A Vault gives the value for
// an agent and an origin, or says why it does not; where the text goes is for the caller to
// see to. From then on the vault removes the exact value, and encodings of it, from what that
// agent is sent (Vault.Redact).
//
// The package never logs a value, never puts one into an error, and never runs a shell. It
// cannot recognise a value that a page has changed in a way of its own: the origins limit who
// can do that.
package secret
