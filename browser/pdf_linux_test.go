package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Whenever the page's process is killed while it is printed, that is what is said:
// Chromium says "Printing failed" of it, before it tells why.
func TestPDFOfAPageThatDies(t *testing.T) {
	t.Parallel()
	s := newStageApart(t)
	page := strings.Repeat("<p>A line of a long page.</p>", 5000)
	for after := time.Duration(0); after < 240*time.Millisecond; after += 30 * time.Millisecond {
		v := s.open(t, page)
		done := make(chan error, 1)
		go func() {
			_, err := v.c.PDF(limit(t, 20*time.Second), protocol.PDF{})
			done <- err
		}()
		select { // at each stage of the printing, of which no event tells
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		case <-time.After(after):
		}
		for _, pid := range descendants(s.b.chromium.Info().PID) {
			if args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(string(args), "--type=renderer") {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if err := <-done; err != nil && protocol.CodeOf(err) != protocol.PageCrashed {
			t.Errorf("killed after %v: %v", after, err)
		}
		v.c.Close(limit(t, 5*time.Second))
	}
}

// descendants lists the processes below pid.
func descendants(pid int) (list []int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range threads {
		children, _ := os.ReadFile(t)
		for _, c := range strings.Fields(string(children)) {
			if id, err := strconv.Atoi(c); err == nil {
				list = append(append(list, id), descendants(id)...)
			}
		}
	}
	return list
}
