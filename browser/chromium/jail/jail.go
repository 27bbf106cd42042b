// Package jail is the inside of the jail that package chromium puts Chromium into:
// what runs in the namespaces before Chromium does.
//
// A namespace cannot be entered by a program with threads, so the daemon's own
// program is started again in front of Chromium, under the name Name: it raises
// the loopback interface, makes the egress proxy's socket and hands it out,
// drops the capabilities and, when it receives Chromium's command line, becomes Chromium.
// A program that imports this package does so before its main, and before nearly all
// other packages are initialized.
//
// It imports nothing but os, strconv, syscall and what is beneath them, which is
// why it calls the kernel by itself: Go initializes a package as soon as all that
// it imports is there, and what the rest of the daemon makes of tables and
// patterns before main takes several times as long as all that is done here.
package jail

const (
	// Name is the name (argv[0]) under which a program prepares a jail. Its argument
	// is the port to listen on, inside.
	Name = "browserd-jail"
	// Socket is the file descriptor over which the jail sends its listener, with a byte,
	// and then receives the program that it becomes and its arguments, each with a NUL
	// after it, until the other end is closed. Without a program it ends. 3 and 4 are
	// Chromium's pipes.
	Socket = 5
	// ErrorPrefix begins the line that the jail writes to its standard error when it fails.
	ErrorPrefix = "browserd's jail: "
)
