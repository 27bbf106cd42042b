//go:build linux && (amd64 || arm64)

package contain

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/internal/untested"
)

// Names (argv[0]) under which the tests' program starts a child and does nothing more, and is
// that child.
const (
	parentName  = "contained-parent"
	sleeperName = "contained-sleeper"
)

// parent starts a child as the daemon starts that of a script, and writes its process number.
func parent(bare bool) {
	child := exec.Command("/proc/self/exe")
	child.Args, child.SysProcAttr = []string{sleeperName}, Attr(bare)
	if err := Start(child); err != nil {
		fmt.Println("contain:", err)
		return
	}
	fmt.Println(child.Process.Pid)
	select {}
}

// A child ends with the program that started it, also if that is killed while the child is
// stopped, or while it is being stopped, and also where a process of the same terminal session
// adopts it, as a container's init or a supervisor does.
func TestAChildEndsWithItsParent(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	for _, mode := range []string{"namespaces", "bare"} {
		for _, awaited := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, stopped before: %t", mode, awaited), func(t *testing.T) {
				p := exec.Command("/proc/self/exe")
				p.Args = []string{parentName, mode}
				out, err := p.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Start(); err != nil {
					t.Fatal(err)
				}
				line, err := bufio.NewReader(out).ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				var child int
				if _, err := fmt.Sscan(line, &child); err != nil {
					p.Process.Kill()
					p.Wait()
					if mode == "namespaces" {
						untested.Missing(t, "no namespaces here: %s", line)
					}
					t.Fatalf("%v: %s", err, line)
				}
				defer unix.Kill(child, unix.SIGKILL)
				if err := Stop(child); err != nil {
					t.Fatal(err)
				}
				for end := time.Now().Add(10 * time.Second); awaited && stateOf(t, child) != "T"; time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("it is not stopped: %s", stateOf(t, child))
					}
				}
				p.Process.Kill()
				p.Wait()
				for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
					if got, _ := unix.Wait4(child, nil, unix.WNOHANG, nil); got == child {
						break
					}
					if time.Now().After(end) {
						t.Fatalf("the child is still there: %s", stateOf(t, child))
					}
				}
			})
		}
	}
}

// stateOf returns the state of a process, a letter of proc_pid_stat(5).
func stateOf(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[0]
}
