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
	// Act does one action; the outcome says what came of it.
	Act(ctx context.Context, refs *snapshot.Refs, a protocol.Act) (protocol.Outcome, error)
	// Read returns the whole content; the caller cuts it.
	Read(ctx context.Context, refs *snapshot.Refs, ref, kind, attr string) (string, error)
	// Find returns the nodes that fit, at most limit.
	Find(ctx context.Context, refs *snapshot.Refs, q protocol.Query) ([]snapshot.Node, error)
	// Wait returns when all that q names holds. It has the turn while it looks, and waits
	// within rest (Turn.Rest); nil: nothing else may run meanwhile.
	Wait(ctx context.Context, refs *snapshot.Refs, q protocol.Wait, rest func(ctx context.Context, pause func()) error) (seen map[string]any, err error)
	// Restore is what a new page could go on from, also after Done.
	Restore() protocol.Restore
	// Done closes when the page can serve no more: its browser died, or it was closed.
	Done() <-chan struct{}
	Close(ctx context.Context) error
}

// The interfaces below are what only a page in a browser can do; a command asks
// for the one that it needs. Errors are *protocol.Error.

// Tabs is a page whose session has tabs.
type Tabs interface {
	// Tabs lists them. Any goroutine may call it.
	Tabs() []protocol.Tab
	TabNew(ctx context.Context, url string) (protocol.Effect, error)
	TabSelect(ctx context.Context, tab string) (protocol.Effect, error)
	TabClose(ctx context.Context, tab string) (protocol.Effect, error)
}

// Device is a page whose device and network can be set, for pages to come as well.
type Device interface {
	Emulate(ctx context.Context, e protocol.Emulation) error
	// SetRoutes sets what is done with requests; Routes returns the routes with
	// the number of requests that each has matched.
	SetRoutes(ctx context.Context, routes []protocol.Route) error
	Routes() []protocol.Route
}

// Headed is a page whose requests can be given headers, those of pages to come as well.
type Headed interface {
	SetHeaders(ctx context.Context, h *protocol.Headers) error
}

// Renderer is a page that has pixels.
type Renderer interface {
	Screenshot(ctx context.Context, refs *snapshot.Refs, o protocol.Screenshot) (protocol.Picture, error)
	PDF(ctx context.Context, o protocol.PDF) ([]byte, error)
}

// Evaluator is a page that runs JavaScript.
type Evaluator interface {
	// EvalAt runs it in a document of that origin only; empty: of any.
	EvalAt(ctx context.Context, refs *snapshot.Refs, ref, expression, origin string) (json.RawMessage, error)
}

// Framed is a page whose elements may be in frames of other origins.
type Framed interface {
	// Origin is the origin of the document that the ref is in, by that document's own
	// word, "null" for an opaque one; with an empty ref the selected tab's.
	Origin(ctx context.Context, refs *snapshot.Refs, ref string) (string, error)
}

// Dialogs is a page that opens dialogs. Any goroutine may call Dialog; it gives
// refs only where it has the turn.
type Dialogs interface {
	// Dialog answers the open dialog. With refs it waits a moment for the page to
	// settle; settled says whether it has.
	Dialog(ctx context.Context, refs *snapshot.Refs, a protocol.DialogAnswer) (d protocol.Dialog, e protocol.Effect, settled bool, err error)
}

// Reporter is a page that goes on by itself between two commands.
type Reporter interface {
	// Since returns what happened since the last action and is no effect of it, once;
	// nil where nothing did. Any goroutine may call it.
	Since() *protocol.Since
}

// Records is a page whose console messages and requests are recorded. Both
// return the number to ask from next time. Any goroutine may call them.
type Records interface {
	Console(q protocol.Watching) ([]protocol.Console, int)
	Network(ctx context.Context, q protocol.Watching) ([]protocol.Exchange, int, error)
}

// Downloads is a page that downloads files. Any goroutine may call it.
type Downloads interface {
	// Downloads lists the downloads; with wait when none (or not the one of that
	// name) is running any more.
	Downloads(ctx context.Context, name string, wait bool) ([]protocol.Download, error)
	// DownloadContent reads n bytes of a finished one from offset.
	DownloadContent(name string, offset int64, n int) (content []byte, size int64, err error)
}
