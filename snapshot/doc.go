// Package snapshot turns a document, given as plain values, into the small
// text that a language model reads: lines with @eN refs, kept within budgets
// that are never exceeded.
//
// It owns the line grammar (PROTOCOL.md section 5), the numbering of refs, the
// budgets and the delta between two snapshots. It never talks to a browser, a
// network or a file, and it keeps no global state. The same nodes and options
// give the same text, whatever source produced the nodes.
//
// A Refs value belongs to one session and is used by one goroutine at a time;
// everything else here is a pure function.
package snapshot
