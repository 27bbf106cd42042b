package browser

import (
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// A page decides how often some events happen. Of these a context tells so
// many in a second; what is beyond is left out, so that a page that floods
// does not get its own client cut off.
const eventsPerSecond = 50

// byPage are the events that a page can cause without end.
var byPage = map[string]bool{
	protocol.EventConsoleError: true, protocol.EventNavigated: true, protocol.EventTabOpened: true,
	protocol.EventTabClosed: true, protocol.EventDownload: true, protocol.EventDialog: true, protocol.EventPageCrashed: true,
	protocol.EventPolicyDenied: true,
}

// limited returns emit without the events beyond eventsPerSecond.
func limited(emit func(typ string, fields map[string]any)) func(typ string, fields map[string]any) {
	var mu sync.Mutex
	var second time.Time
	told := 0
	return func(typ string, fields map[string]any) {
		if byPage[typ] {
			mu.Lock()
			if now := time.Now(); now.Sub(second) > time.Second {
				second, told = now, 0
			}
			told++
			over := told > eventsPerSecond
			mu.Unlock()
			if over {
				return
			}
		}
		emit(typ, fields)
	}
}
