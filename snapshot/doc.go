// Package snapshot turns a document, given as plain values, into the short text that a
// language model reads: lines with @eN refs, within budgets that are never exceeded.
//
// It owns the line grammar (PROTOCOL.md section 5), the numbers of refs, the budgets and
// the delta between two snapshots. It never talks to a browser, a network or a file, and
// has no global state but a pool of buffers. The same nodes and options give the same
// text, whatever the source of the nodes.
//
// A Refs belongs to one session and is used by one goroutine at a time. All other
// functions may be called by any goroutine.
package snapshot
