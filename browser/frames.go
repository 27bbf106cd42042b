package browser

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/event"
	"github.com/browserd/browserd/browser/listeners"
	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/browser/pagetools"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/targets"
	"github.com/browserd/browserd/snapshot"
)

// frames are the frames of a tab, and the CDP sessions of those that live out of its
// process. The event callback writes them, but for a frame's owner, which is learnt by
// asking. They are guarded by the context's mu, together with the navigation: what a
// frame holds and what has become of the tab are looked at together.
type frames struct {
	t        *tab
	main     *frame
	byID     map[cdproto.FrameID]*frame
	sessions map[target.SessionID]*cdp.Session // out-of-process frames and workers
	tools    pagetools.List                    // of their documents
}

// newFrames returns those of a tab that has just come. The main frame's id is its target's.
func newFrames(t *tab) frames {
	main := &frame{tab: t, id: cdproto.FrameID(t.target), cdp: t.cdp}
	return frames{t: t, main: main, byID: map[cdproto.FrameID]*frame{main.id: main}, sessions: map[target.SessionID]*cdp.Session{}}
}

// live returns the frames that have a document, the main one first.
func (fs *frames) live() []*frame {
	return slices.DeleteFunc(fs.all(), func(f *frame) bool { return f.documentNow() == 0 })
}

// all returns the frames, the main one first.
func (fs *frames) all() []*frame {
	fs.t.c.mu.Lock()
	defer fs.t.c.mu.Unlock()
	list := []*frame{fs.main}
	for _, f := range fs.byID {
		if f != fs.main {
			list = append(list, f)
		}
	}
	return list
}

// hasNoDocument reports whether a frame was removed, or has no document yet.
func (fs *frames) hasNoDocument(f *frame) bool {
	fs.t.c.mu.Lock()
	defer fs.t.c.mu.Unlock()
	return fs.byID[f.id] != f || f.doc == 0 && f.url == ""
}

// inSubtree reports whether f is root or one of its descendants.
func (fs *frames) inSubtree(f, root *frame) bool {
	fs.t.c.mu.Lock()
	defer fs.t.c.mu.Unlock()
	for ; f != nil; f = f.parent {
		if f == root {
			return true
		}
	}
	return false
}

// subtreeHasDoc reports whether the document is in f or in one of its descendants.
func (fs *frames) subtreeHasDoc(f *frame, doc int) bool {
	d := fs.t.c.document(doc)
	return d != nil && fs.inSubtree(d.frame, f)
}

// isOnlyFrame reports whether f is the only frame of the CDP session.
func (fs *frames) isOnlyFrame(f *frame, s *cdp.Session) bool {
	fs.t.c.mu.Lock()
	defer fs.t.c.mu.Unlock()
	for _, o := range fs.byID {
		if o != f && o.cdp.ID() == s.ID() {
			return false
		}
	}
	return true
}

func (fs *frames) attached(s *cdp.Session, e event.Frame) (changed bool) {
	if f := fs.byID[e.FrameID]; f != nil {
		f.cdp = s
		return false
	}
	fs.byID[e.FrameID] = &frame{tab: fs.t, id: e.FrameID, parent: fs.byID[e.ParentFrameID], cdp: s, since: time.Now()}
	return false
}

func (fs *frames) detached(_ *cdp.Session, e event.Frame) (changed bool) {
	// "swap": the frame moves to another process and goes on there.
	if f := fs.byID[e.FrameID]; f != nil && e.Reason != "swap" && f != fs.main {
		fs.removeSubtree(f)
	}
	return true
}

// removeSubtree removes a frame and its descendants.
func (fs *frames) removeSubtree(f *frame) {
	delete(fs.byID, f.id)
	fs.t.nav.step.Done(f.id, "")
	f.forgetDocument()
	fs.removeDescendants(f)
}

func (fs *frames) removeDescendants(f *frame) {
	for _, child := range fs.byID {
		if child.parent == f {
			fs.removeSubtree(child)
		}
	}
}

// navigated returns the frame in which a document was committed; those of the document
// before it are gone.
func (fs *frames) navigated(s *cdp.Session, e event.FrameNavigated) *frame {
	f := fs.byID[e.Frame.ID]
	if f == nil {
		f = &frame{tab: fs.t, id: e.Frame.ID, parent: fs.byID[e.Frame.ParentID]}
		fs.byID[f.id] = f
	}
	f.cdp, f.url, f.requester = s, e.Frame.URL+e.Frame.Fragment, network.Frame{Loader: e.Frame.LoaderID}
	fs.removeDescendants(f)
	return f
}

// forgetDocuments forgets the documents of the frames of a CDP session.
func (fs *frames) forgetDocuments(id target.SessionID) {
	for _, f := range fs.byID {
		if f.cdp.ID() == id {
			f.forgetDocument()
		}
	}
}

func (fs *frames) worldCreated(s *cdp.Session, e event.WorldCreated) (changed bool) {
	f := fs.byID[e.Context.AuxData.FrameID]
	if f == nil {
		return false
	}
	if e.Context.AuxData.Type == "default" {
		f.requester.Origin = e.Context.Origin
		fs.t.c.routes.Retry()
		f.mainWorld, f.mainWorldID = e.Context.UniqueID, e.Context.ID
	}
	if e.Context.Name != targets.World || e.Context.AuxData.Type != "isolated" || f.isolatedWorld == e.Context.UniqueID {
		return false // the last: reported once more, since the domain was switched on again
	}
	f.forgetDocument()
	f.cdp = s
	f.doc, f.isolatedWorld, f.isolatedWorldID = int(docs.Add(1)), e.Context.UniqueID, e.Context.ID
	if n := &fs.t.nav; f == fs.main && n.ready != "loading" && n.loader != "" {
		n.askTitle() // its events came before
	}
	return true
}

func (fs *frames) worldDestroyed(_ *cdp.Session, e event.WorldDestroyed) (changed bool) {
	for _, f := range fs.byID {
		if f.isolatedWorld == e.UniqueID && e.UniqueID != "" {
			f.forgetDocument()
			changed = true
		}
	}
	return changed
}

func (fs *frames) worldsCleared(s *cdp.Session, _ struct{}) (changed bool) {
	fs.forgetDocuments(s.ID())
	return true
}

// childAttached takes an out-of-process frame or a worker of the tab: it listens to it,
// sets it up and lets it run.
func (fs *frames) childAttached(_ *cdp.Session, e event.AttachedToTarget) (changed bool) {
	t, c := fs.t, fs.t.c
	child := c.host.conn.Session(e.SessionID)
	fs.sessions[e.SessionID] = child
	c.host.conn.Handle(e.SessionID, func(method string, params jsonv2.Value) { t.event(child, method, params) })
	if e.TargetInfo.IsWorker() {
		go c.setUpWorker(child)
		return false
	}
	// An out-of-process frame's target has the frame's id.
	if f := fs.byID[cdproto.FrameID(e.TargetInfo.TargetID)]; f != nil {
		f.cdp = child
		f.forgetDocument()
	}
	all := c.overrides.InForce()
	go func() {
		pending := targets.Attach(child)
		c.people.Attach(child)
		pending = append(pending, c.overrides.Send(child, all, all, true)...)
		pending = append(pending, c.routes.Pause(child)...)
		pending = append(pending, child.Send("Runtime.runIfWaitingForDebugger", cdproto.Empty{}))
		if err := c.overrides.Wait(t.life, pending); err != nil {
			c.host.log.Debug("attaching to a frame", "error", err)
		}
	}()
	return false
}

func (fs *frames) childDetached(_ *cdp.Session, e event.ChildDetached) (changed bool) {
	delete(fs.sessions, e.SessionID)
	fs.t.forgetSession(e.SessionID)
	fs.forgetDocuments(e.SessionID)
	return true
}

// findOwners learns which element of the parent's document holds each frame that
// has not been asked about yet: DOM.getFrameOwner, DOM.resolveNode into the
// parent's world, and the script's number for it. Frames whose owner cannot be
// had keep a zero owner and are not shown.
func (fs *frames) findOwners(ctx context.Context, list []*frame) {
	mu := &fs.t.c.mu
	var work sync.WaitGroup
	for _, f := range list {
		mu.Lock()
		p := f.parent
		found := p == nil || f.owner.Doc == p.doc || p.doc == 0
		var num runtime.ExecutionContextID
		var s *cdp.Session
		var doc int
		if p != nil {
			num, s, doc = p.isolatedWorldID, p.cdp, p.doc
		}
		mu.Unlock()
		if found {
			continue
		}
		work.Go(func() {
			node, err := fs.ownerOf(ctx, f.id, s, num)
			if err != nil {
				return
			}
			mu.Lock()
			f.owner = snapshot.Key{Doc: doc, Node: node}
			mu.Unlock()
		})
	}
	work.Wait()
}

func (fs *frames) ownerOf(ctx context.Context, id cdproto.FrameID, s *cdp.Session, num runtime.ExecutionContextID) (int, error) {
	var owner dom.GetFrameOwnerResult
	if err := fs.t.wait(ctx, s.Send(dom.GetFrameOwner.Method, dom.GetFrameOwnerParams{FrameID: id}), &owner); err != nil {
		return 0, err
	}
	parent := listeners.Document{Session: s, Wait: fs.t.wait}
	object, err := parent.Resolve(ctx, owner.BackendNodeID, num)
	if err != nil {
		return 0, err
	}
	defer s.Release(object)
	var got evaluated
	p := s.Send(runtime.CallFunctionOn.Method, map[string]any{
		"objectId": object, "functionDeclaration": script.NodeID.OnObject(), "returnByValue": true,
	})
	if err := fs.t.wait(ctx, p, &got); err != nil {
		return 0, err
	}
	var node int
	err = json.Unmarshal(got.Result.Value, &node)
	return node, err
}
