package targets

import (
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
)

// Pages are pages alone, no tab targets or extensions.
var Pages = target.Filter{{Type: "page"}, {Type: "browser", Exclude: true}, {Exclude: true}}

// OfHost are what a host attaches to by itself: pages, and the workers that
// belong to no page. Frames and dedicated workers are attached to by their page
// (AutoAttach).
var OfHost = target.Filter{{Type: "page"}, {Type: "shared_worker"}, {Type: "service_worker"}, {Type: "browser", Exclude: true}, {Exclude: true}}

// childTargets are the targets that a page, a frame or a worker is asked to
// attach to by itself: out-of-process frames, dedicated workers and worklets.
// Whatever Target.setAutoAttach pauses (waitForDebuggerOnStart) has to be in its
// filter: a worker that the filter leaves out is paused all the same, and nobody
// can let it run. Shared and service workers belong to no page and are attached to
// from the browser (OfHost).
var childTargets = target.Filter{
	{Type: "iframe"}, {Type: "worker"}, {Type: "worklet"},
	{Exclude: true},
}

// AutoAttach has a CDP session attach to its children, and pause each until
// Runtime.runIfWaitingForDebugger lets it run.
func AutoAttach(s *cdp.Session) *cdp.Pending {
	flatten := true
	return s.Send(target.SetAutoAttach.Method, target.SetAutoAttachParams{
		AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &flatten, Filter: childTargets,
	})
}
