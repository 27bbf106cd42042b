package browser

import (
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// What Chromium does not print is a wrong option, and the error names it.
func TestPDFRefusals(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<p>One page</p>`)
	for _, c := range []struct {
		o    protocol.PDF
		want string
	}{
		{protocol.PDF{PageRanges: "99"}, `invalid_params: options.page_ranges: accepts pages that the document has, such as 1-5, 8, not "99": Page range exceeds page count {"parameter":"options"}`},
		{protocol.PDF{PageRanges: "abc"}, `invalid_params: options.page_ranges: accepts pages that the document has, such as 1-5, 8, not "abc": Page range syntax error {"parameter":"options"}`},
		{protocol.PDF{PageRanges: "3-1"}, `invalid_params: options.page_ranges: accepts pages that the document has, such as 1-5, 8, not "3-1": Page range is invalid (start > end) {"parameter":"options"}`},
		{protocol.PDF{Scale: 5}, `invalid_params: options {"scale":5}: Chromium refuses that: scale is outside of [0.1 - 2] range {"parameter":"options"}`},
		{protocol.PDF{PaperWidth: -1}, `invalid_params: options {"paper_width":-1}: Chromium refuses that: paper width is zero or negative {"parameter":"options"}`},
	} {
		_, err := v.c.PDF(limit(t, 10*time.Second), c.o)
		equal(t, "refusal", answer(nil, err), c.want)
	}
	if _, err := v.c.PDF(limit(t, 10*time.Second), protocol.PDF{PageRanges: "1"}); err != nil {
		t.Error(err)
	}
}
