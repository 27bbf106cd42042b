package targets

import (
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
)

// Pages matches pages only, no tab targets or extensions.
var Pages = target.Filter{{Type: "page"}, {Type: "browser", Exclude: true}, {Exclude: true}}

// OfBrowser matches the targets that the browser's CDP session attaches to automatically:
// pages, and the workers that belong to no page. Frames and dedicated workers are attached
// to by their page (AutoAttach).
var OfBrowser = target.Filter{{Type: "page"}, {Type: "shared_worker"}, {Type: "service_worker"}, {Type: "browser", Exclude: true}, {Exclude: true}}

// childTargets matches the targets that a page, a frame or a worker attaches to
// automatically: out-of-process frames, dedicated workers and worklets.
// Whatever Target.setAutoAttach pauses (waitForDebuggerOnStart) has to be in its
// filter: a worker that the filter leaves out is paused too, and nothing can resume it.
// Shared and service workers belong to no page and are attached to from the browser
// (OfBrowser).
var childTargets = target.Filter{
	{Type: "iframe"}, {Type: "worker"}, {Type: "worklet"},
	{Exclude: true},
}

// AutoAttach makes a CDP session attach to its children, and pause each until
// Runtime.runIfWaitingForDebugger.
func AutoAttach(s *cdp.Session) *cdp.Pending {
	flatten := true
	return s.Send(target.SetAutoAttach.Method, target.SetAutoAttachParams{
		AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &flatten, Filter: childTargets,
	})
}
