package walk

import (
	"iter"
	"sync"

	"github.com/browserd/browserd/snapshot"
)

// Part is one frame's part of a capture.
type Part struct {
	Result
	Err     error
	Doc     int
	Owner   snapshot.Key // the element that holds the frame
	Skipped bool         // it was not walked: there are too many
}

// First runs the walks of the root and of the most frames below it whose lines come first.
// All are in one process, mostly, and to look at one of them Chromium goes through all: a
// thousand would take it half a minute.
func First(root *Part, reads map[*Part]func(), most int) {
	byOwner := map[snapshot.Key]*Part{}
	for of := range reads {
		if of.Skipped = of != root; of.Skipped && of.Owner.Node != 0 {
			byOwner[of.Owner] = of
		}
	}
	left := most
	var enter func(level []*Part)
	enter = func(level []*Part) {
		var work sync.WaitGroup
		for _, of := range level {
			if reads[of] != nil {
				work.Go(reads[of])
			}
		}
		work.Wait()
		for _, of := range level {
			var below []*Part
			for _, place := range of.Frames {
				child := byOwner[snapshot.Key{Doc: of.Doc, Node: place.Owner}]
				if child == nil || !child.Skipped {
					continue
				}
				if left == 0 {
					break
				}
				left--
				child.Skipped = false
				below = append(below, child)
			}
			if len(below) > 0 {
				enter(below)
			}
		}
	}
	enter([]*Part{root})
}

// Join puts the frames' nodes where their owners stand. It ends in front of a frame
// that was not read: who goes on behind the last line comes to it next.
func Join(root *Part, parts iter.Seq[*Part]) snapshot.Capture {
	byOwner := map[snapshot.Key]*Part{}
	for of := range parts {
		if of != root && of.Err == nil && of.Owner.Node != 0 {
			byOwner[of.Owner] = of
		}
	}
	got := snapshot.Capture{URL: root.URL, Title: root.Title}
	if len(byOwner) == 0 {
		got.Nodes, got.Input, got.Visited, got.Rest, got.Reasons = root.Nodes, root.Elements, root.Visited, root.Rest, root.Reasons
		root.depart(&got)
		return got
	}
	lines := 0
	for of := range parts {
		lines += len(of.Nodes)
	}
	got.Nodes = make([]snapshot.Node, 0, lines)
	reasons := map[string]bool{}
	ended := false
	var add func(of *Part, depth int)
	add = func(of *Part, depth int) {
		got.Input += of.Elements
		got.Visited += of.Visited
		got.Rest += of.Rest
		of.depart(&got)
		for _, r := range of.Reasons {
			if !reasons[r] {
				reasons[r] = true
				got.Reasons = append(got.Reasons, r)
			}
		}
		places := of.Frames
		for i := 0; i <= len(of.Nodes); i++ {
			for len(places) > 0 && places[0].Index == i && !ended {
				place := places[0]
				places = places[1:]
				key := snapshot.Key{Doc: of.Doc, Node: place.Owner}
				child := byOwner[key]
				switch {
				case child == nil:
				case child.Skipped:
					ended = true
					got.Rest++
				default:
					delete(byOwner, key) // a frame is shown once
					add(child, depth+place.Depth)
				}
			}
			if i < len(of.Nodes) {
				n := of.Nodes[i]
				if ended {
					if n.Key.Node != 0 {
						got.Rest++
					}
					continue
				}
				n.Depth += depth
				got.Nodes = append(got.Nodes, n)
			}
		}
	}
	add(root, 0)
	return got
}

// depart adds to got the nodes that have left the document.
func (of *Part) depart(got *snapshot.Capture) {
	if len(of.Departed) > 0 {
		got.Departed = append(got.Departed, snapshot.Departed{Doc: of.Doc, Nodes: of.Departed, Last: of.Last})
	}
}
