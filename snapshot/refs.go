package snapshot

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/browserd/browserd/protocol"
)

// What a session remembers of its refs is bounded by these.
const (
	maxLive     = 50000 // refs of nodes whose document is there
	maxDead     = 20000 // refs that are gone, kept to say what they were
	maxDeadName = 80    // characters of a gone ref's name
)

// Refs numbers the refs of one session. N counts up from 1 and is never used
// twice; a node keeps its number for as long as its document lives. Use
// NewRefs. Not safe for use by several goroutines at a time.
type Refs struct {
	last    int            // the highest number given out
	round   uint64         // counts the showings: renders, and single Numbers
	entries map[int]*entry // live ones and remembered dead ones
	docs    map[int]*docRefs
	live    int
	dead    []int // the remembered dead ones, the longest gone first
}

// Entry is one ref and what the client was last shown of its node.
type Entry struct {
	N       int
	Key     Key
	Role    string
	Name    string
	Tag     string
	Ident   string
	Context string
}

// Ref returns the ref as it is written, "@e5".
func (e Entry) Ref() string { return formatRef(e.N) }

func formatRef(n int) string { return "@e" + strconv.Itoa(n) }

type entry struct {
	Entry
	round uint64 // when it was last shown
	moved int    // not 0: the number of the node that this ref now means
	gone  bool
}

// docRefs are the refs of one document.
type docRefs struct {
	byNode map[int]*entry
	moved  []int // refs that now mean a node of this document
}

// NewRefs returns a Refs that has given out nothing.
func NewRefs() *Refs {
	return &Refs{entries: map[int]*entry{}, docs: map[int]*docRefs{}}
}

// Number returns the number of n.Key's ref, a new one where the node has none,
// and records n as what the client is now shown of it. A zero key has no ref: 0.
func (r *Refs) Number(n Node) int {
	if n.Key == (Key{}) {
		return 0
	}
	r.begin()
	e := r.number(n.Key)
	r.show(e, &n)
	return e.N
}

// Seen returns the number of key's ref, if it has one.
func (r *Refs) Seen(key Key) (int, bool) {
	d, ok := r.docs[key.Doc]
	if !ok {
		return 0, false
	}
	e, ok := d.byNode[key.Node]
	if !ok {
		return 0, false
	}
	return e.N, true
}

// ForParameter is the error of Lookup for a ref that stood in another parameter than
// ref.
func ForParameter(name string, err error) error {
	var e *protocol.Error
	if errors.As(err, &e) && e.Code == protocol.InvalidParams && e.Details["parameter"] == "ref" {
		e.Message = name + strings.TrimPrefix(e.Message, "ref")
		e.With("parameter", name)
	}
	return err
}

// Lookup returns the node that ref means, and what the client was last shown of
// it. A ref is written @e5, and taken as e5, ref=e5 and ref=@e5 as well. Where
// the ref has moved (Move), the entry is that of the node that it means now, N
// included. Errors are *protocol.Error: invalid_params where ref is not written
// like one, unknown_ref where it was never given out, stale_ref where its
// document is gone; that one has no candidates, since nothing of the document
// is left to compare.
func (r *Refs) Lookup(ref string) (Entry, error) {
	n, ok := parseRef(ref)
	if !ok {
		return Entry{}, protocol.Errorf(protocol.InvalidParams, "ref %s is not a ref", Quote(Cut(ref, maxDeadName))).
			With("parameter", "ref").Then("write a ref as a snapshot shows it, such as @e5")
	}
	if n < 1 || n > r.last {
		err := protocol.Errorf(protocol.UnknownRef, "%s was never given out in this session", shownRef(ref))
		if r.last > 0 {
			err.With("highest", formatRef(r.last))
		}
		return Entry{}, err
	}
	e := r.resolve(n)
	if e != nil && !e.gone {
		return e.Entry, nil
	}
	message := formatRef(n) + " is gone"
	if e != nil && e.Role != "" {
		message += ": it was " + roleWord(e.Role)
		if e.Name != "" {
			message += " " + Quote(Cut(e.Name, maxDeadName))
		}
	}
	return Entry{}, protocol.Errorf(protocol.StaleRef, "%s", message).
		With("candidates", []any{}).Then("take a snapshot and use a ref from it")
}

// Move makes the ref n mean the node to, which its source has found to be the
// same element made anew, and returns to's entry. The new node has a number of
// its own, which is what is shown from now on; n stays good and means it too.
// The old node, should it come back, gets a new number: n never means two.
func (r *Refs) Move(n int, to Node) Entry {
	m := r.Number(to)
	target := r.entries[m]
	if target == nil {
		return Entry{}
	}
	old := r.resolve(n)
	if old == nil || old.gone || old == target {
		return target.Entry
	}
	if d := r.docs[old.Key.Doc]; d != nil {
		delete(d.byNode, old.Key.Node)
	}
	d := r.docs[to.Key.Doc]
	d.moved = append(d.moved, old.N)
	// What the old node was is of no use any more: the target's entry answers.
	*old = entry{Entry: Entry{N: old.N}, round: r.round, moved: m}
	return target.Entry
}

// Shared tells whether the client was shown, beside the node of the ref n and at the
// same time, another one of the same document that is the same to it: of what is
// found later nobody can say which of the two it is.
func (r *Refs) Shared(n int) bool {
	e := r.resolve(n)
	if e == nil || e.gone {
		return false
	}
	d := r.docs[e.Key.Doc]
	if d == nil {
		return false
	}
	for _, o := range d.byNode {
		if o != e && o.round == e.round && o.Role == e.Role && o.Name == e.Name && o.Tag == e.Tag && o.Ident == e.Ident && o.Context == e.Context {
			return true
		}
	}
	return false
}

// Forget drops what is known of a document that is gone. Its refs answer
// stale_ref from now on, with what they were for as long as that is remembered.
func (r *Refs) Forget(doc int) {
	d, ok := r.docs[doc]
	if !ok {
		return
	}
	delete(r.docs, doc)
	ns := d.moved
	for _, e := range d.byNode {
		ns = append(ns, e.N)
	}
	slices.Sort(ns)
	for _, n := range ns {
		if e := r.entries[n]; e != nil && !e.gone {
			r.bury(e)
		}
	}
}

// begin starts a showing, and makes room where the refs of long-lived documents
// have become too many.
func (r *Refs) begin() {
	r.round++
	if r.live > maxLive {
		r.evict(maxLive * 3 / 4)
	}
}

// evict buries the live refs that were not shown for longest until keep are left.
func (r *Refs) evict(keep int) {
	live := make([]*entry, 0, r.live)
	for _, e := range r.entries {
		if !e.gone {
			live = append(live, e)
		}
	}
	slices.SortFunc(live, func(a, b *entry) int {
		if a.round != b.round {
			if a.round < b.round {
				return -1
			}
			return 1
		}
		return a.N - b.N
	})
	for _, e := range live[:max(0, len(live)-keep)] {
		if d := r.docs[e.Key.Doc]; d != nil {
			delete(d.byNode, e.Key.Node)
		}
		r.bury(e)
	}
	for _, d := range r.docs {
		d.moved = slices.DeleteFunc(d.moved, func(n int) bool {
			e := r.entries[n]
			return e == nil || e.gone
		})
	}
}

// number returns key's entry, a new one where it has none; nothing is recorded
// as shown.
func (r *Refs) number(key Key) *entry {
	d := r.docs[key.Doc]
	if d == nil {
		d = &docRefs{byNode: map[int]*entry{}}
		r.docs[key.Doc] = d
	}
	if e, ok := d.byNode[key.Node]; ok {
		return e
	}
	r.last++
	e := &entry{Entry: Entry{N: r.last, Key: key}}
	d.byNode[key.Node] = e
	r.entries[r.last] = e
	r.live++
	return e
}

// takeBack undoes every number above last: they were given to lines that were
// not shown after all.
func (r *Refs) takeBack(last int) {
	for ; r.last > last; r.last-- {
		key := r.entries[r.last].Key
		delete(r.docs[key.Doc].byNode, key.Node)
		delete(r.entries, r.last)
		r.live--
	}
}

// show records what the client is shown of e's node and returns what it was
// shown before. A ref outlives by far what its node was read from, so it has strings of
// its own; but for Context, which many nodes have in common.
func (r *Refs) show(e *entry, n *Node) (was Entry) {
	was = e.Entry
	e.round, e.Context = r.round, n.Context
	if e.Role == n.Role && e.Name == n.Name && e.Tag == n.Tag && e.Ident == n.Ident {
		return was
	}
	own := strings.Join([]string{n.Role, n.Name, n.Tag, n.Ident}, "") // never one of them itself
	e.Role, own = own[:len(n.Role)], own[len(n.Role):]
	e.Name, own = own[:len(n.Name)], own[len(n.Name):]
	e.Tag, e.Ident = own[:len(n.Tag)], own[len(n.Tag):]
	return was
}

// restore makes was what the client was last shown: what came after did not
// reach it.
func (r *Refs) restore(was Entry) {
	if e := r.entries[was.N]; e != nil && !e.gone && e.moved == 0 {
		e.Entry = was
	}
}

func (r *Refs) resolve(n int) *entry {
	e := r.entries[n]
	for e != nil && !e.gone && e.moved != 0 {
		e = r.entries[e.moved]
	}
	return e
}

// bury keeps of e what the stale_ref message needs. A ref that had moved is
// told by what it meant last.
func (r *Refs) bury(e *entry) {
	if t := r.resolve(e.N); t != nil && t != e {
		e.Role, e.Name = t.Role, t.Name
	}
	name := strings.Clone(Cut(e.Name, maxDeadName))
	*e = entry{Entry: Entry{N: e.N, Role: e.Role, Name: name}, gone: true}
	r.live--
	r.dead = append(r.dead, e.N)
	if len(r.dead) > maxDead {
		delete(r.entries, r.dead[0])
		r.dead = r.dead[1:]
	}
}

// parseRef reads a ref's number. One too large for an int is a ref all the
// same, and one that nobody was given.
func parseRef(s string) (n int, ok bool) {
	s = strings.TrimPrefix(s, "ref=")
	s = strings.TrimPrefix(s, "@")
	digits, ok := strings.CutPrefix(s, "e")
	if !ok || digits == "" || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			return 0, false
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0, true
	}
	return n, true
}

// shownRef returns a well written ref as the messages show it.
func shownRef(ref string) string {
	return Cut("@"+strings.TrimPrefix(strings.TrimPrefix(ref, "ref="), "@"), 24)
}
