// Package actions holds the repertoire: one file per command, one row per
// command in All. A row says everything that a door, the help, the docs and a
// schema need; adding a command is adding its file and its row.
//
// A command is run in two steps, so that a door can keep the order in which
// commands arrived. Prepare, called from the goroutine that reads a
// connection, checks the parameters, finds or makes the session, and takes
// the session's turn; it never blocks. Job.Run, called from any goroutine,
// waits for the turn, does the work and answers.
//
// The package never talks CDP, never reads configuration, and never knows
// which door a command came through.
package actions
