package script

import (
	"syscall"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

// A script's process gets no file that the daemon was started with, such as a supervisor's.
func TestAScriptsProcessInheritsNoFile(t *testing.T) {
	fd, err := syscall.Open("/etc/passwd", syscall.O_RDONLY, 0) // as an inherited one: without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	pool := testPool(t, tight)
	c, err := pool.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.discard(c)
	testdaemon.CheckContained(t, c.cmd.Process.Pid, false)
}
