// Package child is the process in which a script of the command run is executed: a
// QuickJS engine whose only way out is to ask the daemon for the next command.
//
// A program that imports this package and is started under the name Name runs one script
// and ends, before its own main. It gets its script over standard input and answers over
// standard output (ReadFrame, WriteFrame). Before it reads anything it gives up what it
// does not need: on Linux a seccomp filter lets it use memory, threads, clocks, and the two
// pipes that it has already, and nothing else; limits of the kernel bound its memory and
// processor time.
//
// The script itself is not trusted, and neither is this process once the script runs:
// the daemon checks each message (package script), and kills it when its time is over.
package child
