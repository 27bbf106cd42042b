package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// walkAnswer is what is kept of an answer of __bd.walk: the next one leaves out the lines
// that both begin with, and those that both end with.
type walkAnswer struct {
	look  int // the number of its capture
	lines string
	count int // of the lines
}

// maxLook is the highest number of a capture; behind it they begin again. Of walks that
// failed nothing is kept, so that no number can be taken for an older one.
const maxLook = 8

// maxLines is how long the lines may be that are kept, in bytes.
const maxLines = 512 << 10

// walk walks the document.
func (d *document) walk(ctx context.Context, o walkOptions) (walked, error) {
	styled, t := &d.marks.styled, d.frame.tab
	o.Styles = styled.begin(ctx, t)
	got, err := d.walkOnce(ctx, o)
	styled.many = got.Visited >= manyStyles
	if err != nil || o.Styles != keptStyles || styled.held(ctx, t) {
		return got, err
	}
	o.Styles = liveStyles
	return d.walkOnce(ctx, o)
}

func (d *document) walkOnce(ctx context.Context, o walkOptions) (walked, error) {
	had := d.marks.answer
	o.Have = had.look
	d.marks.answer = walkAnswer{}
	var raw string
	if err := d.callMarked(ctx, "walk", o, &raw); err != nil {
		return walked{}, err
	}
	d.marks.styled.ask(d.cdp)
	head, answer, err := readAnswer(had, raw)
	if err != nil {
		return walked{}, err
	}
	if answer.look = o.Look; len(answer.lines) <= maxLines {
		d.marks.answer = answer
	}
	return decodeWalk(d.doc, head, answer)
}

// decodeWhole reads an answer that leaves nothing out.
func decodeWhole(doc int, raw string) (walked, error) {
	head, answer, err := readAnswer(walkAnswer{}, raw)
	if err != nil {
		return walked{}, err
	}
	return decodeWalk(doc, head, answer)
}

// readAnswer reads an answer, and puts in what it leaves out of had.
func readAnswer(had walkAnswer, raw string) (walkHead, walkAnswer, error) {
	first, lines, more := strings.Cut(raw, "\n")
	var head walkHead
	if err := json.Unmarshal([]byte(first), &head); err != nil {
		return head, walkAnswer{}, fmt.Errorf("decoding a walk: %w", err)
	}
	answer := walkAnswer{lines: lines}
	if more {
		answer.count = strings.Count(lines, "\n") + 1
	}
	before, after := head.Kept[0], head.Kept[1]
	if before < 0 || after < 0 || before > had.count || after > had.count-before {
		return head, answer, fmt.Errorf("decoding a walk: %v lines of %d are left out", head.Kept, had.count)
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
	return head, answer, nil
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
