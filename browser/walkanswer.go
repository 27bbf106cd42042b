package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/browserd/browserd/browser/script"
)

// walkAnswer is what is kept of an answer of script.Walk: the next one leaves out the lines
// that both begin with, and those that both end with.
type walkAnswer struct {
	look  int // the number of its capture
	head  script.WalkHead
	lines string
	count int // of the lines
}

// maxLook is the highest number of a capture; behind it they begin again. Of walks that
// failed nothing is kept, so that no number can be taken for an older one.
const maxLook = 8

// maxLines is how long the lines may be that are kept, in bytes.
const maxLines = 512 << 10

// walk walks the document.
func (d *document) walk(ctx context.Context, o script.WalkOptions) (walked, error) {
	o.Have = d.marks.answer.look
	raw, err := evaluateWithListeners(ctx, d, script.Walk, o)
	if err != nil {
		d.marks.answer = walkAnswer{}
		return walked{}, err
	}
	return d.readWalk(raw, o.Capture)
}

// readWalk reads the answer to the walk of the capture look, and keeps it.
func (d *document) readWalk(raw string, look int) (walked, error) {
	had := d.marks.answer
	d.marks.answer = walkAnswer{}
	answer, err := readAnswer(had, raw)
	if err != nil {
		return walked{}, err
	}
	if answer.look = look; len(answer.lines) <= maxLines {
		d.marks.answer = answer
	}
	return decodeWalk(d.doc, answer)
}

// decodeWhole reads an answer that leaves nothing out.
func decodeWhole(doc int, raw string) (walked, error) {
	answer, err := readAnswer(walkAnswer{}, raw)
	if err != nil {
		return walked{}, err
	}
	return decodeWalk(doc, answer)
}

// readAnswer reads an answer, and puts in what it leaves out of had.
func readAnswer(had walkAnswer, raw string) (walkAnswer, error) {
	first, lines, more := strings.Cut(raw, "\n")
	var head script.WalkHead
	if err := json.Unmarshal([]byte(first), &head); err != nil {
		return walkAnswer{}, fmt.Errorf("decoding a walk: %w", err)
	}
	answer := walkAnswer{head: head, lines: lines}
	if more {
		answer.count = strings.Count(lines, "\n") + 1
	}
	before, after := head.Kept[0], head.Kept[1]
	if before < 0 || after < 0 || before > had.count || after > had.count-before {
		return answer, fmt.Errorf("decoding a walk: %v lines of %d are left out", head.Kept, had.count)
	}
	switch {
	case before+after == 0:
	case before+after == had.count && !more:
		answer.lines = had.lines
	default:
		var parts []string
		if before > 0 {
			parts = append(parts, had.lines[:lineEnd(had.lines, before)])
		}
		if more {
			parts = append(parts, lines)
		}
		if after > 0 {
			parts = append(parts, had.lines[lineEnd(had.lines, had.count-after)+1:])
		}
		answer.lines = strings.Join(parts, "\n")
	}
	answer.count += before + after
	return answer, nil
}

// lineEnd returns where the n-th line ends, -1 for n 0.
func lineEnd(lines string, n int) int {
	end := -1
	for range n {
		length := strings.IndexByte(lines[end+1:], '\n')
		if length < 0 {
			return len(lines)
		}
		end += 1 + length
	}
	return end
}
