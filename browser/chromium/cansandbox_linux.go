package chromium

import (
	"os"

	"golang.org/x/sys/unix"
)

// CanSandbox returns an error where Chromium cannot set up its sandbox, as far as
// that can be known without starting it: a seccomp filter around browserd, which
// containers have by default. The error has the code chromium_unavailable and the
// next step. CanSandbox returns nil if nothing is known to prevent the sandbox, or
// where it is switched off. It starts nothing and takes microseconds.
func CanSandbox(cfg Config) error {
	if cfg.UnsafeNoSandbox || !filtered() {
		return nil
	}
	return unavailable(sandboxRemedy(), "Chromium's sandbox needs namespaces, and a seccomp filter forbids them here")
}

// filtered reports whether a seccomp filter forbids user namespaces. The kernel
// refuses to move a process with threads, as every Go program is, into one with
// EINVAL (unshare(2)); a filter answers before the kernel does, with another error.
func filtered() bool {
	return unix.Unshare(unix.CLONE_NEWUSER) != unix.EINVAL
}

// sandboxRemedy returns the next step where the sandbox cannot be set up.
func sandboxRemedy() string {
	switch {
	case inContainer() && filtered():
		return "add --security-opt seccomp=seccomp.json to docker run, with the profile that is in the image (docker run --rm --entrypoint cat IMAGE /usr/share/browserd/seccomp.json > seccomp.json)"
	case filtered():
		return "allow clone, setns, unshare and chroot in the seccomp filter of browserd's service (systemd: RestrictNamespaces=no)"
	case inContainer():
		return "allow unprivileged user namespaces on the container's host (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns); browserd doctor says which"
	}
	return "allow unprivileged user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile); browserd doctor says which"
}

// inContainer looks for the files of Docker and Podman and the variable of Kubernetes.
func inContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return os.Getenv("KUBERNETES_SERVICE_HOST") != ""
}
