package browser

import (
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Of what a session's pages said and asked for, so much is kept; the oldest
// goes first.
const (
	consoleKept  = 500     // entries
	consoleText  = 2000    // characters of one
	networkKept  = 2 << 20 // bytes of events
	networkCount = 5000    // events
)

// recorder keeps the console and the network of a context, guarded by its mu.
// An event of the network is kept as it came: it is decoded when somebody asks.
// Those that are not of the last blockSize bytes are kept packed.
type recorder struct {
	console []protocol.Console
	blocks  []*block   // the oldest first
	events  []netEvent // behind them
	fresh   int        // bytes of events
	count   int        // events of the blocks and events together
	bytes   int        // of the same, unpacked
	number  int        // of the last entry or event
}

type netEvent struct {
	number int
	tab    *tab
	cdp    *cdp.Session
	method string
	params jsonv2.Value
}

// recorded are the events of the network that are kept.
var recorded = map[string]bool{
	"Network.requestWillBeSent": true, "Network.requestWillBeSentExtraInfo": true,
	"Network.responseReceived": true, "Network.responseReceivedExtraInfo": true,
	"Network.requestServedFromCache": true, "Network.loadingFinished": true, "Network.loadingFailed": true,
}

// record keeps an event of the network; the caller holds mu.
func (r *recorder) record(t *tab, s *cdp.Session, method string, params jsonv2.Value, mu sync.Locker) {
	r.number++
	r.events = append(r.events, netEvent{r.number, t, s, method, params})
	r.count++
	r.fresh += len(params)
	r.bytes += len(params)
	if r.fresh >= blockSize || len(r.events) >= blockCount {
		b := &block{events: r.events, bytes: r.fresh}
		r.blocks = append(r.blocks, b)
		r.events, r.fresh = nil, 0
		go b.pack(mu)
	}
	for len(r.blocks) > 0 && (r.count > networkCount || r.bytes > networkKept) {
		r.count -= len(r.blocks[0].events)
		r.bytes -= r.blocks[0].bytes
		r.blocks[0] = nil // the array under it lives on
		r.blocks = r.blocks[1:]
	}
}

// say keeps an entry of the console; the caller holds mu.
func (r *recorder) say(t *tab, kind, text, url string, line int) {
	r.number++
	text = protocol.Cut(text, consoleText)
	if len(r.console) >= consoleKept {
		r.console = r.console[1:]
	}
	r.console = append(r.console, protocol.Console{
		ID: r.number, Time: time.Now().UTC(), Tab: t.name, Kind: kind, Text: text, URL: url, Line: line,
	})
}

// Console returns what the pages of the session wrote to the console, oldest
// first, and the number to ask from next time. Any goroutine may call it.
func (c *Context) Console(q protocol.Watching) ([]protocol.Console, int) {
	c.mu.Lock()
	all := append([]protocol.Console{}, c.recorder.console...)
	next := c.recorder.number
	c.mu.Unlock()
	list := []protocol.Console{}
	for _, e := range all {
		if e.ID > q.Since && (q.Kind == "" || q.Kind == e.Kind) && contains(e.Text, q.Filter) {
			list = append(list, e)
		}
	}
	list = newest(list, q.Limit)
	for i, e := range list {
		list[i].Text, list[i].URL = protocol.MaskText(e.Text), protocol.MaskURL(e.URL)
	}
	return list, next
}

func contains(text, part string) bool {
	return part == "" || strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

func newest[T any](list []T, n int) []T {
	if n > 0 && len(list) > n {
		return list[len(list)-n:]
	}
	return list
}
