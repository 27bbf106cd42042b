package snapshot

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/browserd/browserd/protocol"
)

// The limits of what Refs keeps for one session.
const (
	maxLive     = 50000 // refs of nodes whose document is not gone
	maxDead     = 20000 // refs whose node is gone, kept for the message of stale_ref
	maxDeadName = 80    // characters of such a ref's name
)

// Refs gives the nodes of one session their refs. N counts up from 1 and is never
// used twice; a node keeps its ref until its document is gone. Use NewRefs. Not safe
// for use by several goroutines at a time.
type Refs struct {
	last    int            // the highest N so far
	round   uint64         // counts calls of Render, Number and Move
	entries map[int]*entry // by N: live refs, and dead ones that are kept
	docs    map[int]*docRefs
	live    int    // how many entries are live
	dead    []int  // the dead refs that are kept, oldest first
	before  string // see Follow
}

// Entry is one ref and what the client last saw of its node.
type Entry struct {
	N       int // the ref is @eN
	Key     Key
	Role    string
	Name    string
	Tag     string
	Ident   string // as in Node
	Context string // as in Node
}

// Ref returns the ref, such as "@e5".
func (e Entry) Ref() string { return RefOf(e.N) }

// LooksLikeRef tells whether s has the form of a ref.
func LooksLikeRef(s string) bool {
	_, err := NewRefs().Lookup(s)
	return protocol.CodeOf(err) == protocol.UnknownRef
}

// RefOf returns the ref with the number n, such as "@e5".
func RefOf(n int) string { return "@e" + strconv.Itoa(n) }

type entry struct {
	Entry
	round uint64 // Refs.round when the client last saw it
	moved int    // the N of the node that this ref now means, 0 if it has not moved
	gone  bool   // its document is gone
}

// docRefs has the refs of one document.
type docRefs struct {
	byNode map[int]*entry // by Key.Node
	moved  []int          // refs that now mean a node of this document
}

// NewRefs returns a Refs without refs.
func NewRefs() *Refs {
	return &Refs{entries: map[int]*entry{}, docs: map[int]*docRefs{}}
}

// Number returns N of the ref of n.Key, a new one if the node has none, and records
// n as what the client now sees. It returns 0 for the zero Key.
func (r *Refs) Number(n Node) int {
	if n.Key == (Key{}) {
		return 0
	}
	r.begin()
	e := r.number(n.Key)
	r.show(e, &n)
	return e.N
}

// Seen returns N of key's ref, if it has one.
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

// ForParameter returns an error for an element that the client gave in the parameter name, or
// in a part of it, such as fields[1].ref. Where the error was made, the parameter was called ref.
func ForParameter(name string, err error) error {
	var e *protocol.Error
	if errors.As(err, &e) && e.Code == protocol.InvalidParams && e.Details["parameter"] == "ref" {
		if rest, named := strings.CutPrefix(e.Message, "ref"); named {
			e.Message = name + rest
		}
		parameter, _, _ := strings.Cut(name, "[")
		e.With("parameter", parameter)
	}
	return err
}

// Follow says that the client has refs of an earlier session, and in a sentence how that one
// ended. A ref that this session has not given out is stale_ref then, with that sentence.
func (r *Refs) Follow(ended string) { r.before = ended }

// Last returns the highest number of a ref so far.
func (r *Refs) Last() int { return r.last }

// Continue makes the next ref the one above last. Lower ones are stale_ref: another Refs of the
// same session has given them out.
func (r *Refs) Continue(last int) { r.last = last }

// Lookup returns the node that ref means, and what the client last saw of it. It
// accepts @e5, e5, ref=e5 and ref=@e5. For a ref that has moved (Move), the entry is
// that of the node that it now means, N included. Errors are *protocol.Error:
// invalid_params if ref does not have the form of a ref, unknown_ref if the session
// never had it, stale_ref if its document is gone. That one has no candidates, because
// nothing of the document is left to compare.
func (r *Refs) Lookup(ref string) (Entry, error) {
	n, ok := parseRef(ref)
	if !ok {
		return Entry{}, protocol.Errorf(protocol.InvalidParams, "ref %s is not a ref", Quote(Cut(ref, maxDeadName))).
			With("parameter", "ref").Then("write a ref as a snapshot shows it, such as @e5, or a locator: %s", protocol.LocatorForms)
	}
	if n > r.last && r.before != "" {
		return Entry{}, protocol.Errorf(protocol.StaleRef, "%s is gone: %s", shownRef(ref), r.before).
			With("candidates", []any{}).Then("open the page again and use a ref from its snapshot")
	}
	if n < 1 || n > r.last {
		err := protocol.Errorf(protocol.UnknownRef, "%s was never given out in this session", shownRef(ref))
		if r.last > 0 {
			err.With("highest", RefOf(r.last))
		}
		return Entry{}, err
	}
	e := r.resolve(n)
	if e != nil && !e.gone {
		return e.Entry, nil
	}
	message := RefOf(n) + " is gone"
	if e != nil && e.Role != "" {
		message += ": it was " + roleWord(e.Role)
		if e.Name != "" {
			message += " " + Quote(Cut(e.Name, maxDeadName))
		}
	}
	return Entry{}, protocol.Errorf(protocol.StaleRef, "%s", message).
		With("candidates", []any{}).Then("take a snapshot and use a ref from it")
}

// Move makes the ref n mean the node to, and returns to's entry. The source has found
// that the page replaced the old node by this one. The new node has a ref of its own,
// which is shown from now on; n stays valid and means the new node too. If the old
// node comes back it gets a new ref: n never means two nodes.
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
	// Only the target's entry is used from now on.
	*old = entry{Entry: Entry{N: old.N}, round: r.round, moved: m}
	return target.Entry
}

// Shared reports whether the client saw, together with the node of the ref n, another
// node of the same document with the same role, name, tag, Ident and Context. A node
// found later could then be either of the two.
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

// Forget drops the refs of a document that is gone. From now on Lookup returns
// stale_ref for them. Its message says what the ref was, for the last 20,000 refs.
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
			r.retire(e)
		}
	}
}

// begin starts a round, and evicts refs if long-lived documents have too many.
func (r *Refs) begin() {
	r.round++
	if r.live > maxLive {
		r.evict(maxLive * 3 / 4)
	}
}

// evict buries the live refs that the client saw least recently, until keep are left.
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
		r.retire(e)
	}
	for _, d := range r.docs {
		d.moved = slices.DeleteFunc(d.moved, func(n int) bool {
			e := r.entries[n]
			return e == nil || e.gone
		})
	}
}

// number returns key's entry, a new one if it has none. It does not record what the
// client sees.
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

// releaseNumbers removes the refs above last: their lines did not fit into the text.
func (r *Refs) releaseNumbers(last int) {
	for ; r.last > last; r.last-- {
		key := r.entries[r.last].Key
		delete(r.docs[key.Doc].byNode, key.Node)
		delete(r.entries, r.last)
		r.live--
	}
}

// show records what the client sees of e's node, and returns what it saw before. It
// copies the strings, because a ref lives much longer than the text that they are
// part of. It does not copy Context, which many nodes share.
func (r *Refs) show(e *entry, n *Node) (was Entry) {
	was = e.Entry
	e.round, e.Context = r.round, n.Context
	if e.Role == n.Role && e.Name == n.Name && e.Tag == n.Tag && e.Ident == n.Ident {
		return was
	}
	own := strings.Join([]string{n.Role, n.Name, n.Tag, n.Ident}, "") // always a copy
	e.Role, own = own[:len(n.Role)], own[len(n.Role):]
	e.Name, own = own[:len(n.Name)], own[len(n.Name):]
	e.Tag, e.Ident = own[:len(n.Tag)], own[len(n.Tag):]
	return was
}

// restore records was as what the client last saw: a delta left out what came after.
func (r *Refs) restore(was Entry) {
	if e := r.entries[was.N]; e != nil && !e.gone && e.moved == 0 {
		e.Entry = was
	}
}

// resolve returns the entry of the node that the ref n now means, nil if it is not kept.
func (r *Refs) resolve(n int) *entry {
	e := r.entries[n]
	for e != nil && !e.gone && e.moved != 0 {
		e = r.entries[e.moved]
	}
	return e
}

// retire reduces e to what the message of stale_ref needs. For a ref that has moved that is
// the node that it last meant.
func (r *Refs) retire(e *entry) {
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

// parseRef returns N of a ref. A number too large for an int has the form of a ref: it
// returns 0, which no ref has.
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

// shownRef returns a ref of the right form for a message.
func shownRef(ref string) string {
	return Cut("@"+strings.TrimPrefix(strings.TrimPrefix(ref, "ref="), "@"), 24)
}
