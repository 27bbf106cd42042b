package network

import (
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// How much of a session's console and network is kept; the oldest goes first.
const (
	maxConsole     = 500     // entries
	maxConsoleText = 2000    // characters of one entry, and of its URL
	maxEventBytes  = 2 << 20 // of network events
	maxEvents      = 5000
)

// Log keeps what the pages of one browser context wrote to the console and asked
// of the network. Entries and events share one count, from which a client asks for
// what is new. The zero value is ready for use.
//
// A network event is kept as it came and decoded when a client asks. Events older
// than the last maxBlockBytes are compressed.
//
// Any goroutine may call its methods.
type Log struct {
	mu         sync.Mutex // guards all below; held briefly, and never while a call is made
	console    []protocol.Console
	blocks     []*block // the oldest first
	events     []event  // newer than the blocks
	newBytes   int      // of events
	eventCount int      // of blocks and events together
	bytes      int      // of the same, uncompressed
	last       int      // number of the newest entry or event
}

// event is one CDP event of the Network domain.
type event struct {
	number int
	tab    string
	cdp    *cdp.Session
	method string
	params jsonv2.Value
}

// recorded are the events that Record keeps.
var recorded = map[string]bool{
	"Network.requestWillBeSent": true, "Network.requestWillBeSentExtraInfo": true,
	"Network.responseReceived": true, "Network.responseReceivedExtraInfo": true,
	"Network.requestServedFromCache": true, "Network.loadingFinished": true, "Network.loadingFailed": true,
}

// Record keeps an event that a tab's CDP session sent, if it belongs to the
// network log. It keeps params.
func (l *Log) Record(tab string, s *cdp.Session, method string, params jsonv2.Value) {
	if !recorded[method] {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.events = append(l.events, event{l.last, tab, s, method, params})
	l.eventCount++
	l.newBytes += len(params)
	l.bytes += len(params)
	if l.newBytes >= maxBlockBytes || len(l.events) >= maxBlockEvents {
		b := &block{events: l.events, bytes: l.newBytes}
		l.blocks = append(l.blocks, b)
		l.events, l.newBytes = nil, 0
		go b.compress(&l.mu)
	}
	for len(l.blocks) > 0 && (l.eventCount > maxEvents || l.bytes > maxEventBytes) {
		l.eventCount -= len(l.blocks[0].events)
		l.bytes -= l.blocks[0].bytes
		l.blocks[0] = nil // the array below still refers to it
		l.blocks = l.blocks[1:]
	}
}

// Write keeps a line of the console. kind is CDP's (Runtime.consoleAPICalled),
// "exception" or "warning"; line counts from 1, 0 if it is unknown.
func (l *Log) Write(tab, kind, text, url string, line int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	if len(l.console) >= maxConsole {
		l.console = l.console[1:]
	}
	l.console = append(l.console, protocol.Console{
		ID: l.last, Time: time.Now().UTC(), Tab: tab, Kind: kind, Text: protocol.Cut(text, maxConsoleText), URL: protocol.Cut(url, maxConsoleText), Line: line,
	})
}

// Console returns the console's lines that fit q, oldest first, with secrets
// masked, and the number to ask from next time.
func (l *Log) Console(q protocol.Watching) ([]protocol.Console, int) {
	l.mu.Lock()
	all := append([]protocol.Console{}, l.console...)
	next := l.last
	l.mu.Unlock()
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
