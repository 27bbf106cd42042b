package chromium

import (
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/protocol"
)

// Behind a filter as containers have it by default, Chromium is not tried: the
// error says what to add, and nothing is started without the sandbox.
func TestASeccompFilterIsExplained(t *testing.T) {
	if err := CanSandbox(Config{}); err != nil {
		t.Fatalf("without a filter: %v", err)
	}
	var open, shut, check error
	var checked Check
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with its filter
		if open = forbidUnshare(); open != nil {
			return
		}
		check = CanSandbox(Config{})
		checked = namespaceCheck()
		open = CanSandbox(Config{UnsafeNoSandbox: true})
		_, _, shut = spawn(Config{Headless: true}, Found{Path: "/nonexistent/chromium"}, slog.New(slog.DiscardHandler))
	}()
	<-done
	if open != nil {
		t.Error(open)
	}
	for name, err := range map[string]error{"CanSandbox": check, "spawn": shut} {
		e, ok := err.(*protocol.Error)
		if !ok || e.Code != protocol.ChromiumUnavailable || !strings.Contains(e.Message, "a seccomp filter forbids") || !strings.Contains(e.Next, "seccomp") {
			t.Errorf("%s: %+v", name, err)
		}
	}
	if checked.Level != LevelFail || !strings.Contains(checked.Remedy, "seccomp") {
		t.Errorf("doctor: %+v", checked)
	}
}

// forbidUnshare puts the calling thread behind a seccomp filter that answers
// unshare with EPERM.
func forbidUnshare() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_UNSHARE},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
