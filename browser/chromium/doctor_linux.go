package chromium

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// minFree is the free space that profiles need: each browser writes some tens
// of MB, more with shared memory in files.
const minFree = 512 << 20

// machineChecks tests what Chromium needs of the system.
func machineChecks(cfg Config) []Check {
	var list []Check
	owner, err := processOwner(cfg)
	switch {
	case err != nil:
		list = append(list, failed("user", "set browser.run_as to an unprivileged user", "browser.run_as: %v", err))
		return list
	case owner != nil:
		list = append(list, passed("user", "browserd is root; Chromium runs as %v", owner))
	case cfg.RunAs != "":
		list = append(list, warned("user", "leave browser.run_as empty, or start browserd as root", "browser.run_as has no effect: browserd is not root, so Chromium runs as the same user"))
	default:
		list = append(list, passed("user", "Chromium runs as browserd's user (uid %d)", os.Getuid()))
	}
	list = append(list, namespaceCheck(), temporaryCheck(owner), memoryCheck())
	return list
}

// namespaceCheck reads the switches of unprivileged user namespaces, on which
// Chromium's sandbox depends (or on its setuid helper). Whether the sandbox is on is
// the check "sandbox".
func namespaceCheck() Check {
	const name = "user namespaces"
	read := func(path string) string {
		b, _ := os.ReadFile(path)
		return strings.TrimSpace(string(b))
	}
	switch {
	case filtered():
		return failed(name, sandboxRemedy(), "forbidden by a seccomp filter")
	case read("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		return warned(name, "sysctl -w kernel.unprivileged_userns_clone=1, or install chromium-sandbox", "switched off by kernel.unprivileged_userns_clone=0: the sandbox needs Chromium's setuid helper then")
	case read("/proc/sys/user/max_user_namespaces") == "0":
		return warned(name, "sysctl -w user.max_user_namespaces=10000, or install chromium-sandbox", "switched off by user.max_user_namespaces=0: the sandbox needs Chromium's setuid helper then")
	case read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
		return warned(name, "give Chromium's program an AppArmor profile that allows userns, or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0", "restricted by AppArmor to programs with a profile that allows them")
	case read("/proc/self/setgroups") == "" && read("/proc/self/uid_map") == "":
		return warned(name, "use a kernel with CONFIG_USER_NS, or install chromium-sandbox", "this kernel has none")
	}
	return passed(name, "allowed")
}

func temporaryCheck(owner *account) Check {
	const name = "temporary directory"
	dir, err := profileBase(owner)
	if err != nil {
		return failed(name, "mount a writable /tmp that Chromium's user may enter", "%v", err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err == nil && st.Bavail*uint64(st.Bsize) < minFree {
		return warned(name, "make room in "+dir, "%s has %d MB left", dir, st.Bavail*uint64(st.Bsize)>>20)
	}
	return passed(name, "%s", dir)
}

func memoryCheck() Check {
	const name = "shared memory"
	size, ok := sharedMemory()
	if !ok {
		return warned(name, "mount a tmpfs of 1 GiB on /dev/shm (docker: --shm-size=1g)", "/dev/shm cannot be written to: files in the temporary directory are used, which is slower")
	}
	if smallSharedMemory() {
		return warned(name, "give /dev/shm 1 GiB (docker: --shm-size=1g)", "/dev/shm has %d MB: files in the temporary directory are used, which is slower", size>>20)
	}
	return passed(name, "/dev/shm has %d MB", size>>20)
}
