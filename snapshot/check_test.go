package snapshot

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/browserd/browserd/internal/snapshottext"
)

// parse parses the text of a snapshot.
func parse(text string) (snapshottext.Parsed, error) { return snapshottext.Parse(text, Quote) }

// wanted returns the lines of c (PROTOCOL.md section 5), limited by max_text only. It is
// written apart from Render.
func wanted(c Capture, maxText int, refs *Refs) []snapshottext.Line {
	var lines []snapshottext.Line
	said := func(s string) string { return string([]rune(Cut(s, maxText))) }
	done := map[Key]bool{}
	for _, n := range c.Nodes {
		l := snapshottext.Line{Depth: min(max(n.Depth, 0), maxIndent), Name: said(n.Name)}
		switch {
		case n.More > 0:
			l.Role, l.Folded = "more", n.More
		case n.Role == RoleText || n.Key == Key{}:
			if n.Name == "" {
				continue
			}
			l.Role = RoleText
		case done[n.Key]:
			continue
		default:
			done[n.Key] = true
			l.Ref, _ = refs.Seen(n.Key)
			l.Role, l.Value = n.Role, said(n.Value)
			if !IsWord(n.Role) {
				l.Role = "generic"
			}
			seen := map[string]bool{}
			var bare []snapshottext.Attr
			for _, a := range n.Attrs {
				if seen[a.Key] || !IsWord(a.Key) {
					continue
				}
				seen[a.Key] = true
				if a.Key == "value" {
					if n.Value == "" {
						l.Value = said(a.Value)
					}
				} else if a.Bare && isBare(a.Value) {
					bare = append(bare, snapshottext.Attr(a))
				} else {
					l.Attrs = append(l.Attrs, snapshottext.Attr{Key: a.Key, Value: said(a.Value)})
				}
			}
			l.Attrs = append(l.Attrs, bare...)
			had := map[string]bool{}
			for _, s := range n.States {
				if IsWord(s) && !had[s] {
					had[s] = true
					l.States = append(l.States, s)
				}
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// checkText checks what is true of every snapshot.
func checkText(t *testing.T, c Capture, o Options, s Snapshot, refs *Refs) snapshottext.Parsed {
	t.Helper()
	p, err := parse(s.Text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, s.Text)
	}
	chars := utf8.RuneCountInString(s.Text)
	if chars > max(o.MaxChars, 0) || chars != s.Stats.Chars {
		t.Fatalf("%d characters, stats say %d, max_chars is %d:\n%s", chars, s.Stats.Chars, o.MaxChars, s.Text)
	}
	if s.Stats.NodesEmitted > max(o.MaxNodes, 0) {
		t.Fatalf("%d nodes, max_nodes is %d", s.Stats.NodesEmitted, o.MaxNodes)
	}
	lines := wanted(c, max(o.MaxText, 1), refs)
	whole := len(p.Lines) == len(lines)
	lines = lines[:len(p.Lines)]
	if diff := cmp.Diff(p.Lines, lines, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("read before emitted\n%s\n%s", diff, s.Text)
	}
	if !whole && !s.Stats.Truncated {
		t.Fatalf("lines are missing and truncated is false:\n%s", s.Text)
	}
	if s.Stats.Truncated != (len(s.Stats.Reasons) > 0) || s.Stats.Reasons == nil {
		t.Fatalf("truncated %v for %v", s.Stats.Truncated, s.Stats.Reasons)
	}
	after, emitted := "", 0
	for _, l := range p.Lines {
		if l.Ref != 0 {
			emitted++
			after = RefOf(l.Ref)
		}
	}
	if s.Stats.After != "" && s.Stats.After != after {
		t.Fatalf("after %s, the last ref is %s", s.Stats.After, after)
	}
	if p.Kind != "" {
		got := Stats{InputNodes: c.Input, NodesVisited: c.Visited, NodesEmitted: emitted, Chars: chars,
			Truncated: p.Truncated, Reasons: p.Reasons}
		if p.Rest.After != 0 {
			got.After = RefOf(p.Rest.After)
		}
		if diff := cmp.Diff(got, s.Stats, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("header before stats\n%s", diff)
		}
	}
	if o.JSON {
		checkNodes(t, p, s.Nodes)
	}
	return p
}

// checkNodes compares the nodes of format json with the lines of the text.
func checkNodes(t *testing.T, p snapshottext.Parsed, nodes []NodeJSON) {
	t.Helper()
	if len(nodes) != len(p.Lines) {
		t.Fatalf("%d nodes for %d lines", len(nodes), len(p.Lines))
	}
	for i, l := range p.Lines {
		n := nodes[i]
		want := NodeJSON{Role: l.Role, Name: l.Name, Depth: l.Depth, States: l.States, Value: l.Value, Tag: n.Tag}
		if l.Ref != 0 {
			want.Ref = RefOf(l.Ref)
		}
		for _, a := range l.Attrs {
			if want.Attrs == nil {
				want.Attrs = map[string]string{}
			}
			want.Attrs[a.Key] = a.Value
		}
		// The text has U+FFFD where a node may hold what is not UTF-8: its
		// encoder puts it there. The name of a [more] line begins with its count.
		n.Name, n.Value = string([]rune(n.Name)), string([]rune(n.Value))
		for k, v := range n.Attrs {
			n.Attrs[k] = string([]rune(v))
		}
		if l.Folded > 0 {
			want.Name = n.Name
		}
		if diff := cmp.Diff(n, want, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("node before line\n%s", diff)
		}
	}
}
