package browser

import (
	"encoding/binary"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/browser/chromium/jail"
)

// insideVariable says that this process is in the test's own network namespace.
const insideVariable = "BROWSERD_TEST_NETNS"

// inNamespace runs the test again in a network namespace of its own, where all
// addresses of both families are this machine's: whatever is sent anywhere
// arrives at the test, and nothing leaves. It returns true inside.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		becomeEverywhere(t)
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-idle="+watchIdle.String(), "-test.timeout=15m")
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE}
	}
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("inside: %v", err)
	}
	return false
}

// becomeEverywhere gives the namespace a network card with an address, without
// which WebRTC does not try (ip link add type veth), and makes every address its
// own (ip route add local default dev lo, for both families).
func becomeEverywhere(t *testing.T) {
	t.Helper()
	if err := jail.RaiseLoopback(); err != nil {
		t.Fatal(err)
	}
	info := make([]byte, 16) // ifinfomsg: nothing asked for
	askKernel(t, unix.RTM_NEWLINK, joined(info, attribute(unix.IFLA_IFNAME, []byte("out\x00")),
		attribute(unix.IFLA_LINKINFO, attribute(unix.IFLA_INFO_KIND, []byte("veth")))))
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(s)
	for _, name := range []string{"out", "veth0"} { // its other end has the first free name
		card, err := unix.NewIfreq(name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "out" {
			if err := card.SetInet4Addr([]byte{198, 51, 100, 7}); err != nil {
				t.Fatal(err)
			}
			if err := unix.IoctlIfreq(s, unix.SIOCSIFADDR, card); err != nil {
				t.Fatal(err)
			}
		}
		card.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, card); err != nil {
			t.Fatal(err)
		}
	}
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		route := []byte{family, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0}
		askKernel(t, unix.RTM_NEWROUTE, joined(route, attribute(unix.RTA_OIF, []byte{1, 0, 0, 0})))
	}
}

func joined(parts ...[]byte) []byte {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// attribute is one rtattr, padded.
func attribute(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// askKernel asks the kernel to make something (rtnetlink(7)).
func askKernel(t *testing.T, kind uint16, body []byte) {
	t.Helper()
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(s)
	m := binary.NativeEndian.AppendUint32(nil, uint32(16+len(body)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE)
	m = append(append(m, make([]byte, 8)...), body...)
	if err := unix.Sendto(s, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(s, answer, 0)
	if err != nil || n < 20 {
		t.Fatal(n, err)
	}
	if code := int32(binary.NativeEndian.Uint32(answer[16:])); code != 0 {
		t.Fatalf("netlink request %d: %v", kind, syscall.Errno(-code))
	}
}
