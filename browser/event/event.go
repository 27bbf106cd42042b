// Package event has what browserd needs of the parameters of Chromium's events about
// targets, frames and documents (CDP domains Target, Page, Runtime and Network).
package event

import (
	"cmp"

	cdproto "github.com/chromedp/cdproto/cdp"
	devnet "github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// TargetInfo is what browserd needs of Target.TargetInfo.
type TargetInfo struct {
	TargetID         target.ID                `json:"targetId"`
	Type             string                   `json:"type"`
	OpenerID         target.ID                `json:"openerId"`
	BrowserContextID cdproto.BrowserContextID `json:"browserContextId"`
}

// AttachedToTarget is Target.attachedToTarget.
type AttachedToTarget struct {
	SessionID          target.SessionID `json:"sessionId"`
	TargetInfo         TargetInfo       `json:"targetInfo"`
	WaitingForDebugger bool             `json:"waitingForDebugger"`
}

// TargetCrashed is the event Target.targetCrashed: a page's process has died.
type TargetCrashed struct {
	TargetID  target.ID `json:"targetId"`
	Status    string    `json:"status"`
	ErrorCode int       `json:"errorCode"`
}

// DialogOpening is Page.javascriptDialogOpening.
type DialogOpening struct {
	Message       string `json:"message"`
	Type          string `json:"type"`
	DefaultPrompt string `json:"defaultPrompt"`
	URL           string `json:"url"`
}

// Frame is Page.frameAttached, frameDetached or frameStoppedLoading.
type Frame struct {
	FrameID       cdproto.FrameID `json:"frameId"`
	ParentFrameID cdproto.FrameID `json:"parentFrameId"`
	Reason        string          `json:"reason"`
}

// WorldCreated is Runtime.executionContextCreated.
type WorldCreated struct {
	Context struct {
		ID       runtime.ExecutionContextID `json:"id"`
		UniqueID string                     `json:"uniqueId"`
		Name     string                     `json:"name"`
		Origin   string                     `json:"origin"`
		AuxData  struct {
			FrameID cdproto.FrameID `json:"frameId"`
			Type    string          `json:"type"`
		} `json:"auxData"`
	} `json:"context"`
}

// WorldDestroyed is Runtime.executionContextDestroyed.
type WorldDestroyed struct {
	UniqueID string `json:"executionContextUniqueId"`
}

// ChildDetached is Target.detachedFromTarget.
type ChildDetached struct {
	SessionID target.SessionID `json:"sessionId"`
}

// FrameNavigated is Page.frameNavigated.
type FrameNavigated struct {
	Frame struct {
		ID       cdproto.FrameID  `json:"id"`
		ParentID cdproto.FrameID  `json:"parentId"`
		LoaderID cdproto.LoaderID `json:"loaderId"`
		URL      string           `json:"url"`
		Fragment string           `json:"urlFragment"`
		Failed   string           `json:"unreachableUrl"`
	} `json:"frame"`
}

// NavigatedWithin is Page.navigatedWithinDocument.
type NavigatedWithin struct {
	FrameID cdproto.FrameID `json:"frameId"`
	URL     string          `json:"url"`
}

// FrameRequested is Page.frameRequestedNavigation.
type FrameRequested struct {
	FrameID     cdproto.FrameID `json:"frameId"`
	Disposition string          `json:"disposition"`
	URL         string          `json:"url"`
}

// FrameScheduled is Page.frameScheduledNavigation.
type FrameScheduled struct {
	FrameID cdproto.FrameID `json:"frameId"`
	Delay   float64         `json:"delay"` // seconds
	URL     string          `json:"url"`
}

// FrameStarted is Page.frameStartedNavigating.
type FrameStarted struct {
	FrameID        cdproto.FrameID  `json:"frameId"`
	LoaderID       cdproto.LoaderID `json:"loaderId"`
	URL            string           `json:"url"`
	NavigationType string           `json:"navigationType"`
}

// Lifecycle is Page.lifecycleEvent.
type Lifecycle struct {
	FrameID  cdproto.FrameID  `json:"frameId"`
	LoaderID cdproto.LoaderID `json:"loaderId"`
	Name     string           `json:"name"`
}

// LoadingFailed is Network.loadingFailed.
type LoadingFailed struct {
	RequestID devnet.RequestID `json:"requestId"`
	ErrorText string           `json:"errorText"`
	Canceled  bool             `json:"canceled"`
	Blocked   string           `json:"blockedReason"`
	CORS      struct {
		Error string `json:"corsError"`
	} `json:"corsErrorStatus"`
}

// IsWorker reports whether a target runs scripts and has no document.
func (i TargetInfo) IsWorker() bool {
	switch i.Type {
	case "worker", "worklet", "shared_worker", "service_worker":
		return true
	}
	return false
}

// Why is why, with what Chromium says beside net::ERR_FAILED.
func (e LoadingFailed) Why() string {
	if why := cmp.Or(e.CORS.Error, e.Blocked); why != "" {
		return e.ErrorText + " (" + why + ")"
	}
	return e.ErrorText
}
