package script

import (
	"encoding/json"
	"net/url"
	"slices"
	"time"
)

// Recording notes what a script acts on while it is saved. One goroutine uses it.
type Recording struct {
	saved Saved
	in    inputs
	visit Visit
	begun int       // index of the act that began the visit; -1: there is none yet
	there []Element // what was on the page when the visit began
	used  []Element // of those, what the script has acted on since
}

// NewRecording begins the recording of a run.
func NewRecording(code string, input json.RawMessage) *Recording {
	return &Recording{saved: Saved{Version: SavedVersion, Code: code, Acts: []Act{}}, in: inputsOf(input), begun: -1}
}

// Begins reports whether a step on that page is the first one there: Add then takes what is on
// the page.
func (r *Recording) Begins(v Visit) bool { return r.begun < 0 || r.visit != v }

// Add notes a step. there are the elements on the page, if the step is the first one there.
func (r *Recording) Add(a Acting, there []Element) {
	i := slices.IndexFunc(r.saved.Acts, func(s Act) bool { return s.Line == a.Line && s.Column == a.Column })
	first := i < 0
	if first {
		i = len(r.saved.Acts)
		r.saved.Acts = append(r.saved.Acts, Act{Line: a.Line, Column: a.Column})
	}
	if r.Begins(a.Visit) {
		r.end()
		r.visit, r.begun, r.there = a.Visit, i, there
	}
	s := &r.saved.Acts[i]
	s.AgeMS = max(s.AgeMS, int(a.Age.Milliseconds()))
	if page := r.in.page(a.Page); !slices.Contains(s.Pages, page) {
		s.Pages = append(s.Pages, page)
	}
	elements := make([]Element, len(a.Elements))
	for j, e := range a.Elements {
		elements[j] = r.in.element(e)
		if e := elements[j]; e.fixed() && slices.Contains(r.there, e) && !slices.Contains(r.used, e) {
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

// both returns what two elements, on which the script acted from one place, have in common.
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

// end completes the visit: what it used of the page, each other visit that began in the same
// place must have used too.
func (r *Recording) end() {
	if r.begun < 0 {
		return
	}
	s := &r.saved.Acts[r.begun]
	if !s.Begins {
		s.Begins, s.Present = true, r.used
	} else {
		s.Present = slices.DeleteFunc(s.Present, func(e Element) bool { return !slices.Contains(r.used, e) })
	}
	r.begun, r.there, r.used = -1, nil, nil
}

// Saved returns what is to be kept, when the script has ended.
func (r *Recording) Saved() Saved {
	r.end()
	return r.saved
}

// Replay compares what a saved script is about to act on with what it acted on when it was
// saved. One goroutine uses it.
type Replay struct {
	saved Saved
	in    inputs
	visit Visit
	begun bool // visit has been compared
}

// NewReplay begins a replay with an input.
func NewReplay(s Saved, input json.RawMessage) *Replay {
	return &Replay{saved: s, in: inputsOf(input)}
}

// act returns what was recorded for a place in the code, nil for one from which the script did
// not act.
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
		// Pages that differed from pass to pass of a loop are the page's data: their origin is compared.
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

// Difference is an element that was recorded, and the one that is there in its place.
type Difference struct{ Was, Is Element }

// Elements returns which of the step's elements are not those that were recorded.
func (r *Replay) Elements(a Acting) (differ []Difference) {
	s := r.act(a.Line, a.Column)
	if s == nil || len(s.Elements) != len(a.Elements) {
		return nil
	}
	for i, e := range a.Elements {
		if !r.in.fits(s.Elements[i], e) {
			differ = append(differ, Difference{s.Elements[i], e})
		}
	}
	return differ
}

// Begins reports whether a step on that page is the first one there: Missing then says what is
// not there.
func (r *Replay) Begins(v Visit) bool { return !r.begun || r.visit != v }

// Began notes that the page has been compared.
func (r *Replay) Began(v Visit) { r.visit, r.begun = v, true }

// Missing returns the elements that the script acted on when it was saved, from this step on, and
// that are not among those on the page. Where the page had several states at that step's
// address, it is compared with the one that it is most like.
func (r *Replay) Missing(a Acting, there []Element) []Element {
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
		if missing := lacks(present, there); i == 0 || len(missing) < len(least) {
			least = missing
		}
	}
	return least
}

// Acts reports whether a step was recorded for that place in the code.
func (r *Replay) Acts(a Acting) bool { return r.act(a.Line, a.Column) != nil }

// maxLonger is the largest value of Longer.
const maxLonger = 10 * time.Second

// Longer returns how much longer than others a page may rest before a step from there: what comes
// by a timer came no later in the page's life when the script was saved.
func (r *Replay) Longer(a Acting) time.Duration {
	if s := r.act(a.Line, a.Column); s != nil {
		return min(2*time.Duration(s.AgeMS)*time.Millisecond, maxLonger)
	}
	return 0
}

// Lost returns what a step that found nothing to act on looks for in vain: the elements recorded
// for its place in the code that are known by their names and not on the page.
func (r *Replay) Lost(a Acting, there []Element) (missing []Element) {
	s := r.act(a.Line, a.Column)
	if s == nil {
		return nil
	}
	return lacks(slices.DeleteFunc(slices.Clone(s.Elements), func(e Element) bool { return !e.fixed() }), there)
}

// New reports whether no step of the script was recorded with this element.
func (r *Replay) New(e Element) bool {
	for _, s := range r.saved.Acts {
		if slices.ContainsFunc(slices.Concat(s.Elements, s.Present), func(k Element) bool { return k.fixed() && k == e }) {
			return false
		}
	}
	return true
}

func lacks(wanted, there []Element) (missing []Element) {
	for _, e := range wanted {
		if !slices.Contains(there, e) {
			missing = append(missing, e)
		}
	}
	return missing
}
