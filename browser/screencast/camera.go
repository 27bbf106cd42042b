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

// The pictures of a recording. A picture of that size costs Chromium a third of the time of one of
// the whole viewport.
const (
	maxSide = 800 // pixels
	quality = 50
	// stillQuality is that of WebP.
	stillQuality = 30
	maxStill     = 4 << 20 // pixels
)

// Chromium sends the next picture, the newest, when the one before has been acknowledged: while
// something happens ten a second, and one a second of a page that moves by itself.
const (
	busyFor  = 2 * time.Second // since the last call of Film
	busyWait = 100 * time.Millisecond
	idleWait = time.Second
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
	asked  time.Time        // when Film was called last
	late   func()           // acknowledges the newest picture, once; nil: there is none
}

// New returns a camera that films nothing. selected returns the selected tab; life ends with the browser
// context.
func New(life context.Context, root *cdp.Session, selected func(ctx context.Context) (*cdp.Session, error)) *Camera {
	return &Camera{life: life, root: root, selected: selected}
}

// Film has show called, one call at a time, with a picture of the tab that is selected now, and with one
// after each change, the newest at once. Another tab takes the place of the one before.
// With webp show is called again with each picture as WebP of the whole size, which costs eight times as much.
func (f *Camera) Film(ctx context.Context, webp bool, show func(protocol.Frame)) error {
	f.calling.Lock()
	defer f.calling.Unlock()
	tab, err := f.selected(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.asked, f.show, f.webp = time.Now(), show, webp
	same, late := f.cdp != nil && f.filmed == tab.ID(), f.late
	f.mu.Unlock()
	if same {
		if late != nil {
			late()
		}
		return nil
	}
	f.end()
	own, err := f.attach(ctx, tab)
	if err != nil {
		return err
	}
	frames, cancel := own.Subscribe("Page.screencastFrame")
	f.mu.Lock()
	f.filmed, f.cdp, f.cancel, f.late = tab.ID(), own, cancel, nil
	f.mu.Unlock()
	go f.take(own, frames)
	start(own)
	return nil
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

// start has Chromium make a picture now, and one after each change.
func start(s *cdp.Session) {
	side, q := int64(maxSide), int64(quality)
	s.Send(page.StartScreencast.Method, page.StartScreencastParams{Format: "jpeg", Quality: &q, MaxWidth: side, MaxHeight: side, MaxFramesInFlight: 1, SendLastFrame: new(true)})
}

// EndFilm ends it. The last picture may be shown while it returns.
func (f *Camera) EndFilm() {
	f.calling.Lock()
	defer f.calling.Unlock()
	f.end()
}

func (f *Camera) end() {
	f.mu.Lock()
	own, cancel := f.cdp, f.cancel
	f.cdp, f.cancel, f.filmed = nil, nil, ""
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
		acknowledge := sync.OnceFunc(func() {
			own.Send(page.ScreencastFrameAck.Method, page.ScreencastFrameAckParams{SessionID: e.SessionID})
		})
		f.mu.Lock()
		f.late = acknowledge
		wait := idleWait
		if time.Since(f.asked) < busyFor {
			wait = busyWait
		}
		time.AfterFunc(wait, acknowledge)
		show, webp := f.show, f.webp
		if f.cdp != own || err != nil || bytes.Equal(image, last) { // a screenshot has Chromium draw it again
			show = nil
		}
		f.mu.Unlock()
		if show == nil {
			continue
		}
		last = image
		is := protocol.Frame{At: time.Now(), Image: image, Width: int(e.Metadata.DeviceWidth), Height: int(e.Metadata.DeviceHeight)}
		show(is)
		if webp && is.Width*is.Height <= maxStill {
			if is.Image, is.WebP = nil, f.still(own); is.WebP != nil {
				show(is)
			}
		}
	}
}

// stillWait is how long a picture as WebP may take: a dialog that is open holds it up.
const stillWait = time.Second

// still returns a picture as WebP, which holds a key frame of VP8; nil where there is none in time.
func (f *Camera) still(own *cdp.Session) []byte {
	ctx, cancel := context.WithTimeout(f.life, stillWait)
	defer cancel()
	q := int64(stillQuality)
	r, err := cdproto.Call(ctx, own, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: "webp", Quality: &q})
	if err != nil {
		return nil
	}
	return r.Data
}
