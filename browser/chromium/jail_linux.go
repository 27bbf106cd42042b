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

// The jail: Chromium runs in a user and a network namespace of its own, in
// which there is a loopback interface and a bridge without ports, from which
// nothing leads anywhere. The only thing that
// listens there is the egress proxy, by a socket that was made inside and handed
// out to the daemon. What Chromium, or a page that broke out of its renderer,
// sends elsewhere has nowhere to go, whatever Chromium's flags say.
//
// A namespace cannot be entered by a program with threads, so the daemon's own
// program is started again in front of Chromium, under another name: it raises
// the interface, makes the socket, drops the capabilities and becomes Chromium
// (package jail).

// jailCommand puts cmd, which confine has set up, into a jail, and returns the socket
// from which the listener is to be taken and over which the jail is told what to
// become. The caller closes both ends: the
// command's when it has been started.
func jailCommand(cmd *exec.Cmd, owner *account, port int) (ours *net.UnixConn, jailEnd *os.File, err error) {
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
	// Not by its name: the program may have been replaced since it was started.
	cmd.Path, cmd.Args = "/proc/self/exe", []string{jail.Name, strconv.Itoa(port)}

	uid, gid := os.Getuid(), os.Getgid()
	if owner != nil {
		uid, gid = int(owner.uid), int(owner.gid)
	}
	a := cmd.SysProcAttr
	a.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
	// The same numbers inside as outside, and nobody else's.
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	a.GidMappingsEnableSetgroups = owner != nil
	a.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	return c.(*net.UnixConn), jailEnd, nil
}

// jailWithin is how long a jail may take to be prepared: it takes some
// milliseconds, and the start of a large program on a cold disk.
const jailWithin = 10 * time.Second

// receiveListener takes the listener that was made inside the jail, which then waits to be
// told what to become.
func receiveListener(c *net.UnixConn) (net.Listener, error) {
	c.SetReadDeadline(time.Now().Add(jailWithin))
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

// CanJail prepares a jail as a launch with cfg does, without a program in it,
// and says in a sentence what is in the way; nil: nothing is. It takes some ten
// milliseconds.
func CanJail(cfg Config) error {
	owner, err := processOwner(cfg)
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{Env: []string{}, Dir: "/"}
	var words strings.Builder
	cmd.Stderr = &words
	confine(cmd, owner)
	cmd.SysProcAttr.Pdeathsig = 0 // it ends by itself, and this goroutine's thread may end before
	ours, jailEnd, err := jailCommand(cmd, owner, 1024)
	if err != nil {
		return err
	}
	err = cmd.Start()
	jailEnd.Close()
	if err != nil {
		ours.Close()
		return fmt.Errorf("the system allows no user and network namespaces: %w", err)
	}
	l, err := receiveListener(ours)
	ours.Close() // it is not to start
	if err == nil {
		l.Close()
	} else {
		cmd.Process.Kill()
	}
	ended := cmd.Wait()
	switch said := lineWith(words.String(), jail.ErrorPrefix); {
	case said != jail.ErrorPrefix:
		return errors.New(strings.TrimPrefix(said, jail.ErrorPrefix))
	case err != nil:
		return err
	}
	return ended
}
