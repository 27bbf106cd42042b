package browser

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
// the interface, makes the socket, drops the capabilities and becomes Chromium.

// jailName is the name (argv[0]) under which this program prepares a jail.
const jailName = "browserd-jail"

// jailSocket is the file descriptor over which the listener is handed out; 3
// and 4 are Chromium's pipes.
const jailSocket = 5

// jailWords begins what the jail says when it fails.
const jailWords = "browserd's jail: "

// Any program that has this package can prepare a jail, a test's too.
func init() {
	if len(os.Args) > 1 && os.Args[0] == jailName {
		err := prepareJail(os.Args[1], os.Args[2:])
		fmt.Fprintln(os.Stderr, jailWords+err.Error())
		os.Exit(1)
	}
}

// prepareJail runs inside the namespaces. It becomes the program, with its
// arguments, or exits where there is none: then it was only tried.
func prepareJail(port string, program []string) error {
	runtime.LockOSThread() // capabilities belong to a thread
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return err
	}
	if err := raiseLoopback(); err != nil {
		return fmt.Errorf("raising its loopback interface: %w", err)
	}
	// Where the kernel has no bridges, pages are told that they are offline.
	looksOnline()
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(l, &unix.SockaddrInet4{Port: int(n)}) // every loopback address: each names a lane
	}
	if err == nil {
		err = unix.Listen(l, 1024)
	}
	if err != nil {
		return fmt.Errorf("listening inside: %w", err)
	}
	if err := unix.Sendmsg(jailSocket, []byte{1}, unix.UnixRights(l), nil, 0); err != nil {
		return fmt.Errorf("handing the listener out: %w", err)
	}
	unix.Close(l)
	unix.Close(jailSocket)
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	if len(program) == 0 {
		os.Exit(0)
	}
	// A change of capabilities may have cleared it.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	return fmt.Errorf("starting %s: %w", program[0], syscall.Exec(program[0], program, os.Environ()))
}

func raiseLoopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// looksOnline makes an interface that is up, has an address (of RFC 5737) and
// leads nowhere: from the interfaces Chromium concludes what navigator.onLine
// says, and with loopback alone, that the machine is offline. It has all that
// it will ever have before Chromium starts, which drops the requests under way
// when an address comes or goes (ERR_NETWORK_CHANGED).
func looksOnline() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	bridge, err := unix.NewIfreq("nowhere0")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(s, unix.SIOCBRADDBR, bridge); err != nil {
		return err
	}
	for _, part := range []struct {
		request uint
		value   []byte
	}{{unix.SIOCSIFADDR, []byte{192, 0, 2, 1}}, {unix.SIOCSIFNETMASK, []byte{255, 255, 255, 255}}} {
		if err := bridge.SetInet4Addr(part.value); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(s, part.request, bridge); err != nil {
			return err
		}
	}
	// Too small for IPv6, which would give itself an address in a second or two.
	bridge.SetUint32(576)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFMTU, bridge); err != nil {
		return err
	}
	bridge.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, bridge)
}

// dropCapabilities gives up what the namespace gave, for this program and for
// all that it starts.
func dropCapabilities() error {
	for c := uintptr(0); ; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, unix.EINVAL) {
			break // beyond the last one that this kernel has
		} else if err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// jail puts cmd, which confine has set up, into a jail, and returns the socket
// from which the listener is to be taken. The caller closes both ends: the
// command's when it has been started.
func jail(cmd *exec.Cmd, owner *account, port int) (ours *net.UnixConn, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	theirs = os.NewFile(uintptr(pair[1]), "jail")
	mine := os.NewFile(uintptr(pair[0]), "jail")
	c, err := net.FileConn(mine)
	mine.Close()
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	for len(cmd.ExtraFiles) < jailSocket-3 {
		cmd.ExtraFiles = append(cmd.ExtraFiles, nil)
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	// Not by its name: the program may have been replaced since it was started.
	args := append([]string{jailName, strconv.Itoa(port)}, cmd.Args...)
	cmd.Path, cmd.Args = "/proc/self/exe", args

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
	return c.(*net.UnixConn), theirs, nil
}

// jailWithin is how long a jail may take to be prepared: it takes some
// milliseconds, and the start of a large program on a cold disk.
const jailWithin = 10 * time.Second

// handedOut takes the listener that was made inside the jail.
func handedOut(c *net.UnixConn) (net.Listener, error) {
	defer c.Close()
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
	ours, theirs, err := jail(cmd, owner, 1024)
	if err != nil {
		return err
	}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		ours.Close()
		return fmt.Errorf("the system allows no user and network namespaces: %w", err)
	}
	l, err := handedOut(ours)
	if err == nil {
		l.Close()
	} else {
		cmd.Process.Kill()
	}
	ended := cmd.Wait()
	switch said := lineWith(words.String(), jailWords); {
	case said != jailWords:
		return errors.New(strings.TrimPrefix(said, jailWords))
	case err != nil:
		return err
	}
	return ended
}
