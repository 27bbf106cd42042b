// Package walk reads the answers of script.Walk: what one walk of one document
// found, and how the walks of a page's frames are put together. It talks to no browser. Its values
// are for one goroutine at a time.
package walk

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/snapshot"
)

// Each document is Result in a world of its own, same-origin frames too.
// Result.Frames says where their lines belong.

// NewOptions returns the options of a walk of a whole document for a snapshot
// with options o. Scope and after are the caller's to set: they name nodes of one
// document.
func NewOptions(o snapshot.Options) script.WalkOptions {
	attrs := o.Attrs
	if attrs == nil {
		attrs = []string{}
	}
	return script.WalkOptions{
		Interactive: o.InteractiveOnly, MaxChars: o.MaxChars, MaxNodes: o.MaxNodes, MaxDepth: o.MaxDepth,
		MaxText: o.MaxText, Attrs: attrs, DedupeText: o.DedupeText,
	}
}

// Result is what one walk found in one document.
type Result struct {
	URL, Title string
	Nodes      []snapshot.Node
	// Frames are the places of child documents, in the order of Nodes.
	Frames []Place
	// Visited is how many elements were looked at, Elements how many there are.
	Visited, Elements int
	// Rest counts the nodes that are left out, RestTexts the texts; with AtLeast there are more.
	// RestFrames are the owners of the frames whose lines are left out.
	Rest, RestTexts int
	AtLeast         bool
	RestFrames      []int

	Reasons []string
	// Modal tells that an open modal dialog makes the rest of the document inert.
	Modal bool
	// Hidden is how many changes had nothing to show; of script.OffScope alone.
	Hidden int
	// Departed are the numbers of the nodes that have left the document since the capture
	// before, which has given out numbers up to Last.
	Departed []int
	Last     int
	// Scope tells why there is nothing; empty if the walk was made.
	Scope script.ScopeFailure
}

// Place is the place of a child document's lines: before Nodes[Index] (or at
// the end), at Depth and deeper. Owner is the number of the element that holds it.
type Place struct {
	Index, Depth, Owner int
}

// maxCapture is the highest number of a capture; behind it they begin again.
const maxCapture = 8

// NextCapture returns the number of the capture after n.
func NextCapture(n int) int { return n%maxCapture + 1 }

// Decode reads the answer raw of script.Walk or script.OffScope, which walked the
// document with that number. The script runs beside the page, so nothing in an answer is
// taken on trust but its strings, which are the page's own.
func Decode(doc int, raw string) (Result, error) {
	first, lines, more := strings.Cut(raw, "\n")
	var in script.WalkHead
	if err := json.Unmarshal([]byte(first), &in); err != nil {
		return Result{}, fmt.Errorf("decoding a walk: %w", err)
	}
	out := Result{
		URL: in.URL, Title: in.Title, Visited: max(in.Visited, 0), Elements: max(in.Elements, 0), Rest: max(in.Rest, 0),
		RestTexts: max(in.RestTexts, 0), AtLeast: in.AtLeast != 0, RestFrames: in.RestFrames,
		Reasons: in.Reasons, Modal: in.Modal != 0, Hidden: max(in.Hidden, 0), Departed: in.Departed, Last: in.Last, Scope: in.Scope, Nodes: []snapshot.Node{},
	}
	if more {
		out.Nodes = make([]snapshot.Node, strings.Count(lines, "\n")+1)
		d := lineDecoder{doc: doc, contexts: in.Contexts}
		for i := range out.Nodes {
			var line string
			line, lines, _ = strings.Cut(lines, "\n")
			if err := d.decode(line, &out.Nodes[i]); err != nil {
				return Result{}, fmt.Errorf("decoding line %d of a walk: %w", i, err)
			}
		}
	}
	for _, f := range in.Frames {
		if f[0] < 0 || f[0] > len(out.Nodes) || f[1] < 0 || f[2] < 1 {
			return Result{}, fmt.Errorf("decoding a walk: frame %v among %d lines", f, len(out.Nodes))
		}
		out.Frames = append(out.Frames, Place{Index: f[0], Depth: f[1], Owner: f[2]})
	}
	return out, nil
}

// lineDecoder reads the lines of the nodes of one document.
type lineDecoder struct {
	doc      int
	contexts []string
	fields   []string        // of one line, used again for the next
	attrs    []snapshot.Attr // of all lines, of which each node has its part
	states   []string        // the same
}

// DecodeNode reads one line of a node of a document.
func DecodeNode(doc int, line string) (snapshot.Node, error) {
	var n snapshot.Node
	err := (&lineDecoder{doc: doc}).decode(line, &n)
	return n, err
}

// decode reads a line of a node into n, whose strings are parts of that line.
func (d *lineDecoder) decode(line string, n *snapshot.Node) error {
	id, line, _ := strings.Cut(line, "\t")
	depth, line, _ := strings.Cut(line, "\t")
	number, err := strconv.Atoi(id)
	if err != nil {
		return fmt.Errorf("the id: %w", err)
	}
	if n.Depth, err = strconv.Atoi(depth); err != nil {
		return fmt.Errorf("the depth: %w", err)
	}
	n.Depth = max(n.Depth, 0)
	switch {
	case number == 0:
		n.Role, n.Name = snapshot.RoleText, line
		return nil
	case number < 0:
		n.More = -number
		return decodeFold(line, n)
	}
	n.Key = snapshot.Key{Doc: d.doc, Node: number}
	d.fields = appendFields(d.fields[:0], line)
	fields := d.fields
	if len(fields) < 7 || len(fields)%2 == 0 {
		return fmt.Errorf("a node of %d fields", len(fields)+2)
	}
	n.Role, n.Name, n.Tag = fields[0], fields[1], fields[2]
	if fields[3] != "" {
		from := len(d.states)
		for state := range strings.FieldsSeq(fields[3]) {
			d.states = append(d.states, state)
		}
		n.States = slices.Clip(d.states[from:])
	}
	n.Value, n.Ident = unplain(fields[4]), fields[5]
	if fields[6] != "" {
		context, err := strconv.Atoi(fields[6])
		if err != nil {
			return fmt.Errorf("the context: %w", err)
		}
		if context > 0 && context <= len(d.contexts) {
			n.Context = d.contexts[context-1]
		}
	}
	from := len(d.attrs)
	for i := 7; i < len(fields); i += 2 {
		a, err := decodeAttr(fields[i], fields[i+1])
		if err != nil {
			return err
		}
		d.attrs = append(d.attrs, a)
	}
	n.Attrs = slices.Clip(d.attrs[from:])
	return nil
}

// decodeFold reads how to go on, or what like siblings are left out: of that nothing, the
// names of the first and the last one, and 1 where there are more than are counted.
func decodeFold(line string, n *snapshot.Node) error {
	fields := strings.Split(line, "\t")
	switch {
	case len(fields) == 1:
		n.Name = line
	case len(fields) == 4 && fields[0] == "":
		n.Role, n.Name, n.Value, n.AtLeast = snapshot.RoleSiblings, fields[1], fields[2], fields[3] != ""
	default:
		return fmt.Errorf("a fold of %d fields", len(fields))
	}
	return nil
}

// appendFields appends to list what stands between the tabs of line.
func appendFields(list []string, line string) []string {
	for more := true; more; {
		var field string
		field, line, more = strings.Cut(line, "\t")
		list = append(list, field)
	}
	return list
}

// decodeAttr reads one attribute: after = a string, after # a number, which is
// shown bare.
func decodeAttr(key, value string) (snapshot.Attr, error) {
	a := snapshot.Attr{Key: key}
	switch {
	case strings.HasPrefix(value, "="):
		a.Value = unplain(value[1:])
	case strings.HasPrefix(value, "#"):
		f, err := strconv.ParseFloat(value[1:], 64)
		if err != nil {
			return a, fmt.Errorf("attribute %q: %w", a.Key, err)
		}
		a.Value, a.Bare = strconv.FormatFloat(f, 'f', -1, 64), true
	default:
		return a, fmt.Errorf("attribute %q: neither a string nor a number", a.Key)
	}
	return a, nil
}

var tabsAndFeeds = strings.NewReplacer("\vt", "\t", "\vn", "\n", "\vv", "\v", "\vd", "•")

// unplain undoes plain of script/js/capture.js.
func unplain(s string) string {
	if !strings.Contains(s, "\v") {
		return s
	}
	return tabsAndFeeds.Replace(s)
}
