package snapshot

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Render writes c as text (PROTOCOL.md section 5) and gives refs to the lines that
// it writes, and only to those. A key that comes a second time is left out. The
// Baseline returned is what the client has then: pass it to Diff.
//
// The text has at most o.MaxChars characters (Unicode code points), header and
// [more] line included, and at most o.MaxNodes lines with a ref. A text that these
// budgets end, ends between two lines: truncated and its reasons are set, the last
// line says how much is left and how to continue, and Stats.After is the last ref.
// The line names the budget to raise if there is no ref to continue after: none was
// written, or only nodes below max_depth are left. Where like siblings are left out between
// the lines, Stats.After is the last ref before the first of them. A name, text, value or attribute
// longer than o.MaxText characters is cut and ends with "…".
//
// The header's URL and title are cut without a reason, because a result's page has
// them whole. They are left out where MaxChars is below 400. The text is empty if
// not even the rest of the header fits.
func Render(c Capture, o Options, refs *Refs) (Snapshot, Baseline) {
	w := newWriter(&c, o, refs)
	stop := w.write()
	text, end := w.finish(stop)
	refs.releaseNumbers(end.lastNumber)
	baseline := w.baseline(text, end)
	baseline.part = baseline.part || o.Scope != "" || o.After != ""
	w.release()

	s := Snapshot{Text: text.all, Stats: Stats{
		InputNodes: c.Input, NodesVisited: c.Visited, NodesEmitted: end.emitted,
		Chars: text.chars, Truncated: text.reasons != 0, Reasons: text.reasons.words(),
	}}
	if text.after != 0 {
		s.Stats.After = RefOf(text.after)
	}
	if o.JSON {
		s.Nodes = w.nodes[:end.lines]
	}
	return s, baseline
}

// writer writes the lines of one snapshot.
type writer struct {
	c        *Capture
	maxChars int
	maxNodes int
	maxText  int
	refs     *Refs
	where    string

	body  []byte // the lines, a line break before each
	spans []span
	json  bool
	nodes []NodeJSON
	line  line

	now   place   // after the last line written
	safe  place   // the last place at which header and [more] certainly fit
	tight []place // the places after safe, at which they may fit

	nodesLeft, textsLeft int // lines after now; set by finish
	leastLeft            bool
}

// place is a place between two lines, with all that is needed to end the text there.
type place struct {
	next       int // index of the next node
	lines      int
	bytes      int // of body
	chars      int // of body
	emitted    int // lines with a ref
	lastRef    int
	lastNumber int // the highest ref so far
	cuts       int // strings cut at max_text
	folds      int // [more] lines of like siblings
	foldAfter  int // the last ref before the first one
}

// span is one line of the body. It begins after the line break that follows the
// span before it. The numbers are small because there are many spans.
type span struct {
	entry *entry // nil for a line without a ref
	node  int32  // index in Capture.Nodes
	end   int32  // in body, without the line break
}

// ending is a finished text.
type ending struct {
	all     string
	chars   int
	header  int // bytes of the header
	more    string
	cut     bool // a budget ends it
	reasons reasonSet
	after   int
}

func newWriter(c *Capture, o Options, refs *Refs) *writer {
	refs.begin()
	w := &writer{
		c: c, refs: refs, json: o.JSON,
		maxChars: o.MaxChars, maxNodes: o.MaxNodes, maxText: max(o.MaxText, 1),
	}
	w.where = where(c.URL, c.Title, w.maxText, w.maxChars)
	w.body = (*bodies.Get().(*[]byte))[:0]
	w.spans = make([]span, 0, len(c.Nodes))
	if w.json {
		w.nodes = make([]NodeJSON, 0, min(len(c.Nodes), 1024))
	}
	w.now.lastNumber = refs.last
	w.safe = w.now
	return w
}

// bodies has the bodies of finished writers, to be used again.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// maxBody is the largest body, in bytes, that is used again.
const maxBody = 256 << 10

// release returns the body to the pool. The text is a copy of it.
func (w *writer) release() {
	body := w.body
	w.body = nil
	if cap(body) <= maxBody {
		bodies.Put(&body)
	}
}

// write writes lines until a budget is full and returns that reason, 0 if it wrote
// all lines. Together with the header's reasons and the [more] line it may have
// written too much; finish corrects that.
func (w *writer) write() (stop reasonSet) {
	least := utf8.RuneCountInString(snapshotHeader(0, w.where))
	reserve := w.reserve()
	for i := range w.c.Nodes {
		n := &w.c.Nodes[i]
		kind := kindOf(n)
		if kind == noLine {
			w.now.next = i + 1
			continue
		}
		var e *entry
		ref := 0
		if kind == elementLine {
			if w.now.emitted >= w.maxNodes {
				return reasonsOf(reasonNodes)
			}
			e = w.refs.number(n.Key)
			if e.round == w.refs.round {
				w.now.next = i + 1 // this snapshot already has it
				continue
			}
			ref = e.N
		}
		w.line.fill(n, ref, w.maxText)
		w.line.after = w.now.lastRef
		w.body = append(w.body, '\n')
		start := len(w.body)
		w.body = w.line.append(w.body)
		chars := 1 + utf8.RuneCount(w.body[start:])
		if w.now.chars+chars+least > w.maxChars {
			w.body = w.body[:w.now.bytes]
			w.now.next = i
			return reasonsOf(reasonChars)
		}
		if e != nil {
			e.round = w.refs.round
			w.now.emitted++
			w.now.lastRef = ref
		}
		w.spans = append(w.spans, span{entry: e, node: int32(i), end: int32(len(w.body))})
		if w.json {
			w.nodes = append(w.nodes, w.line.json(n.Tag))
		}
		if w.line.run {
			if w.now.folds++; w.now.folds == 1 {
				w.now.foldAfter = w.now.lastRef
			}
		}
		w.now.next, w.now.bytes, w.now.lastNumber = i+1, len(w.body), w.refs.last
		w.now.lines++
		w.now.chars += chars
		w.now.cuts += w.line.cuts
		if w.now.chars+reserve <= w.maxChars {
			w.safe = w.now
		} else {
			w.tight = append(w.tight, w.now)
		}
	}
	return 0
}

// reserve returns how many characters the header and the [more] line have at
// most, wherever the text ends.
func (w *writer) reserve() int {
	lines := len(w.c.Nodes)
	header := snapshotHeader(reasonsOf(reasonOrder...), w.where)
	more := 0
	left := lines + max(w.c.Rest, w.c.RestTexts, 1)
	for _, r := range []rest{
		{what: restNodes, count: left, least: true, after: w.refs.last + lines},
		{what: restNodes, count: left, least: true, limit: reasonNodes},
		{what: restDeeper, count: left, least: true},
	} {
		more = max(more, 1+len(r.String()))
	}
	return utf8.RuneCountInString(header) + more
}

// finish joins header, lines and [more] line at the last place at which they fit,
// and returns that place.
func (w *writer) finish(stop reasonSet) (ending, place) {
	w.nodesLeft, w.textsLeft, w.leastLeft = count(w.c.Nodes[w.now.next:])
	text, fits := w.end(w.now, stop)
	if fits {
		return text, w.now
	}
	stop = reasonsOf(reasonChars) // this budget ends the text earlier than any other
	for _, p := range slices.Backward(w.tight) {
		if text, fits = w.end(p, stop); fits {
			return text, p
		}
	}
	text, fits = w.end(w.safe, stop)
	if fits {
		return text, w.safe
	}
	// Not even the [more] line of an empty text fits: w.safe is the start.
	return w.bare(text), w.safe
}

// end joins the text that ends at p, and reports whether it fits.
func (w *writer) end(p place, stop reasonSet) (_ ending, fits bool) {
	reasons := stop | reasonsOf(w.c.Reasons...)
	if p.cuts > 0 {
		reasons |= reasonsOf(reasonText)
	}
	r := w.left(p, stop, &reasons)
	header := snapshotHeader(reasons, w.where)
	more := ""
	if r != nil {
		more = "\n" + r.String()
	}
	free := w.maxChars - utf8.RuneCountInString(header) - p.chars
	if len(more) > free && r != nil && r.what == restCut {
		more = ""
	}
	text := ending{header: len(header), reasons: reasons}
	if r != nil {
		text.cut = r.what == restNodes || r.what == restTexts
		text.after = r.after
	}
	if p.foldAfter != 0 {
		text.after = p.foldAfter
	}
	if len(more) > free {
		return text, false
	}
	var all strings.Builder
	all.Grow(len(header) + p.bytes + len(more))
	all.WriteString(header)
	all.Write(w.body[:p.bytes])
	all.WriteString(more)
	text.all, text.chars, text.more = all.String(), w.maxChars-free+len(more), strings.TrimPrefix(more, "\n")
	return text, true
}

// left returns what the text that ends at p leaves out, nil for nothing. It adds a
// reason if the source left nodes out and gave none.
func (w *writer) left(p place, stop reasonSet, reasons *reasonSet) *rest {
	nodes, texts, least := count(w.c.Nodes[p.next:w.now.next])
	least = least || w.leastLeft || w.c.AtLeast
	nodes += w.nodesLeft + max(w.c.Rest, 0)
	texts += w.textsLeft + max(w.c.RestTexts, 0)
	ended := reasonsOf(reasonNodes, reasonChars)
	if nodes+texts > 0 && *reasons&(ended|reasonsOf(reasonDepth)) == 0 {
		*reasons |= reasonsOf(reasonNodes)
	}
	switch {
	case *reasons&ended != 0 && (p.folds == 0 || nodes+texts > 0 || least):
		r := rest{what: restNodes, count: max(nodes, 1), least: least || nodes == 0 && texts == 0, after: p.lastRef, limit: reasonChars}
		if nodes == 0 && texts > 0 && !least {
			r.what, r.count = restTexts, texts
		}
		if stop.has(reasonNodes) && !stop.has(reasonChars) {
			r.limit = reasonNodes
		}
		return &r
	case reasons.has(reasonDepth):
		return &rest{what: restDeeper, count: nodes, least: least && nodes > 0}
	case reasons.has(reasonText):
		return &rest{what: restCut, count: p.cuts, chars: w.maxText}
	}
	return nil
}

// count returns how many lines nodes have, with a ref and without. With least there are more:
// of like siblings it counts one line each.
func count(nodes []Node) (elements, texts int, least bool) {
	for i := range nodes {
		switch kindOf(&nodes[i]) {
		case elementLine:
			elements++
		case moreLine:
			if nodes[i].Role == RoleSiblings {
				elements, least = elements+nodes[i].More, true
				continue
			}
			texts++
		case textLine:
			texts++
		}
	}
	return elements, texts, least
}

// bare returns the text for a budget too small for a [more] line: the header, the
// header without URL and title, or nothing.
func (w *writer) bare(text ending) ending {
	text.after = 0
	for _, where := range []string{w.where, ""} {
		header := snapshotHeader(text.reasons, where)
		if n := utf8.RuneCountInString(header); n <= w.maxChars {
			text.all, text.chars, text.header = header, n, len(header)
			return text
		}
	}
	text.all, text.chars, text.header = "", 0, 0
	return text
}

// baseline records in refs what the client sees, and returns it.
func (w *writer) baseline(text ending, end place) Baseline {
	s := Baseline{
		lines: make([]shownLine, 0, end.lines), more: text.more, chars: text.chars, input: w.c.Input, visited: w.c.Visited,
		reasons: text.reasons, folds: end.folds > 0, fold: end.foldAfter,
		open: text.reasons&reasonsOf(reasonNodes, reasonChars) != 0 && (end.folds == 0 || text.cut),
	}
	start := text.header
	for _, sp := range w.spans[:end.lines] {
		stop := text.header + int(sp.end)
		l := shownLine{text: text.all[start+1 : stop]}
		start = stop
		if w.c.Nodes[sp.node].More > 0 {
			s.part = true
		}
		if sp.entry != nil {
			l.ref = sp.entry.N
			was := w.refs.show(sp.entry, &w.c.Nodes[sp.node])
			if was.Role != "" && was != sp.entry.Entry {
				if s.was == nil {
					s.was = map[int]Entry{}
				}
				s.was[l.ref] = was
			}
		}
		s.lines = append(s.lines, l)
	}
	return s
}
