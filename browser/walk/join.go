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

// ReadFirst runs the walks of the root and of the most frames below it whose lines come first.
// All are in one process, mostly, and to look at one of them Chromium goes through all: a
// thousand would take it half a minute.
func ReadFirst(root *Part, reads map[*Part]func(), most int) {
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

// Join puts the frames' nodes where their owners stand. It stops before a
// frame that was not read, so that a continuation after the last line starts there.
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
		got.RestTexts, got.AtLeast = root.RestTexts, root.AtLeast
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
	var leftOut []*Part // the frames whose owners have no line
	var add func(of *Part, depth int)
	add = func(of *Part, depth int) {
		got.Input += of.Elements
		got.Visited += of.Visited
		got.Rest += of.Rest
		got.RestTexts += of.RestTexts
		got.AtLeast = got.AtLeast || of.AtLeast
		of.depart(&got)
		for _, r := range of.Reasons {
			if !reasons[r] {
				reasons[r] = true
				got.Reasons = append(got.Reasons, r)
			}
		}
		for _, owner := range of.RestFrames {
			if child := byOwner[snapshot.Key{Doc: of.Doc, Node: owner}]; child != nil {
				leftOut = append(leftOut, child)
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
					ended, got.AtLeast = true, true
					got.Rest++
				default:
					delete(byOwner, key) // a frame is shown once
					add(child, depth+place.Depth)
				}
			}
			if i < len(of.Nodes) {
				n := of.Nodes[i]
				if ended {
					leaveOut(&got, of.Nodes[i:i+1])
					continue
				}
				n.Depth += depth
				got.Nodes = append(got.Nodes, n)
			}
		}
	}
	add(root, 0)
	for len(leftOut) > 0 {
		of := leftOut[0]
		leftOut = leftOut[1:]
		got.Input += of.Elements
		got.Rest += of.Rest
		leaveOut(&got, of.Nodes)
		got.RestTexts += of.RestTexts
		got.AtLeast = got.AtLeast || of.AtLeast || of.Skipped
		leftOut = append(leftOut, of.below(byOwner)...)
	}
	return got
}

// leaveOut counts nodes that got does not have.
func leaveOut(got *snapshot.Capture, nodes []snapshot.Node) {
	for i := range nodes {
		switch {
		case nodes[i].Key.Node != 0:
			got.Rest++
		case nodes[i].Role == snapshot.RoleSiblings:
			got.Rest += nodes[i].More
			got.AtLeast = true
		default:
			got.RestTexts++
		}
	}
}

// below returns the frames in of.
func (of *Part) below(byOwner map[snapshot.Key]*Part) (list []*Part) {
	owners := of.RestFrames
	for _, place := range of.Frames {
		owners = append(owners, place.Owner)
	}
	for _, owner := range owners {
		if child := byOwner[snapshot.Key{Doc: of.Doc, Node: owner}]; child != nil {
			list = append(list, child)
		}
	}
	return list
}

// depart adds to got the nodes that have left the document.
func (of *Part) depart(got *snapshot.Capture) {
	if len(of.Departed) > 0 {
		got.Departed = append(got.Departed, snapshot.Departed{Doc: of.Doc, Nodes: of.Departed, Last: of.Last})
	}
}
