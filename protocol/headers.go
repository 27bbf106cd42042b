package protocol

import "slices"

// Headers are headers for the requests of a session's pages, and the origins that get
// them. A nil one is none. It is never written to once it is given away.
type Headers struct {
	Values map[string]string
	// Origins are written as browsers do (https://example.com:8443); empty: the first one
	// that the session opens, and until then nobody gets them.
	Origins []string
}

// Names reports whether the origin is one of those that get the headers.
func (h *Headers) Names(origin string) bool { return h != nil && slices.Contains(h.Origins, origin) }

// Waits reports whether the headers are still to be bound to the first origin.
func (h *Headers) Waits() bool { return h != nil && len(h.Values) > 0 && len(h.Origins) == 0 }
