package session

import (
	"context"
	"encoding/json"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Page is what every source can do with the documents that it serves: the
// live pages of a browser context, and static documents. Only the holder of
// the session's turn calls it, except for State, Done and Close.
//
// Methods that act return what the action did, with refs numbered by the Refs
// that they are handed. Errors are *protocol.Error.
type Page interface {
	// State says where the page is, from what is known without asking it.
	State() protocol.Page
	// Open loads url and waits: auto, none, domcontentloaded, load, networkidle.
	Open(ctx context.Context, url, wait string) (protocol.Effect, error)
	// History goes back (-1), forward (+1) or loads again (0).
	History(ctx context.Context, delta int) (protocol.Effect, error)
	// Capture reads the document for a snapshot.
	Capture(ctx context.Context, o snapshot.Options, refs *snapshot.Refs) (snapshot.Capture, error)
	Click(ctx context.Context, refs *snapshot.Refs, ref string, o protocol.Click) (protocol.Effect, error)
	Type(ctx context.Context, refs *snapshot.Refs, ref string, o protocol.Type) (protocol.Effect, error)
	Select(ctx context.Context, refs *snapshot.Refs, ref string, values []string) (selected []string, e protocol.Effect, err error)
	Check(ctx context.Context, refs *snapshot.Refs, ref string, checked bool) (protocol.Effect, error)
	Upload(ctx context.Context, refs *snapshot.Refs, ref string, files []protocol.File) (protocol.Effect, error)
	// Read returns the whole content; the caller cuts it.
	Read(ctx context.Context, refs *snapshot.Refs, ref, kind, attr string) (string, error)
	// Find returns the nodes that fit, at most limit.
	Find(ctx context.Context, refs *snapshot.Refs, q protocol.Query) ([]snapshot.Node, error)
	// Wait returns when all that q names holds.
	Wait(ctx context.Context, refs *snapshot.Refs, q protocol.Wait) (seen map[string]any, err error)
	// Remains is what a new page could go on from, also after Done.
	Remains() protocol.Remains
	// Done closes when the page can serve no more: its browser died, or it was closed.
	Done() <-chan struct{}
	Close(ctx context.Context) error
}

// Live is what a page in a browser can do beyond Page. Dialog, Tabs
// and what says so may be called at any time by any goroutine.
type Live interface {
	Page
	Press(ctx context.Context, refs *snapshot.Refs, ref, key string) (protocol.Effect, error)
	Hover(ctx context.Context, refs *snapshot.Refs, ref string) (protocol.Effect, error)
	Focus(ctx context.Context, refs *snapshot.Refs, ref string) (protocol.Effect, error)
	Scroll(ctx context.Context, refs *snapshot.Refs, ref string, o protocol.Scroll) (protocol.Position, protocol.Effect, error)
	Drag(ctx context.Context, refs *snapshot.Refs, from, to string) (protocol.Effect, error)
	// Emulate changes what is said of the device, for pages to come as well.
	Emulate(ctx context.Context, e protocol.Emulation) error
	// SetRoutes says what becomes of requests; Routes what has become of them.
	SetRoutes(ctx context.Context, routes []protocol.Route) error
	Routes() []protocol.Route
	// Mouse says what was hit; nil: nothing.
	Mouse(ctx context.Context, refs *snapshot.Refs, o protocol.Mouse) (*protocol.Hit, protocol.Effect, error)
	Eval(ctx context.Context, refs *snapshot.Refs, ref, expression string) (json.RawMessage, error)
	Screenshot(ctx context.Context, refs *snapshot.Refs, o protocol.Screenshot) (protocol.Picture, error)
	PDF(ctx context.Context, o protocol.PDF) ([]byte, error)
	// Dialog answers the open dialog. With refs the page is followed until it has
	// settled, for a moment; settled says whether it has.
	Dialog(ctx context.Context, refs *snapshot.Refs, accept bool, text string) (d protocol.Dialog, e protocol.Effect, settled bool, err error)
	Tabs() []protocol.Tab
	TabNew(ctx context.Context, url string) (protocol.Effect, error)
	TabSelect(ctx context.Context, tab string) (protocol.Effect, error)
	TabClose(ctx context.Context, tab string) (protocol.Effect, error)
	// Downloads lists the downloads; with wait when none (or not the one of that
	// name) is running any more. DownloadContent reads n bytes of a finished one
	// from offset. Both may be called at any time.
	// Console and Network return what the pages said and asked for, and the number
	// to ask from next time. Both may be called at any time.
	Console(q protocol.Watching) ([]protocol.Console, int)
	Network(ctx context.Context, q protocol.Watching) ([]protocol.Exchange, int, error)
	Downloads(ctx context.Context, name string, wait bool) ([]protocol.Download, error)
	DownloadContent(name string, offset int64, n int) (content []byte, size int64, err error)
}
