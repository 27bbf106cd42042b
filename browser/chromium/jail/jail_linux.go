package jail

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

func init() {
	if len(os.Args) > 1 && os.Args[0] == Name {
		what, err := prepare(os.Args[1])
		os.Stderr.WriteString(ErrorPrefix + what + ": " + err.Error() + "\n")
		os.Exit(1)
	}
}

// prepare runs inside the namespaces. It becomes the program that it receives, or exits
// where the other end closes without one. It returns only when a step fails: the step,
// and the error.
func prepare(port string) (string, error) {
	runtime.LockOSThread() // capabilities belong to a thread
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "its port", err
	}
	if err := RaiseLoopback(); err != nil {
		return "raising its loopback interface", err
	}
	// Where the kernel has no bridges, navigator.onLine is false in pages.
	addDeadInterface()
	l, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		err = syscall.Bind(l, &syscall.SockaddrInet4{Port: int(n)}) // every loopback address: each belongs to one session
	}
	if err == nil {
		err = syscall.Listen(l, 1024)
	}
	if err != nil {
		return "listening inside", err
	}
	if err := syscall.Sendmsg(Socket, []byte{1}, syscall.UnixRights(l), nil, 0); err != nil {
		return "passing the listener out", err
	}
	syscall.Close(l)
	if err := dropCapabilities(); err != nil {
		return "dropping capabilities", err
	}
	// A change of capabilities may have cleared it.
	if err := prctl(syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL)); err != nil {
		return "asking for a signal at the daemon's death", err
	}
	program := readProgram()
	if len(program) == 0 {
		os.Exit(0)
	}
	syscall.Close(Socket)
	return "starting " + program[0], syscall.Exec(program[0], program, os.Environ())
}

// readProgram waits for the program and its arguments. It returns none if the other end was closed.
func readProgram() []string {
	var args []string
	var arg []byte
	for part := make([]byte, 4096); ; {
		n, err := syscall.Read(Socket, part)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return args
		}
		for _, c := range part[:n] {
			if c != 0 {
				arg = append(arg, c)
				continue
			}
			args, arg = append(args, string(arg)), nil
		}
	}
}

// RaiseLoopback raises the loopback interface of the network namespace that the
// caller is in, which needs CAP_NET_ADMIN there.
func RaiseLoopback() error {
	lo, err := newInterface("lo")
	if err != nil {
		return err
	}
	defer lo.close()
	lo.putFlags(syscall.IFF_UP | syscall.IFF_RUNNING)
	return lo.ioctl(syscall.SIOCSIFFLAGS)
}

// addDeadInterface makes an interface that is up, has an address (of RFC 5737) and no
// route. Chromium derives navigator.onLine from the interfaces: with loopback alone the
// machine would be offline. The interface is complete before Chromium starts, since
// Chromium drops the requests under way when an address is added or removed
// (ERR_NETWORK_CHANGED).
func addDeadInterface() error {
	bridge, err := newInterface("nowhere0")
	if err != nil {
		return err
	}
	defer bridge.close()
	if err := bridge.ioctl(siocBrAddBr); err != nil {
		return err
	}
	for _, part := range []struct {
		request uintptr
		value   [4]byte
	}{{syscall.SIOCSIFADDR, [4]byte{192, 0, 2, 1}}, {syscall.SIOCSIFNETMASK, [4]byte{255, 255, 255, 255}}} {
		bridge.putAddress(part.value)
		if err := bridge.ioctl(part.request); err != nil {
			return err
		}
	}
	// Too small for IPv6, which would give itself an address in a second or two.
	bridge.putNumber(576)
	if err := bridge.ioctl(syscall.SIOCSIFMTU); err != nil {
		return err
	}
	bridge.putFlags(syscall.IFF_UP | syscall.IFF_RUNNING)
	return bridge.ioctl(syscall.SIOCSIFFLAGS)
}

// siocBrAddBr makes a bridge (linux/sockios.h).
const siocBrAddBr = 0x89a0

// iface is a network interface as the requests of netdevice(7) name it: a
// struct ifreq, whose union holds one value at a time, and a socket for its requests.
type iface struct {
	socket int
	req    struct {
		name  [syscall.IFNAMSIZ]byte
		value [24]byte
	}
}

func newInterface(name string) (*iface, error) {
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	i := &iface{socket: s}
	copy(i.req.name[:syscall.IFNAMSIZ-1], name)
	return i, nil
}

func (i *iface) close() { syscall.Close(i.socket) }

func (i *iface) putFlags(f uint16) {
	i.req.value = [24]byte{}
	*(*uint16)(unsafe.Pointer(&i.req.value)) = f
}

func (i *iface) putNumber(n int32) {
	i.req.value = [24]byte{}
	*(*int32)(unsafe.Pointer(&i.req.value)) = n
}

// putAddress puts a struct sockaddr_in there, with no port.
func (i *iface) putAddress(a [4]byte) {
	i.putFlags(syscall.AF_INET)
	copy(i.req.value[4:], a[:])
}

func (i *iface) ioctl(request uintptr) error {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(i.socket), request, uintptr(unsafe.Pointer(&i.req)))
	return orNil(errno)
}

// dropCapabilities gives up what the namespace gave, for this program and for
// all that it starts.
func dropCapabilities() error {
	for c := uintptr(0); ; c++ {
		if err := prctl(syscall.PR_CAPBSET_DROP, c); err == syscall.EINVAL {
			break // beyond the last one that this kernel has
		} else if err != nil {
			return err
		}
	}
	if err := prctl(prCapAmbient, prCapAmbientClearAll); err != nil {
		return err
	}
	// capset(2): version 3 takes two sets of effective, permitted, inheritable.
	header := struct {
		version uint32
		pid     int32
	}{version: capabilityVersion3}
	var none [2][3]uint32
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
	return orNil(errno)
}

// linux/prctl.h and linux/capability.h.
const (
	prCapAmbient         = 47
	prCapAmbientClearAll = 4
	capabilityVersion3   = 0x20080522
)

func prctl(option, arg uintptr) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, arg, 0, 0, 0, 0)
	return orNil(errno)
}

func orNil(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
