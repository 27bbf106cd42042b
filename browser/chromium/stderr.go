package chromium

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// stderrTail keeps the last bytes that Chromium wrote to its standard error.
type stderrTail struct {
	limit int
	src   *os.File
	done  chan struct{}

	mu   sync.Mutex
	buf  []byte
	ooms int // renderers that ran out of memory, not reported by outOfMemory yet
}

// oomMessage is what a renderer writes before it ends because it is out of memory.
const oomMessage = "V8 javascript OOM"

// outOfMemory reports, once for each, whether a renderer has run out of memory.
func (t *stderrTail) outOfMemory() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ooms == 0 {
		return false
	}
	t.ooms--
	return true
}

func (t *stderrTail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// A line may come in two parts.
	before := max(0, len(t.buf)-len(oomMessage)+1)
	t.buf = append(t.buf, b...)
	t.ooms += strings.Count(string(t.buf[before:]), oomMessage)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = slices.Delete(t.buf, 0, over)
	}
	return len(b), nil
}

func (t *stderrTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

func (t *stderrTail) fill() {
	defer close(t.done)
	io.Copy(t, t.src)
}

// close reads what is left, once all processes that could write have ended.
func (t *stderrTail) close() {
	if t.src == nil {
		return
	}
	select {
	case <-t.done:
	case <-time.After(killLimit):
	}
	t.src.Close()
	<-t.done
}

// lastLine returns the last line with a message, without the prefix of
// Chromium's log ("[1234:1234:1121/015010.1:FATAL:file.cc(1)] ").
func lastLine(s string) string {
	lines := strings.Split(s, "\n")
	for _, l := range slices.Backward(lines) {
		if _, rest, ok := strings.Cut(l, ")] "); ok && strings.HasPrefix(l, "[") {
			l = rest
		}
		l = strings.TrimSpace(l)
		if l != "" && !strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "[") {
			return clip(l)
		}
	}
	return ""
}

func lineWith(s, part string) string {
	for l := range strings.Lines(s) {
		if strings.Contains(l, part) {
			return clip(strings.TrimSpace(l))
		}
	}
	return part
}

func clip(s string) string { return protocol.Cut(s, 300) }
