//go:build linux

package netns_test

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/netns"
	"github.com/browserd/browserd/internal/untested"
)

// Inside, every address leads to ourselves, and there is no way out.
func TestEverythingIsHere(t *testing.T) {
	if !netns.Inside(t, untested.InCI()) {
		return
	}
	ifs, err := net.Interfaces()
	if err != nil || len(ifs) != 1 || ifs[0].Flags&net.FlagUp == 0 {
		t.Fatalf("the interfaces are %v, want loopback alone, and up: %v", ifs, err)
	}
	if c, err := net.DialTimeout("tcp", "93.184.216.34:80", time.Second); err == nil {
		c.Close()
		t.Fatal("there is a way out")
	}
	own := netip.MustParseAddr("198.41.0.4")
	netns.RouteEverythingHere(t)
	netns.AddAddress(t, own)
	l, err := net.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, a := range []string{"93.184.216.34:80", "10.0.0.1:80", "169.254.169.254:80", "198.41.0.4:80", "[2606:4700::1]:80", "[fd00::1]:80", "[::1]:80"} {
		c, err := net.DialTimeout("tcp", a, time.Second)
		if err != nil {
			t.Errorf("%s: %v", a, err)
			continue
		}
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got := netip.MustParseAddrPort(s.LocalAddr().String()); netip.AddrPortFrom(got.Addr().Unmap(), got.Port()).String() != a {
			t.Errorf("dialled %s, arrived at %s", a, got)
		}
		s.Close()
		io.ReadAll(c)
		c.Close()
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[netip.Addr]bool{}
	for _, a := range addrs {
		shown[netip.MustParsePrefix(a.String()).Addr()] = true
	}
	if !shown[own] || len(shown) > 3 {
		t.Errorf("the interfaces show %v", shown)
	}
}

// A test that is skipped inside is skipped outside too.
func TestASkipInside(t *testing.T) {
	t.Run("the test", func(t *testing.T) {
		inside := false
		defer func() {
			if !t.Skipped() {
				t.Errorf("inside: %v; the test is not skipped", inside)
			}
		}()
		if inside = netns.Inside(t, untested.InCI()); inside {
			t.Skip("the machine lacks something")
		}
	})
}
