package script

import (
	"encoding/json"
	"net/url"
	"slices"
	"time"
)

// Recording records what a script acts on while it is saved. One goroutine uses it.
type Recording struct {
	saved    Saved
	in       inputs
	visit    Visit
	visitAct int       // index of the act that began the visit; -1: there is none yet
	page     []Element // the elements on the page when the visit began
	used     []Element // of those, what the script has acted on since
}

// NewRecording begins the recording of a run.
func NewRecording(code string, input json.RawMessage) *Recording {
	return &Recording{saved: Saved{Version: SavedVersion, Code: code, Acts: []Act{}}, in: inputsOf(input), visitAct: -1}
}

// IsNewVisit reports whether a step on that page is the first one there. Add then needs the
// elements on the page.
func (r *Recording) IsNewVisit(v Visit) bool { return r.visitAct < 0 || r.visit != v }

// Add records a step. elements are those on the page, if IsNewVisit.
func (r *Recording) Add(a Acting, page []Element) {
	i := slices.IndexFunc(r.saved.Acts, func(s Act) bool { return s.Line == a.Line && s.Column == a.Column })
	first := i < 0
	if first {
		i = len(r.saved.Acts)
		r.saved.Acts = append(r.saved.Acts, Act{Line: a.Line, Column: a.Column})
	}
	if r.IsNewVisit(a.Visit) {
		r.end()
		r.visit, r.visitAct, r.page = a.Visit, i, page
	}
	s := &r.saved.Acts[i]
	s.AgeMS = max(s.AgeMS, int(a.Age.Milliseconds()))
	if address := r.in.page(a.Page); !slices.Contains(s.Pages, address) {
		s.Pages = append(s.Pages, address)
	}
	elements := make([]Element, len(a.Elements))
	for j, e := range a.Elements {
		elements[j] = r.in.element(e)
		if e := elements[j]; e.fixed() && slices.Contains(r.page, e) && !slices.Contains(r.used, e) {
			r.used = append(r.used, e)
		}
		if elements[j].Any {
			elements[j].Name, elements[j].Input = "", ""
		}
	}
	switch {
	case first:
		s.Elements = elements
	case len(s.Elements) != len(elements):
		s.Elements = nil
	default:
		for j, e := range elements {
			s.Elements[j] = both(s.Elements[j], e)
		}
	}
}

// both returns what two elements have in common on which the script acted from one place.
func both(a, b Element) Element {
	if a == b {
		return a
	}
	c := Element{Role: a.Role, Any: true}
	if a.Role != b.Role {
		c.Role = ""
	}
	return c
}

// end completes the visit. Of the elements that were used, it keeps those that every visit used
// that began in the same place of the code.
func (r *Recording) end() {
	if r.visitAct < 0 {
		return
	}
	s := &r.saved.Acts[r.visitAct]
	if !s.Begins {
		s.Begins, s.Present = true, r.used
	} else {
		s.Present = slices.DeleteFunc(s.Present, func(e Element) bool { return !slices.Contains(r.used, e) })
	}
	r.visitAct, r.page, r.used = -1, nil, nil
}

// Saved returns what to store, when the script has ended.
func (r *Recording) Saved() Saved {
	r.end()
	return r.saved
}

// Replay compares what a saved script is about to act on with what it acted on when it was
// saved. One goroutine uses it.
type Replay struct {
	saved    Saved
	in       inputs
	visit    Visit
	compared bool // visit was compared
}

// NewReplay begins a replay with an input.
func NewReplay(s Saved, input json.RawMessage) *Replay {
	return &Replay{saved: s, in: inputsOf(input)}
}

// act returns what was recorded for a place in the code, or nil if the script did not act from
// there.
func (r *Replay) act(line, column int) *Act {
	for i, s := range r.saved.Acts {
		if s.Line == line && s.Column == column {
			return &r.saved.Acts[i]
		}
	}
	return nil
}

// Pages returns the addresses that were recorded for a step, if the page is none of them; of a
// step that was not recorded, those of all steps.
func (r *Replay) Pages(a Acting) []string {
	var recorded []string
	if s := r.act(a.Line, a.Column); s != nil {
		recorded = s.Pages
		// Addresses that differed between passes of a loop are data: only their origin is compared.
		if len(recorded) > 1 && slices.ContainsFunc(recorded, func(p string) bool { return originOf(p) == originOf(a.Page) }) {
			return nil
		}
	} else {
		for _, s := range r.saved.Acts {
			for _, page := range s.Pages {
				if !slices.Contains(recorded, page) {
					recorded = append(recorded, page)
				}
			}
		}
	}
	if len(recorded) == 0 || slices.ContainsFunc(recorded, func(p string) bool { return r.in.onPage(p, a.Page) }) {
		return nil
	}
	return recorded
}

func originOf(page string) string {
	u, err := url.Parse(page)
	if err != nil || u.Host == "" {
		return page
	}
	return u.Scheme + "://" + u.Host
}

// Difference is an element that was recorded, and the one that is now in its place.
type Difference struct{ Was, Is Element }

// Elements returns which of the step's elements are not those that were recorded.
func (r *Replay) Elements(a Acting) (differ []Difference) {
	s := r.act(a.Line, a.Column)
	if s == nil || len(s.Elements) != len(a.Elements) {
		return nil
	}
	for i, e := range a.Elements {
		if !r.in.matches(s.Elements[i], e) {
			differ = append(differ, Difference{s.Elements[i], e})
		}
	}
	return differ
}

// IsNewVisit reports whether a step on that page is the first one there. Missing then returns
// what the page lacks.
func (r *Replay) IsNewVisit(v Visit) bool { return !r.compared || r.visit != v }

// VisitCompared records that the page was compared.
func (r *Replay) VisitCompared(v Visit) { r.visit, r.compared = v, true }

// Missing returns the elements that the script acted on when it was saved, from this step on, and
// that are not among those on the page. If the page had several states at that step's
// address, it is compared with the most similar one.
func (r *Replay) Missing(a Acting, page []Element) []Element {
	var states [][]Element
	if s := r.act(a.Line, a.Column); s != nil && s.Begins {
		states = append(states, s.Present)
	} else {
		for _, s := range r.saved.Acts {
			if s.Begins && slices.ContainsFunc(s.Pages, func(p string) bool { return r.in.onPage(p, a.Page) }) {
				states = append(states, s.Present)
			}
		}
	}
	var least []Element
	for i, present := range states {
		if missing := missingFrom(page, present); i == 0 || len(missing) < len(least) {
			least = missing
		}
	}
	return least
}

// HasAct reports whether a step was recorded for that place in the code.
func (r *Replay) HasAct(a Acting) bool { return r.act(a.Line, a.Column) != nil }

// maxExtraWait is the largest value of ExtraWait.
const maxExtraWait = 10 * time.Second

// ExtraWait returns how much longer than others a page may take before a step from there: at least
// the age that the page had at that step when the script was saved, for what appears by a timer.
func (r *Replay) ExtraWait(a Acting) time.Duration {
	if s := r.act(a.Line, a.Column); s != nil {
		return min(2*time.Duration(s.AgeMS)*time.Millisecond, maxExtraWait)
	}
	return 0
}

// NotFound returns what a step looked for that found nothing to act on: the elements recorded for
// its place in the code that have a fixed name and are not on the page.
func (r *Replay) NotFound(a Acting, page []Element) (missing []Element) {
	s := r.act(a.Line, a.Column)
	if s == nil {
		return nil
	}
	return missingFrom(page, slices.DeleteFunc(slices.Clone(s.Elements), func(e Element) bool { return !e.fixed() }))
}

// Unrecorded reports whether no step of the script was recorded with this element.
func (r *Replay) Unrecorded(e Element) bool {
	for _, s := range r.saved.Acts {
		if slices.ContainsFunc(slices.Concat(s.Elements, s.Present), func(k Element) bool { return k.fixed() && k == e }) {
			return false
		}
	}
	return true
}

// missingFrom returns those of the elements that are not on the page.
func missingFrom(page, elements []Element) (missing []Element) {
	for _, e := range elements {
		if !slices.Contains(page, e) {
			missing = append(missing, e)
		}
	}
	return missing
}
