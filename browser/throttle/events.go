package throttle

import (
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// eventsPerSecond is how many of the events that a page can cause a context emits in
// a second. The rest is dropped, so that the server does not disconnect a client for
// what a page does.
const eventsPerSecond = 50

// byPage are the events that a page can cause without end.
var byPage = map[string]bool{
	protocol.EventConsoleError: true, protocol.EventNavigated: true, protocol.EventTabOpened: true,
	protocol.EventTabClosed: true, protocol.EventDownload: true, protocol.EventDialog: true, protocol.EventPageCrashed: true,
	protocol.EventPolicyDenied: true,
}

// Events returns emit without the events over eventsPerSecond. Any goroutine may call it.
func Events(emit func(typ string, fields map[string]any)) func(typ string, fields map[string]any) {
	var mu sync.Mutex
	var second time.Time
	emitted := 0
	return func(typ string, fields map[string]any) {
		if byPage[typ] {
			mu.Lock()
			if now := time.Now(); now.Sub(second) > time.Second {
				second, emitted = now, 0
			}
			emitted++
			over := emitted > eventsPerSecond
			mu.Unlock()
			if over {
				return
			}
		}
		emit(typ, fields)
	}
}
