package testdaemon

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Listening lists the IPv4 addresses on which the process accepts connections,
// as the kernel knows them (proc_pid_net(5)).
func Listening(tb testing.TB, pid int) []netip.AddrPort {
	tb.Helper()
	proc := fmt.Sprintf("/proc/%d", pid)
	own := map[string]bool{}
	links, err := filepath.Glob(proc + "/fd/*")
	if err != nil {
		tb.Fatal(err)
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil {
			own[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
		}
	}
	f, err := os.Open(proc + "/net/tcp")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var list []netip.AddrPort
	for s := bufio.NewScanner(f); s.Scan(); {
		const local, state, inode, listen = 1, 3, 9, "0A"
		w := strings.Fields(s.Text())
		if len(w) <= inode || w[state] != listen || !own[w[inode]] {
			continue
		}
		addr, port, _ := strings.Cut(w[local], ":")
		b, err := hex.DecodeString(addr)
		n, perr := strconv.ParseUint(port, 16, 16)
		if err != nil || perr != nil || len(b) != 4 {
			tb.Fatalf("%s/net/tcp: %q is no address", proc, w[local])
		}
		slices.Reverse(b) // in the machine's order, which is the little end first on all that Chromium runs on
		list = append(list, netip.AddrPortFrom(netip.AddrFrom4([4]byte(b)), uint16(n)))
	}
	return list
}
