package person

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"sync"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/browser/cdp"
)

// Frame is what a tab looks like after a change.
type Frame struct {
	JPEG []byte
	// Width and Height are of the part of the page that is shown, in the CSS pixels in which input is
	// given. The picture may be smaller, or larger.
	Width, Height float64
	Number        int // from 1; a larger one is newer
}

// Size is the largest frame that a viewer can use, in pixels.
type Size struct{ Width, Height int64 }

// The sizes of frames: of a card among others, and of the one page that is shown large.
var (
	Card  = Size{640, 360}
	Whole = Size{1280, 1600}
)

// cardBytes is how many bytes a frame of a card may have.
const cardBytes = 9 << 10

// qualities are the JPEG qualities to try, the first one first: the next one is used when a
// card's frame is larger than cardBytes. Measured at 640×360: a form 4.8 KB with 45, a page full of
// small print 36 KB with 45, 21 with 20 and 7 with 5.
func (s Size) qualities() []int64 {
	if s == Card {
		return []int64{45, 20, 5}
	}
	return []int64{70}
}

// Tab is the screencast of one tab, and a person's input to it.
type Tab struct {
	life context.Context
	s    *cdp.Session

	mu       sync.Mutex
	viewers  map[*Viewer]bool
	size     Size // of the screencast that runs; zero: none runs
	stop     context.CancelFunc
	ended    chan struct{} // closed when the last screencast has ended; nil: there was none
	last     *Frame        // nil: none yet
	number   int
	asking   map[chan Asks]bool // of each call of Asking
	choosing *choosing          // the select that was opened last; nil: none
	chooser  int64              // the backend node of the file input whose chooser is open; 0: none
	moved    chan struct{}      // closed when the page has answered the last move, or moveWait is over; nil: there was none
}

func newTab(life context.Context, s *cdp.Session) *Tab {
	return &Tab{life: life, s: s, viewers: map[*Viewer]bool{}, asking: map[chan Asks]bool{}}
}

// Viewer watches a tab.
type Viewer struct {
	tab   *Tab
	size  Size
	fresh chan struct{} // 1: there is a frame that Next has not returned
	taken int           // the number of the frame that Next returned last
}

// Watch returns a new viewer of the tab. Close it when done. All viewers of a tab share one
// screencast, in the largest of their sizes.
func (t *Tab) Watch(size Size) *Viewer {
	v := &Viewer{tab: t, size: size, fresh: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.viewers[v] = true
	if t.last != nil && t.size.Width >= size.Width {
		v.fresh <- struct{}{}
	}
	t.updateScreencast()
	return v
}

// Close removes the viewer. Next must not be called afterwards.
func (v *Viewer) Close() {
	v.tab.mu.Lock()
	defer v.tab.mu.Unlock()
	delete(v.tab.viewers, v)
	v.tab.updateScreencast()
}

// Next waits for a frame that it has not returned yet, and returns the newest: older ones are
// skipped. The error is ctx's or that of the tab's end.
func (v *Viewer) Next(ctx context.Context) (*Frame, error) {
	for {
		select {
		case <-v.fresh:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-v.tab.life.Done():
			return nil, context.Cause(v.tab.life)
		}
		v.tab.mu.Lock()
		f := v.tab.last
		v.tab.mu.Unlock()
		if f != nil && f.Number > v.taken {
			v.taken = f.Number
			return f, nil
		}
	}
}

// Again makes Next return the newest frame even if it did before.
func (v *Viewer) Again() {
	v.tab.mu.Lock()
	defer v.tab.mu.Unlock()
	v.taken = 0
	if v.tab.last != nil {
		select {
		case v.fresh <- struct{}{}:
		default:
		}
	}
}

// Renew starts the tab's screencast anew, so that the next frame of each viewer is of what the tab shows from now on.
func (v *Viewer) Renew() {
	t := v.tab
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop != nil {
		t.stop()
	}
	t.size, t.stop, t.last = Size{}, nil, nil
	t.updateScreencast()
}

// updateScreencast starts, restarts or stops the screencast, so that it has the largest size
// of the viewers. The caller holds mu.
func (t *Tab) updateScreencast() {
	var want Size
	for v := range t.viewers {
		if v.size.Width > want.Width {
			want = v.size
		}
	}
	if want == t.size {
		return
	}
	if t.stop != nil {
		t.stop()
	}
	t.size, t.stop = want, nil
	if want == (Size{}) {
		t.last = nil
		return
	}
	ctx, stop := context.WithCancel(t.life)
	before, ended := t.ended, make(chan struct{})
	t.stop, t.ended = stop, ended
	go func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		t.run(ctx, want)
	}()
}

// FrameEvent is the CDP event with a frame of the screencast.
const FrameEvent = "Page.screencastFrame"

// cast is what is needed of Page.screencastFrame.
type cast struct {
	Data     json.RawMessage `json:"data"`
	Metadata struct {
		Width  float64 `json:"deviceWidth"`
		Height float64 `json:"deviceHeight"`
		Scale  float64 `json:"pageScaleFactor"` // of a pinch zoom: input is given in the page's own pixels
	} `json:"metadata"`
	SessionID int64 `json:"sessionId"`
}

// run runs a screencast of the tab until ctx ends.
func (t *Tab) run(ctx context.Context, size Size) {
	events, unsubscribe := t.s.Subscribe(FrameEvent)
	defer unsubscribe()
	if ctx.Err() != nil {
		return
	}
	qualities := size.qualities()
	start := func() {
		t.s.Send(page.StartScreencast.Method, page.StartScreencastParams{
			Format: "jpeg", Quality: &qualities[0], MaxWidth: size.Width, MaxHeight: size.Height, EveryNthFrame: 1, SendLastFrame: ptr(true),
		})
	}
	start()
	defer func() { t.s.Send(page.StopScreencast.Method, struct{}{}) }()
	var before json.RawMessage
	shown := cast{}.Metadata
	for {
		var raw jsonv2.Value
		var open bool
		select {
		case raw, open = <-events:
			if !open {
				return
			}
		case <-ctx.Done():
			return
		}
		var e cast
		if cdp.Unmarshal(raw, &e) != nil {
			continue
		}
		// Acknowledged at once, not when viewers have the frame: a slow one skips frames.
		t.s.Send(page.ScreencastFrameAck.Method, page.ScreencastFrameAckParams{SessionID: e.SessionID})
		if bytes.Equal(before, e.Data) && shown == e.Metadata {
			continue // nothing changed
		}
		before, shown = bytes.Clone(e.Data), e.Metadata
		scale := cmp.Or(e.Metadata.Scale, 1)
		f := &Frame{Width: e.Metadata.Width / scale, Height: e.Metadata.Height / scale}
		if json.Unmarshal(e.Data, &f.JPEG) != nil {
			continue
		}
		if size == Card && len(f.JPEG) > cardBytes && len(qualities) > 1 {
			qualities = qualities[1:]
			t.s.Send(page.StopScreencast.Method, struct{}{})
			start()
			continue
		}
		t.show(ctx, f)
	}
}

func (t *Tab) show(ctx context.Context, f *Frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	t.number++
	f.Number = t.number
	t.last = f
	for v := range t.viewers {
		select {
		case v.fresh <- struct{}{}:
		default:
		}
	}
}

func ptr[T any](v T) *T { return &v }
