package chromium

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// processOwner returns who Chromium runs as: an unprivileged account where the
// daemon is root, nil (the daemon's own user) where it is not.
func processOwner(cfg Config) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	a, err := runAs(cfg.RunAs)
	return &a, err
}

// confine gives the command a process group of its own, the owner's identity
// without any supplementary group, and the signal that ends it when the daemon
// is killed.
func confine(cmd *exec.Cmd, owner *account) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if owner != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: owner.uid, Gid: owner.gid, Groups: []uint32{}}
	}
	// Chromium's helpers outlive it for a moment. As their subreaper the daemon
	// becomes their parent then, can wait for them, and knows when all are gone.
	// Otherwise their parent would be an init that a container may not have.
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// pipeSize holds the largest message that is sent often, the script of a page,
// and the snapshot of a large one, so that its writer need not wait for its reader.
const pipeSize = 256 << 10

// setPipeSize enlarges the buffer of a pipe (pipe(7)), if the system permits it.
func setPipeSize(f *os.File) {
	if c, err := f.SyscallConn(); err == nil { // Fd would make it blocking
		c.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}

// smallSharedMemory reports whether /dev/shm cannot hold what Chromium puts there
// (64 MiB, a container's default, crash its pages).
func smallSharedMemory() bool {
	size, ok := sharedMemory()
	return !ok || size < 1<<30
}

// sharedMemory returns the size of /dev/shm in bytes.
func sharedMemory() (uint64, bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &fs); err != nil || unix.Access("/dev/shm", unix.W_OK) != nil {
		return 0, false
	}
	return fs.Blocks * uint64(fs.Bsize), true
}
