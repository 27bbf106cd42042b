// Package form implements HTML forms on a parsed document: the values of controls, what a
// person may do to them, constraint validation, and the request that submitting a form
// makes, byte for byte as Chromium makes it.
//
// It owns the state of controls, which is never written into the tree, and the WHATWG
// algorithms on it: the form owner (HTML 4.10.17.3), the entry list (4.10.22.4), the three
// encodings (4.10.22.6 to .8) and constraint validation (4.10.21). It never sends a request
// and never runs script.
//
// A Controls belongs to one document; one goroutine at a time uses it.
package form
