// Package secret keeps what an agent may use but not see: passwords, keys and one-time codes, each with the
// origins to which it may be given.
//
// An agent writes {{secret:NAME}} in place of the value. A Vault gives the value for an agent and an origin, or
// says why it does not. The caller must send the value only to that origin. From then on the vault removes the
// exact value, and encodings of it, from what that agent is sent (Vault.Redact).
//
// The package never logs a value, never puts one into an error, and never runs a shell. It cannot recognise a
// value that a page has changed in some other way: the origins limit which pages can do that.
package secret
