package chromium

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// sandboxOf returns the state of the sandbox of the browser with that pid, from
// /proc: "on" if each renderer has a seccomp filter and namespaces of its own and is
// not root, "unknown" if there is no renderer, otherwise what is missing.
func sandboxOf(browser int) string {
	verdict := "unknown"
	for _, pid := range pids() {
		s, err := readStat(pid)
		if err != nil || s.group != browser || s.state == "Z" || !slices.Contains(cmdline(pid), "--type=renderer") {
			continue
		}
		missing, err := sandboxDefects(pid, browser)
		if err != nil {
			continue // ended meanwhile
		}
		if len(missing) > 0 && justStarted(pid) {
			continue
		}
		if len(missing) > 0 {
			return "off: a renderer " + strings.Join(missing, ", ")
		}
		verdict = "on"
	}
	return verdict
}

// justStarted reports whether a process is so new that it may not have entered its
// sandbox yet. A renderer does so before it reads anything of a page.
func justStarted(pid int) bool {
	fi, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return err == nil && time.Since(fi.ModTime()) < 5*time.Second
}

// sandboxDefects lists what is missing in the sandbox of a renderer of that browser.
func sandboxDefects(pid, browser int) (missing []string, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil, err
	}
	for l := range strings.Lines(string(status)) {
		f := strings.Fields(l)
		switch {
		case len(f) >= 2 && f[0] == "Uid:" && f[1] == "0":
			missing = append(missing, "runs as root")
		case len(f) >= 2 && f[0] == "Seccomp:" && f[1] != "2":
			missing = append(missing, "has no seccomp filter")
		}
	}
	for _, ns := range []string{"pid", "net"} {
		its, err1 := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, ns))
		// In a jail the browser's is not browserd's.
		whole, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", browser, ns))
		if err1 == nil && err2 == nil && whole == its {
			missing = append(missing, "shares the "+ns+" namespace of the browser")
		}
	}
	return missing, nil
}
