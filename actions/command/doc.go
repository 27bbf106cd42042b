// Package command defines what a command is: its row (Row), how its parameters are decoded, its schema, its
// result, its errors, who may send it, what it costs, and what is logged about it. The commands themselves are
// in package actions, which this package does not import.
//
// A command runs in two steps, so that a transport can keep the order in which
// commands arrived. Prepare checks the parameters, finds or opens the session,
// and takes the session's turn; the goroutine that reads a connection calls it,
// and it never blocks. Job.Run waits for the turn, does the work and returns the
// result; any goroutine may call it.
//
// The package never talks CDP, never reads configuration, and never knows which
// transport a command came through.
package command
