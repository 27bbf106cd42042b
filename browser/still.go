package browser

import (
	"bytes"
	"context"
	"crypto/rand"
	"reflect"
	"strconv"
	"sync"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"

	"github.com/browserd/browserd/browser/script"
)

// still is what is known of the last walk of a document, for the next one. Where nothing
// was done to the page and nothing was heard of it, the script is asked whether what it can
// see of the document is as it was, and Chromium sends how often Blink has worked out
// styles and layouts (script/js/unchanged.js).
type still struct {
	stirs   int64              // the tab's, before it
	options script.WalkOptions // those of the document and not of the walk left out
	counted counted            // behind it, where the script has noted what it rests upon
	// restless: the page was taken for what it was, and its styles or layouts were others,
	// as those of one that is animated are each time. It is asked again when two counts in a
	// row are the same.
	restless bool
	enabled  bool // Chromium sends counts
}

// counted is how often Blink has worked out styles and layouts, of all documents of a
// target together: of a container query it works out the styles while it lays out.
type counted struct {
	known           bool
	styles, layouts float64
}

// eventCounted brings a count (script/js/unchanged.js).
const eventCounted = "Performance.metrics"

// walk walks the document, or tells again what the last walk found where all is as it was.
func (d *document) walk(ctx context.Context, o script.WalkOptions) (walked, error) {
	last, s, t := d.marks.still, &d.marks.still, d.frame.tab
	*s = still{stirs: t.stirs.Load(), options: o, enabled: last.enabled}
	s.options.Capture = 0
	alike := o.After == 0 && o.Scope == 0 && o.Selector == "" && last.stirs == s.stirs && reflect.DeepEqual(last.options, s.options)
	title := ours + strconv.Itoa(d.doc)
	if !alike || !t.counts.await(d.cdp, title, !s.enabled) {
		raw, err := d.askWalk(ctx, o)
		if err != nil {
			return walked{}, err
		}
		return d.readWalk(raw, o.Capture)
	}
	defer t.counts.forget(title)
	s.enabled = true
	o.Note, o.Unchanged = title, last.counted.known && !last.restless
	raw, err := d.askWalk(ctx, o)
	count := t.counts.got(title)
	s.restless = count != last.counted && (last.restless || raw == script.Unchanged)
	if err == nil && raw == script.Unchanged {
		if !s.restless {
			s.counted = count
			return decodeWalk(d.doc, d.marks.answer)
		}
		o.Unchanged = false
		raw, err = d.askWalk(ctx, o)
		count = t.counts.got(title)
	}
	if err != nil {
		return walked{}, err
	}
	got, err := d.readWalk(raw, o.Capture)
	if d.marks.answer.look != 0 { // it is kept
		s.counted = count
	}
	return got, err
}

// counts are the counts that are awaited, by their titles, and the targets to which nobody
// listens: their pages call console.timeStamp themselves, as React does for each component,
// and each call is an event of 1.4 kB where somebody listens.
type counts struct {
	mu      sync.Mutex
	awaited map[string]counted
	busy    map[target.SessionID]bool
}

// ours begins each title; a page cannot guess it.
var ours = "browserd " + rand.Text() + " "

// await begins to await the count with that title, which is for got and forget, unless the
// target is one to which nobody listens. enable has Chromium send counts from now on.
func (c *counts) await(s *cdp.Session, title string, enable bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[s.ID()] {
		return false
	}
	if c.awaited == nil {
		c.awaited = map[string]counted{}
	}
	c.awaited[title] = counted{}
	if enable {
		s.Send(performance.Enable.Method, cdproto.Empty{})
	}
	return true
}

// got returns the last count of that title, if one has come.
func (c *counts) got(title string) counted {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.awaited[title]
}

func (c *counts) forget(title string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.awaited, title)
}

// listenAgain says that the target has another document, or has gone.
func (c *counts) listenAgain(id target.SessionID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, id)
}

// counted takes what eventCounted says, on the reader goroutine: it comes before the answer
// to the walk.
func (t *tab) counted(s *cdp.Session, params jsonv2.Value) {
	c := &t.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Contains(params, []byte(ours)) {
		for title := range c.awaited {
			if bytes.Contains(params, []byte(`"`+title+`"`)) {
				styles, ok := metric(params, "RecalcStyleCount")
				layouts, both := metric(params, "LayoutCount")
				c.awaited[title] = counted{ok && both, styles, layouts}
			}
		}
		return
	}
	if c.busy[s.ID()] {
		return
	}
	if c.busy == nil {
		c.busy = map[target.SessionID]bool{}
	}
	c.busy[s.ID()] = true
	s.Send(performance.Disable.Method, cdproto.Empty{})
}

// metric reads {"name":NAME,"value":NUMBER} in an event of some 40 of them.
func metric(params []byte, name string) (float64, bool) {
	_, rest, found := bytes.Cut(params, []byte(`"`+name+`","value":`))
	end := bytes.IndexByte(rest, '}')
	if !found || end < 0 {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(rest[:end]), 64)
	return v, err == nil
}
