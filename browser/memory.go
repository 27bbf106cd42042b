package browser

import "fmt"

// limitSignal is what ends a process that took too much memory: nothing else
// sends it to Chromium's processes, so that Target.targetCrashed, which says
// of what a page died, tells this from every other death. It is SIGUSR1.
const limitSignal = 10

// endedByUs tells whether the errorCode of Target.targetCrashed is that of
// limitSignal: a wait status (wait(2)), of the process itself or, inside the
// sandbox's process namespace, of its init, which exits with minus the signal.
func endedByUs(errorCode int) bool {
	return errorCode == limitSignal || errorCode == (256-limitSignal)<<8
}

// reasonMemory is details.reason of page_crashed where limitSignal ended the page.
const reasonMemory = "memory"

// deathOf says in a word and in a sentence why a page's process died, from
// what Target.targetCrashed says and what Chromium said on its way out. The word
// is memory, oom, crashed or killed, or one of a newer Chromium's.
func (h *host) deathOf(e targetCrashed) (reason, sentence string) {
	switch {
	case endedByUs(e.ErrorCode) && h.memoryLimit > 0:
		return reasonMemory, fmt.Sprintf("it took more memory than browser.page_memory_mb allows (%d MiB)", h.memoryLimit)
	case h.words.oom():
		return "oom", "it ran out of memory"
	}
	return e.Status, fmt.Sprintf("Chromium says %s, %d", e.Status, e.ErrorCode)
}
