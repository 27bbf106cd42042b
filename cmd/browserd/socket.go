package main

import (
	"errors"
	"path/filepath"

	"github.com/browserd/browserd/config"
)

// errRuns is returned where another daemon of this user has the socket.
var errRuns = errors.New("another browserd of this user has the socket")

// socketPath returns the socket of the daemon that server.listen names, in the state
// directory; empty if there is none: without a state directory, and for a port
// that the system chooses.
func socketPath(listen string) string {
	dir, err := config.StateDir()
	if err != nil || filepath.Base(listen) != listen || portOf(listen) == "0" {
		return ""
	}
	return filepath.Join(dir, dialable(listen)+".sock")
}
