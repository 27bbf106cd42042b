package attach

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listens returns an error unless the process that uses the directory listens on the port of 127.0.0.1:
// the file may be of a Chromium that has ended, and its port another program's by now.
func listens(dir, port string) error {
	pid, err := lockHolder(dir)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	table, err := os.ReadFile("/proc/" + pid + "/net/tcp")
	if err != nil {
		return fmt.Errorf("no Chromium has %s open", dir)
	}
	sockets, err := filepath.Glob("/proc/" + pid + "/fd/*")
	if err != nil {
		return err
	}
	owned := map[string]bool{}
	for _, fd := range sockets {
		if to, err := os.Readlink(fd); err == nil {
			owned[to] = true
		}
	}
	want := fmt.Sprintf("0100007F:%04X", n)
	for line := range strings.Lines(string(table)) {
		// sl, local address, remote address, state (0A: listens), …, inode as the tenth
		if f := strings.Fields(line); len(f) > 9 && f[1] == want && f[3] == "0A" && owned["socket:["+f[9]+"]"] {
			return nil
		}
	}
	return fmt.Errorf("the Chromium that has %s open does not listen on port %s: another program may", dir, port)
}
