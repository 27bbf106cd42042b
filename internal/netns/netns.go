//go:build linux

// Package netns runs a test in a network namespace of its own, from which no
// packet can leave: a wrongly allowed address meets a fake there, or nothing.
package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// marker tells the second process that it is inside.
	marker = "BROWSERD_TEST_NETNS"
	// outcome is the file in which it says whether its test was skipped.
	outcome = "BROWSERD_TEST_NETNS_OUTCOME"
)

var outcomes = map[bool]string{false: "played", true: "skipped"}

// Inside runs the calling test once more, alone, in a process of its own in a
// new network namespace with loopback up, and reports its outcome. It returns
// true there and false out here, where the caller has nothing left to do. The
// test is skipped where it is skipped there, and where the machine permits no such
// namespace; say what that means with required, which fails the test instead.
//
//	if !netns.Inside(t, required) {
//		return
//	}
func Inside(t *testing.T, required bool) bool {
	t.Helper()
	if os.Getenv(marker) == t.Name() {
		if err := loopbackUp(); err != nil {
			t.Fatalf("raising loopback: %v", err)
		}
		t.Cleanup(func() {
			if err := os.WriteFile(os.Getenv(outcome), []byte(outcomes[t.Skipped()]), 0o600); err != nil {
				t.Error(err)
			}
		})
		return true
	}
	told := filepath.Join(t.TempDir(), "outcome")
	var err error
	for _, attr := range ways() {
		cmd := again(t, told)
		cmd.SysProcAttr = attr
		if err = cmd.Start(); err != nil {
			continue
		}
		if err = cmd.Wait(); err != nil {
			t.Errorf("inside the network namespace: %v", err)
			return false
		}
		// A process whose test is skipped, or which has no such test, ends with 0 too.
		switch got, err := os.ReadFile(told); string(got) {
		case outcomes[true]:
			t.Skip("it is skipped inside the network namespace")
		case outcomes[false]:
		default:
			t.Errorf("it was not played inside the network namespace: %q, %v", got, err)
		}
		return false
	}
	if required {
		t.Fatalf("this machine permits no network namespace: %v", err)
	}
	t.Skipf("this machine permits no network namespace: %v", err)
	return false
}

func again(t *testing.T, told string) *exec.Cmd {
	args := []string{"-test.run=^" + regexp.QuoteMeta(t.Name()) + "$", "-test.count=1"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	if end, ok := t.Deadline(); ok {
		args = append(args, "-test.timeout="+time.Until(end).String())
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), marker+"="+t.Name(), outcome+"="+told)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// ways returns how a namespace may be had: as root, or below a user namespace in
// which the same user keeps the two capabilities that the set-up needs.
func ways() []*syscall.SysProcAttr {
	asUser := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE},
	}
	if os.Getuid() != 0 {
		return []*syscall.SysProcAttr{asUser}
	}
	return []*syscall.SysProcAttr{{Cloneflags: syscall.CLONE_NEWNET}, asUser}
}

func loopbackUp() error {
	// Some systems switch IPv6 off in every new namespace; where this fails,
	// IPv6 stays off and routes to it say so.
	os.WriteFile("/proc/sys/net/ipv6/conf/lo/disable_ipv6", []byte("0"), 0o644)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}

// RouteEverythingHere makes every address, of the whole internet and of every
// private network, an address of this namespace (a local route on loopback, as
// `ip route add local default dev lo`): whoever listens on all addresses is
// reached by any of them. No interface shows those addresses. Call it inside only.
func RouteEverythingHere(t testing.TB) {
	t.Helper()
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		scope := byte(unix.RT_SCOPE_HOST)
		if family == unix.AF_INET6 {
			scope = unix.RT_SCOPE_UNIVERSE
		}
		msg := []byte{family, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_STATIC, scope, unix.RTN_LOCAL, 0, 0, 0, 0}
		msg = append(msg, attribute(unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, loopback(t)))...)
		if err := netlink(unix.RTM_NEWROUTE, msg); err != nil {
			t.Fatalf("a route for address family %d: %v", family, err)
		}
	}
}

// AddAddress gives loopback one more address, which the interfaces show. Call
// it inside only.
func AddAddress(t testing.TB, a netip.Addr) {
	t.Helper()
	family, index := byte(unix.AF_INET), loopback(t)
	if a.Is6() {
		family = unix.AF_INET6
	}
	msg := binary.NativeEndian.AppendUint32([]byte{family, byte(a.BitLen()), 0, 0}, index)
	msg = append(msg, attribute(unix.IFA_LOCAL, a.AsSlice())...)
	msg = append(msg, attribute(unix.IFA_ADDRESS, a.AsSlice())...)
	if err := netlink(unix.RTM_NEWADDR, msg); err != nil {
		t.Fatalf("the address %s: %v", a, err)
	}
}

func loopback(t testing.TB) uint32 {
	t.Helper()
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	return uint32(lo.Index)
}

// attribute writes a routing attribute, padded to four bytes (rtnetlink(7)).
func attribute(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(value)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), value...)
	return append(b, make([]byte, -len(b)&3)...)
}

// netlink sends one request that makes something, and waits for the kernel's
// acknowledgement (netlink(7)).
func netlink(kind uint16, body []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	b = binary.NativeEndian.AppendUint32(b, 1)
	b = binary.NativeEndian.AppendUint32(b, 0)
	if err := unix.Sendto(fd, append(b, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 8192)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return errors.New("no acknowledgement from netlink")
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return fmt.Errorf("netlink: %w", unix.Errno(-code))
	}
	return nil
}

// AddCard gives the namespace a network card that is up, has the IPv4 address, is
// the way to everywhere, and leads nowhere: with loopback alone Chromium takes the
// machine for offline, and WebRTC does not try. Call it inside only.
func AddCard(t testing.TB, a netip.Addr) {
	t.Helper()
	info := make([]byte, unix.SizeofIfInfomsg) // nothing asked for
	msg := append(info, attribute(unix.IFLA_IFNAME, []byte("card\x00"))...)
	msg = append(msg, attribute(unix.IFLA_LINKINFO, attribute(unix.IFLA_INFO_KIND, []byte("veth")))...)
	if err := netlink(unix.RTM_NEWLINK, msg); err != nil {
		t.Fatalf("a network card: %v", err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	address := a.As4()
	for _, name := range []string{"card", "veth0"} { // its other end has the first free name
		card, err := unix.NewIfreq(name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "card" {
			if err := card.SetInet4Addr(address[:]); err != nil {
				t.Fatal(err)
			}
			if err := unix.IoctlIfreq(fd, unix.SIOCSIFADDR, card); err != nil {
				t.Fatalf("the card's address: %v", err)
			}
		}
		card.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, card); err != nil {
			t.Fatalf("raising %s: %v", name, err)
		}
	}
	card, err := net.InterfaceByName("card")
	if err != nil {
		t.Fatal(err)
	}
	route := []byte{unix.AF_INET, 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_STATIC, unix.RT_SCOPE_LINK, unix.RTN_UNICAST, 0, 0, 0, 0}
	route = append(route, attribute(unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, uint32(card.Index)))...)
	if err := netlink(unix.RTM_NEWROUTE, route); err != nil {
		t.Fatalf("a route by the card: %v", err)
	}
}
