// Package form is what HTML says about forms, on a parsed document: what each
// control holds, what a person may do to it, whether a form may be sent, and
// the request that sending it makes, byte for byte as Chromium makes it.
//
// It owns the state of controls (their values, never written into the tree)
// and the WHATWG algorithms on it: the form owner (HTML 4.10.17.3), the entry
// list (4.10.22.4), the three encodings (4.10.22.6 to .8) and constraint
// validation (4.10.21). It never fetches and never runs script.
//
// A Controls belongs to one document and is used by one goroutine at a time.
package form
