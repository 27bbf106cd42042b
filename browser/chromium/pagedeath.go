package chromium

import (
	"fmt"
	"slices"
	"time"
)

// limitSignal is the signal (SIGUSR1) that ends a process which took too much memory.
// Nothing else sends it to Chromium's processes, so that the errorCode of
// Target.targetCrashed distinguishes this from every other death.
const limitSignal = 10

// diedOfLimit reports whether the errorCode of Target.targetCrashed is that of
// limitSignal: a wait status (wait(2)), of the process itself or, inside the
// sandbox's process namespace, of its init, which exits with minus the signal.
func diedOfLimit(errorCode int) bool {
	return errorCode == limitSignal || errorCode == (256-limitSignal)<<8
}

// ReasonMemory is details.reason of page_crashed if the memory watch ended the page.
const ReasonMemory = "memory"

// PageDeath returns, as a word and as a sentence, why the process of a page died. Its
// parameters are the fields of Target.targetCrashed; it also uses Chromium's standard
// error. The word is memory, oom, or Chromium's status: crashed, killed or one that a
// newer Chromium adds. p may be nil.
func (p *Process) PageDeath(status string, errorCode int) (reason, sentence string) {
	switch {
	case p == nil:
	case diedOfLimit(errorCode) && p.pageMemoryMB > 0:
		return ReasonMemory, fmt.Sprintf("it took more memory than browser.page_memory_mb allows (%d MiB)", p.pageMemoryMB)
	case p.stderr.outOfMemory():
		return "oom", "it ran out of memory"
	}
	return status, fmt.Sprintf("Chromium says %s, %d", status, errorCode)
}

// FailedLaunches are the times of the last renderer processes that Chromium failed to launch. One goroutine uses it.
type FailedLaunches []time.Time

// Add takes the status of Target.targetCrashed, and reports whether Chromium cannot start renderer processes any more:
// its zygote, which forks them, may have died when the machine had no processes or memory left, and Chromium never
// starts another.
func (f *FailedLaunches) Add(status string) bool {
	const within, times = 30 * time.Second, 8
	if status != "failed to launch" {
		return false
	}
	now := time.Now()
	*f = append(slices.DeleteFunc(*f, func(at time.Time) bool { return now.Sub(at) > within }), now)
	return len(*f) >= times
}
