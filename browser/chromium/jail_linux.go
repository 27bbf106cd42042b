package chromium

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/browser/chromium/jail"
)

// The jail: Chromium runs in a user and a network namespace of its own. In it are a
// loopback interface and a bridge without ports, and no route out.
// The only listener there is the egress proxy's: its socket was made inside and passed
// to the daemon. Whatever Chromium, or a page that broke out of its renderer, sends to
// another address is lost, whatever Chromium's flags are.
//
// A namespace cannot be entered by a program with threads, so the daemon's own
// program is started again in front of Chromium, under another name: it raises
// the interface, makes the socket, drops the capabilities and becomes Chromium
// (package jail).

// jailCommand changes cmd, which confine has set up, so that it starts in a jail. It
// returns the socket over which the jail sends its listener and then receives the
// program that it executes, and the jail's end of that socket. The caller closes
// both: the jail's end when the command has been started.
func jailCommand(cmd *exec.Cmd, owner *account, port int) (daemonEnd *net.UnixConn, jailEnd *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	jailEnd = os.NewFile(uintptr(pair[1]), "jail")
	mine := os.NewFile(uintptr(pair[0]), "jail")
	c, err := net.FileConn(mine)
	mine.Close()
	if err != nil {
		jailEnd.Close()
		return nil, nil, err
	}
	for len(cmd.ExtraFiles) < jail.Socket-3 {
		cmd.ExtraFiles = append(cmd.ExtraFiles, nil)
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, jailEnd)
	// Not by its path: the file may have been replaced since the daemon was started.
	cmd.Path, cmd.Args = "/proc/self/exe", []string{jail.Name, strconv.Itoa(port)}

	uid, gid := os.Getuid(), os.Getgid()
	if owner != nil {
		uid, gid = int(owner.uid), int(owner.gid)
	}
	a := cmd.SysProcAttr
	a.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
	// The owner's ids are the same inside as outside; no other id exists inside.
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	a.GidMappingsEnableSetgroups = owner != nil
	a.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	return c.(*net.UnixConn), jailEnd, nil
}

// jailTimeout is how long the preparation of a jail may take. It takes some
// milliseconds, and longer where a large program is read from a cold disk.
const jailTimeout = 10 * time.Second

// receiveListener receives the listener that was made inside the jail. The jail then
// waits for its program.
func receiveListener(c *net.UnixConn) (net.Listener, error) {
	c.SetReadDeadline(time.Now().Add(jailTimeout))
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return nil, fmt.Errorf("taking the listener out of the jail: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.New("the jail ended before it was ready")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("taking the listener out of the jail: %d of them: %w", len(fds), err)
	}
	f := os.NewFile(uintptr(fds[0]), "jail's listener")
	defer f.Close()
	return net.FileListener(f)
}

// CanJail prepares a jail as a launch with cfg does, without running a program in it. It
// returns nil, or one sentence on why there can be no jail. It takes some ten milliseconds.
func CanJail(cfg Config) error {
	owner, err := processOwner(cfg)
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{Env: []string{}, Dir: "/"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	confine(cmd, owner)
	cmd.SysProcAttr.Pdeathsig = 0 // it ends by itself, and this goroutine's thread may end before
	daemonEnd, jailEnd, err := jailCommand(cmd, owner, 1024)
	if err != nil {
		return err
	}
	err = cmd.Start()
	jailEnd.Close()
	if err != nil {
		daemonEnd.Close()
		return fmt.Errorf("the system allows no user and network namespaces: %w", err)
	}
	l, err := receiveListener(daemonEnd)
	daemonEnd.Close() // without a program the jail ends
	if err == nil {
		l.Close()
	} else {
		cmd.Process.Kill()
	}
	waitErr := cmd.Wait()
	switch line := lineWith(stderr.String(), jail.ErrorPrefix); {
	case line != jail.ErrorPrefix:
		return errors.New(strings.TrimPrefix(line, jail.ErrorPrefix))
	case err != nil:
		return err
	}
	return waitErr
}
