package testpostgres

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Freeze stops all processes of the server where they are, so that it accepts connections
// and answers nothing, until Thaw or the test's end: a server that is stopped does not end.
func (s *Server) Freeze(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGSTOP)
	t.Cleanup(func() {
		if s.cmd != nil {
			s.Thaw(t)
		}
	})
}

// Thaw has them go on.
func (s *Server) Thaw(t testing.TB) { s.signal(t, syscall.SIGCONT) }

// signal sends a signal to the server and then to its processes, which it starts no more of
// once it is stopped.
func (s *Server) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		behind := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if behind[1] == strconv.Itoa(s.cmd.Process.Pid) {
			syscall.Kill(pid, sig)
		}
	}
}
