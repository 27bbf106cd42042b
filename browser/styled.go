package browser

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
)

// styleMode says how a walk reads styles (js/style.js).
type styleMode string

const (
	liveStyles styleMode = ""
	newStyles  styleMode = "new"
	keptStyles styleMode = "kept"
)

// manyStyles is how many elements a walk has to look at for it to be worth a question
// whether their styles are still the same.
const manyStyles = 300

// styled is what is known of the styles that the walks of a document read. Where Blink has
// worked out nothing from behind one walk until behind the next, all that was read between
// the two is of one state of the document.
type styled struct {
	count styleCount // behind the last walk, where it is there,
	asked *Pending   // and where it is awaited; otherwise nil
	kept  bool       // the last walk kept what it read, or found it kept,
	since styleCount // with that count before it
	stirs int64      // the tab's then
	many  bool       // it looked at so many elements that it is worth a question
	heard bool       // Blink counts
}

// styleCount is how often Blink has worked out styles and layouts
// (Performance.getMetrics): of a container query it works out the styles while it lays out.
type styleCount struct {
	known           bool
	styles, layouts float64
}

// begin says how the next walk reads styles. A page to which something was done is taken
// for another.
func (s *styled) begin(ctx context.Context, t *tab) styleMode {
	stirs := t.stirs.Load()
	if s.asked != nil && stirs == s.stirs {
		s.answer(ctx, t)
	}
	mode := liveStyles
	switch quiet := s.many && s.count.known && s.count == s.since && stirs == s.stirs; {
	case quiet && s.kept:
		mode = keptStyles
	case quiet:
		mode = newStyles
	}
	*s = styled{since: s.count, kept: mode != liveStyles, stirs: stirs, many: s.many, heard: s.heard}
	return mode
}

// ask asks for the count behind a walk that has answered: Chromium answers this question
// in the middle of a script that runs.
func (s *styled) ask(target *Session) {
	if !s.many {
		return
	}
	if !s.heard {
		target.Send(performance.Enable.Method, cdp.Empty{})
		s.heard = true
	}
	s.asked = target.Send(performance.GetMetrics.Method, cdp.Empty{})
}

// held says, behind a walk that took styles as they were kept, whether they still were that.
func (s *styled) held(ctx context.Context, t *tab) bool {
	s.answer(ctx, t)
	s.kept = s.count.known && s.count == s.since
	return s.kept
}

// answer waits for the count that ask has asked for.
func (s *styled) answer(ctx context.Context, t *tab) {
	var got performance.GetMetricsResult
	err := t.wait(ctx, s.asked, &got)
	s.asked = nil
	if err != nil {
		return
	}
	for _, m := range got.Metrics {
		switch m.Name {
		case "RecalcStyleCount":
			s.count.styles, s.count.known = m.Value, true
		case "LayoutCount":
			s.count.layouts = m.Value
		}
	}
}
