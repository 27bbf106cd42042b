// Package screencast gives pictures of the selected tab of a browser context whenever it changes
// (Page.startScreencast), for recordings. It has CDP sessions of its own: it changes nothing for
// those that commands use, and a dialog does not hold it.
package screencast

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"sync"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// maxSide is the larger side of a picture, in pixels. Chromium reads the whole viewport for each, whatever its size,
// but encodes the smaller picture only.
const maxSide = 800

// The qualities of JPEG and of WebP.
const (
	jpegQuality = 50
	webpQuality = 30
)

// Chromium encodes a picture, the newest, when the one before has been acknowledged. That is done when what an action
// has changed must have been drawn and read, which Chromium does ten times a second at most, and once a second while
// nothing is done: a page may move by itself.
const (
	drawnWait = 120 * time.Millisecond
	idleWait  = time.Second
)

// Camera films the selected tab of one browser context. Any goroutine may call its methods.
type Camera struct {
	root     *cdp.Session
	life     context.Context // the browser context's
	selected func(ctx context.Context) (*cdp.Session, error)

	calling sync.Mutex   // held while the tab is changed; taken before mu
	browser *cdp.Session // attached to the browser; nil: not yet

	mu     sync.Mutex // guards all below
	show   func(protocol.Frame)
	webp   bool
	filmed target.SessionID // the tab, by the session that commands use
	cdp    *cdp.Session     // attached to it; nil: nothing is filmed
	cancel func()           // ends the subscription
	acts   bool             // something is being done to the page
	acted  time.Time        // when it had been done
	quick  bool             // what was done last followed at once on what was done before
	seen   func()           // acknowledges the newest picture; nil: it is acknowledged
	due    *time.Timer      // acknowledges it; nil: nothing does
}

// New returns a camera that films nothing. selected returns the selected tab; life ends with the browser
// context.
func New(life context.Context, root *cdp.Session, selected func(ctx context.Context) (*cdp.Session, error)) *Camera {
	return &Camera{life: life, root: root, selected: selected}
}

// Film has show called, one call at a time, with a picture of the tab that is selected now, and then with the newest
// after changes. Another tab takes the place of the one before. acts says that something is being done to the page from
// now on: it has no picture before Film is called again without acts, and one soon after that.
// With webp the pictures are WebP, which takes four times as long to encode as JPEG.
func (f *Camera) Film(ctx context.Context, webp, acts bool, show func(protocol.Frame)) error {
	f.calling.Lock()
	defer f.calling.Unlock()
	tab, err := f.selected(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	same := f.cdp != nil && f.filmed == tab.ID() && f.webp == webp
	f.show, f.webp = show, webp
	f.turn(acts)
	f.mu.Unlock()
	if same {
		return nil
	}
	f.end()
	own, err := f.attach(ctx, tab)
	if err != nil {
		return err
	}
	frames, cancel := own.Subscribe("Page.screencastFrame")
	f.mu.Lock()
	f.filmed, f.cdp, f.cancel = tab.ID(), own, cancel
	f.mu.Unlock()
	go f.take(own, frames)
	start(own, webp)
	return nil
}

// turn begins something that is done to the page, or ends it. The caller holds mu.
func (f *Camera) turn(acts bool) {
	switch {
	case acts && !f.acts:
		f.acknowledge(-1)
		if f.quick = time.Since(f.acted) < drawnWait; f.quick { // what was done before has its picture now
			f.acknowledge(0)
		}
	case !acts && f.acts:
		f.acted = time.Now()
		f.acknowledge(drawnWait)
		if f.quick { // the next one would come first, and wait for the picture
			f.acknowledge(0)
		}
	}
	f.acts = acts
}

// acknowledge has the newest picture acknowledged after wait; negative: not yet. The caller holds mu.
func (f *Camera) acknowledge(wait time.Duration) {
	if f.due != nil {
		f.due.Stop()
		f.due = nil
	}
	if f.seen != nil && wait >= 0 {
		f.due = time.AfterFunc(wait, f.seen)
	}
}

// attach attaches to a tab a second time. It does so in a session with the browser of its own, whose
// events nobody listens to: to the first one it would look like a new tab.
func (f *Camera) attach(ctx context.Context, tab *cdp.Session) (*cdp.Session, error) {
	if f.browser == nil {
		r, err := cdproto.Call(ctx, f.root, target.AttachToBrowserTarget, cdproto.Empty{})
		if err != nil {
			return nil, err
		}
		f.browser = f.root.Conn().Session(r.SessionID)
		context.AfterFunc(f.life, func() {
			f.root.Send(target.DetachFromTarget.Method, target.DetachFromTargetParams{SessionID: r.SessionID})
		})
	}
	is, err := cdproto.Call(ctx, tab, target.GetTargetInfo, target.GetTargetInfoParams{})
	if err != nil {
		return nil, err
	}
	r, err := cdproto.Call(ctx, f.browser, target.AttachToTarget, target.AttachToTargetParams{TargetID: is.TargetInfo.TargetID, Flatten: new(true)})
	if err != nil {
		return nil, err
	}
	return f.root.Conn().Session(r.SessionID), nil
}

// start has Chromium make a picture now, and the newest whenever one has been acknowledged.
func start(s *cdp.Session, webp bool) {
	format, q, side := page.StartScreencastFormat("jpeg"), int64(jpegQuality), int64(maxSide)
	if webp {
		format, q = "webp", webpQuality // which the protocol does not list, and both builds of Chromium take
	}
	s.Send(page.StartScreencast.Method, page.StartScreencastParams{Format: format, Quality: &q, MaxWidth: side, MaxHeight: side, MaxFramesInFlight: 1, SendLastFrame: new(true)})
}

// EndFilm ends it. The last picture may be shown while it returns.
func (f *Camera) EndFilm() {
	f.calling.Lock()
	defer f.calling.Unlock()
	f.end()
}

func (f *Camera) end() {
	f.mu.Lock()
	f.acknowledge(-1)
	own, cancel := f.cdp, f.cancel
	f.cdp, f.cancel, f.filmed, f.seen = nil, nil, "", nil
	f.mu.Unlock()
	if own == nil {
		return
	}
	cancel()
	f.browser.Send(target.DetachFromTarget.Method, target.DetachFromTargetParams{SessionID: own.ID()})
}

// frame is Page.screencastFrame.
type frame struct {
	Data      string `json:"data"`
	SessionID int64  `json:"sessionId"`
	Metadata  struct {
		DeviceWidth  float64 `json:"deviceWidth"`
		DeviceHeight float64 `json:"deviceHeight"`
	} `json:"metadata"`
}

// take shows the pictures that come, until the tab is filmed no longer.
func (f *Camera) take(own *cdp.Session, frames <-chan jsonv2.Value) {
	var last []byte
	for params := range frames {
		var e frame
		if json.Unmarshal(params, &e) != nil {
			continue
		}
		image, err := base64.StdEncoding.DecodeString(e.Data)
		f.mu.Lock()
		show := f.show
		if f.cdp == own {
			f.came(func() {
				own.Send(page.ScreencastFrameAck.Method, page.ScreencastFrameAckParams{SessionID: e.SessionID})
			})
		}
		if f.cdp != own || err != nil || bytes.Equal(image, last) { // nothing to see has changed
			show = nil
		}
		f.mu.Unlock()
		if show != nil {
			last = image
			show(protocol.Frame{At: time.Now(), Image: image, Width: int(e.Metadata.DeviceWidth), Height: int(e.Metadata.DeviceHeight)})
		}
	}
}

// came notes that a picture has come, and when it is acknowledged. The caller holds mu.
func (f *Camera) came(acknowledge func()) {
	f.seen = sync.OnceFunc(acknowledge)
	switch wait := drawnWait - time.Since(f.acted); {
	case f.acts:
		f.acknowledge(-1)
	case wait > 0:
		f.acknowledge(wait)
	default:
		f.acknowledge(idleWait)
	}
}
