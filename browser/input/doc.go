// Package input is the keyboard and the mouse: it writes keys, text, clicks, pointer
// paths and drags as commands of CDP's domain Input.
//
// It knows CDP sessions and points, and nothing about tabs, frames or refs: which
// element stands at a point, and whether that element receives the input, is for
// package browser to find out. Input goes to the CDP session of the page, wherever the
// frame lives that receives it.
//
// Methods write their commands and return them without waiting, so that several cost
// one round trip together; only a [Drag] waits between its steps. A [Mouse], its
// [Pointer]s and a [Drag] belong to one goroutine at a time, the one that has the
// session's turn, and have no lock. A [Keyboard] has no state: any goroutine may use it.
package input
