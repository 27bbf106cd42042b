package session

import (
	"context"
	"encoding/json"
	"time"

	"github.com/browserd/browserd/browser/attach"
	"github.com/browserd/browserd/browser/files"
	"github.com/browserd/browserd/browser/person"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Page is what every source offers: the live pages of a browser context, and static
// documents. Only the holder of the session's turn may call it, except for State, Done and
// Close.
//
// Methods that act return what the action did, with refs numbered by the given Refs.
// Errors are *protocol.Error.
type Page interface {
	// State returns the page's state as far as it is known without asking the page.
	State() protocol.Page
	// Open loads url, then waits for what wait names: auto, none, domcontentloaded, load or
	// networkidle.
	Open(ctx context.Context, url, wait string) (protocol.Effect, error)
	// History goes back (-1) or forward (+1), or reloads (0).
	History(ctx context.Context, delta int) (protocol.Effect, error)
	// Capture reads the document for a snapshot.
	Capture(ctx context.Context, o snapshot.Options, refs *snapshot.Refs) (snapshot.Capture, error)
	// Act performs one action and returns its outcome.
	Act(ctx context.Context, refs *snapshot.Refs, a protocol.Act) (protocol.Outcome, error)
	// Read returns the whole content. The caller truncates it.
	Read(ctx context.Context, refs *snapshot.Refs, ref, kind, attr string) (string, error)
	// Find returns the nodes that match, at most limit.
	Find(ctx context.Context, refs *snapshot.Refs, q protocol.Query) ([]snapshot.Node, error)
	// Wait returns when all conditions of q hold. It holds the turn while it looks, and
	// lends it by yield (Turn.Yield) while it waits. If yield is nil, nothing else may run
	// meanwhile. Each time before q.Expression runs, it calls check with the document's
	// origin, and ends with its error.
	Wait(ctx context.Context, refs *snapshot.Refs, q protocol.Wait, check func(origin string) error, yield func(ctx context.Context, pause func()) error) (seen map[string]any, err error)
	// Restore returns what a new page needs to continue this one. It works after Done
	// too.
	Restore() protocol.Restore
	// Done is closed when the page can serve no longer: its browser died, or Close was
	// called.
	Done() <-chan struct{}
	Close(ctx context.Context) error
}

// Only pages in a browser implement the interfaces below. A command asks for the one that
// it needs. Errors are *protocol.Error.

// Tabs is a page whose session has tabs.
type Tabs interface {
	// Tabs lists the tabs. Any goroutine may call it.
	Tabs() []protocol.Tab
	TabNew(ctx context.Context, url string) (protocol.Effect, error)
	TabSelect(ctx context.Context, tab string) (protocol.Effect, error)
	TabClose(ctx context.Context, tab string) (protocol.Effect, error)
}

// Device is a page whose emulation and routes can be set. They hold for later documents and
// tabs too.
type Device interface {
	Emulate(ctx context.Context, e protocol.Emulation) error
	// SetRoutes replaces the routes. Routes returns them with the number of requests that
	// each has matched.
	SetRoutes(ctx context.Context, routes []protocol.Route) error
	Routes() []protocol.Route
}

// HeaderSetter is a page whose requests can be given extra headers. They hold for later documents
// and tabs too.
type HeaderSetter interface {
	SetHeaders(ctx context.Context, h *protocol.Headers) error
}

// Renderer is a page that has pixels.
type Renderer interface {
	Screenshot(ctx context.Context, refs *snapshot.Refs, o protocol.Screenshot) (protocol.Picture, error)
	PDF(ctx context.Context, o protocol.PDF) ([]byte, error)
	// DrawnText returns all text that a picture of that tab may show, secrets in clear; empty: the selected one.
	// Errors: secret_denied of a frame that cannot be read. Only the holder of the turn calls it.
	DrawnText(ctx context.Context, tab string) (string, error)
}

// Viewable is a page that people can see and drive.
type Viewable interface {
	// Surface returns a tab; empty: the selected one. Any goroutine may call it.
	Surface(tab string) (*person.Tab, error)
	// PersonDrives says that a person drives from now on, or no longer. The page masks what they type from
	// everything that it reports later. Only the holder of the turn calls it.
	PersonDrives(ctx context.Context, drives bool) error
	// Boxes returns the bounding boxes of elements in the selected tab, by their refs: x, y, width and height
	// in CSS pixels. Only the holder of the turn calls it.
	Boxes(ctx context.Context, refs *snapshot.Refs, list []string) (map[string]script.Box, error)
	// Documents returns the numbers of the tabs' main documents, by the tabs' names. Any goroutine may call it.
	Documents() map[string]int
	// Uploads are where the files are stored that a person gives to the page. Any goroutine may call it.
	Uploads() *files.Uploads
}

// Granter is a page in a person's own browser. The person may let the session use some of their tabs. Only the
// live view calls it, on the person's request, from any goroutine.
type Granter interface {
	PersonTabs(ctx context.Context) ([]attach.PersonTab, error)
	Grant(ctx context.Context, id string) error
	Revoke(ctx context.Context, id string) error
}

// Evaluator is a page that runs JavaScript.
type Evaluator interface {
	// EvalAt runs the expression. Right before, it calls check with the document's origin, and runs nothing if
	// that returns an error.
	EvalAt(ctx context.Context, refs *snapshot.Refs, ref, expression string, check func(origin string) error) (json.RawMessage, error)
}

// OriginReporter is a page whose elements may be in frames of other origins.
type OriginReporter interface {
	// Origin returns the origin of the document at a spot of the selected tab, as that document reports it
	// ("null" for an opaque origin). Any goroutine may call it for a dialog; otherwise only the holder of the
	// turn.
	Origin(ctx context.Context, refs *snapshot.Refs, at protocol.Spot) (string, error)
	// HasDocument reports whether a frame of any tab has the document of that number (snapshot.Key). It does not
	// ask the page. Any goroutine may call it.
	HasDocument(document int) bool
}

// ToolLister is a page that may register tools, which Act calls.
type ToolLister interface {
	// PageTools lists the tools of the selected tab's documents. left is how many were left out because of a
	// limit.
	PageTools(ctx context.Context, refs *snapshot.Refs) (tools []protocol.PageTool, left int, err error)
}

// Dialogs is a page that can open dialogs. Any goroutine may call Dialog, but only the
// holder of the turn may pass refs.
type Dialogs interface {
	// Dialog answers the open dialog. With refs it waits a moment for the page to settle;
	// settled reports whether it did.
	Dialog(ctx context.Context, refs *snapshot.Refs, a protocol.DialogAnswer) (d protocol.Dialog, e protocol.Effect, settled bool, err error)
}

// Reporter is a page that changes by itself between commands.
type Reporter interface {
	// Since returns, once, what happened since the last action and is not its effect. It
	// returns nil if nothing happened. Any goroutine may call it.
	Since() *protocol.Since
}

// Records is a page whose console messages and requests are recorded. Both methods return
// the number to pass as the next start. Any goroutine may call them.
type Records interface {
	Console(q protocol.Watching) ([]protocol.Console, int)
	Network(ctx context.Context, q protocol.Watching) ([]protocol.Exchange, int, error)
}

// PasskeyHolder is a page that has virtual authenticators. Only the holder of the session's turn
// calls it.
type PasskeyHolder interface {
	// HoldPasskeys adds a virtual authenticator to all its tabs, present and future. It has no passkeys, and
	// answers no request until UsePasskeys.
	HoldPasskeys(ctx context.Context) error
	// UsePasskeys lets the selected tab, and tabs that it opens, make passkeys and use keys while do runs, and
	// afterwards until one was made or used, or for wait at most. It returns the passkeys that were made or
	// used, even with an error.
	UsePasskeys(ctx context.Context, keys []protocol.Passkey, wait time.Duration, do func() error) ([]protocol.PasskeyUse, error)
}

// Downloads is a page that downloads files. Any goroutine may call it.
type Downloads interface {
	// Downloads lists the downloads. With wait it first waits until the download of that
	// name, or all if name is empty, has ended.
	Downloads(ctx context.Context, name string, wait bool) ([]protocol.Download, error)
	// AllowDownloads keeps what is downloaded from now on. Only the holder of the session's
	// turn calls it.
	AllowDownloads(ctx context.Context) error
	// DownloadContent reads n bytes of a finished download from offset.
	DownloadContent(name string, offset int64, n int) (content []byte, size int64, err error)
}
