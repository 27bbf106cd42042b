package walk

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/browserd/browserd/browser/script"
)

// Answer is what is kept of an answer of script.Walk: the next one leaves out the lines
// that both begin with, and those that both end with. It belongs to the goroutine that
// walks the document.
type Answer struct {
	capture int // its number
	head    script.WalkHead
	lines   string
	count   int // of the lines
}

// maxCapture is the highest number of a capture; behind it they begin again. Of walks that
// failed nothing is kept, so that no number can be taken for an older one.
const maxCapture = 8

// NextCapture is the number of the capture after n.
func NextCapture(n int) int { return n%maxCapture + 1 }

// maxLines is how long the lines may be that are kept, in bytes.
const maxLines = 512 << 10

// Capture is the number of the capture that the answer is from (WalkOptions.Have), 0
// where nothing is kept.
func (a *Answer) Capture() int { return a.capture }

// Read reads the answer raw to the walk of a document for a capture, and keeps it in
// place of the last one.
func (a *Answer) Read(doc int, raw string, capture int) (Result, error) {
	last := *a
	*a = Answer{}
	answer, err := readAnswer(last, raw)
	if err != nil {
		return Result{}, err
	}
	if answer.capture = capture; len(answer.lines) <= maxLines {
		*a = answer
	}
	return decode(doc, answer)
}

// Decode reads an answer that leaves nothing out.
func Decode(doc int, raw string) (Result, error) {
	answer, err := readAnswer(Answer{}, raw)
	if err != nil {
		return Result{}, err
	}
	return decode(doc, answer)
}

// readAnswer reads an answer, and puts in what it leaves out of had.
func readAnswer(had Answer, raw string) (Answer, error) {
	first, lines, more := strings.Cut(raw, "\n")
	var head script.WalkHead
	if err := json.Unmarshal([]byte(first), &head); err != nil {
		return Answer{}, fmt.Errorf("decoding a walk: %w", err)
	}
	answer := Answer{head: head, lines: lines}
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
