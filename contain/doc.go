// Package contain confines a process of this program that works on what strangers wrote:
// the scripts of the command run, and PDFs.
//
// The daemon starts itself again under another name (argv[0]) with [Attr], which gives the
// process namespaces of its own. The process prepares what it needs, calls [Self] and only
// then reads its input: from there on a seccomp filter lets it use memory, threads, clocks
// and the pipes that it has, and nothing else, and limits of the kernel bound its memory
// and processor time. Self does nothing except on Linux for amd64 and arm64; on systems
// other than Linux Attr does nothing either.
package contain
