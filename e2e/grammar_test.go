package e2e_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/browserd/browserd/snapshot"
)

// A strict parser of the snapshot's grammar (PROTOCOL.md section 5), written
// from the protocol alone: what it reads is all that a model can read.

const literal = `"(?:[^"\\]|\\.)*"`

var (
	refLine    = regexp.MustCompile(`^((?:  )*)(@e[1-9][0-9]*) \[([a-z]+)((?: [a-z-]+(?:=(?:` + literal + `|[0-9A-Za-z.-]+))?)*)\](?: (` + literal + `))?$`)
	textLine   = regexp.MustCompile(`^((?:  )*)text (` + literal + `)$`)
	moreLine   = regexp.MustCompile(`^(?:  )*\[more\] (?:[0-9]+ |some texts |deeper )[^"]*(?:` + literal + `[^"]*)*$`)
	headerLine = regexp.MustCompile(`^\[snapshot\] (?:reasons=[a-z_,]+ )?url=(` + literal + `) title=(` + literal + `)$`)
	item       = regexp.MustCompile(` ([a-z-]+)(?:=(` + literal + `|[0-9A-Za-z.-]+))?`)
)

// parsed is a snapshot's text, read back.
type parsed struct {
	URL, Title string
	Nodes      []snapshot.NodeJSON
}

// parseText reads a snapshot's text; an error names the first line that is
// none of the grammar's.
func parseText(text string) (parsed, error) {
	var p parsed
	lines := strings.Split(text, "\n")
	head := headerLine.FindStringSubmatch(lines[0])
	if head == nil {
		return p, fmt.Errorf("not a header: %q", lines[0])
	}
	var err error
	if p.URL, err = unquote(head[1]); err != nil {
		return p, err
	}
	if p.Title, err = unquote(head[2]); err != nil {
		return p, err
	}
	for _, line := range lines[1:] {
		if i := strings.IndexFunc(line, hidden); i >= 0 {
			return p, fmt.Errorf("a hidden character at byte %d of %q", i, line)
		}
		if moreLine.MatchString(line) {
			continue
		}
		n, err := parseLine(line)
		if err != nil {
			return p, err
		}
		p.Nodes = append(p.Nodes, n)
	}
	return p, nil
}

func parseLine(line string) (snapshot.NodeJSON, error) {
	if m := textLine.FindStringSubmatch(line); m != nil {
		name, err := unquote(m[2])
		return snapshot.NodeJSON{Role: snapshot.RoleText, Name: name, Depth: len(m[1]) / 2}, err
	}
	m := refLine.FindStringSubmatch(line)
	if m == nil {
		return snapshot.NodeJSON{}, fmt.Errorf("not a line of the grammar: %q", line)
	}
	n := snapshot.NodeJSON{Ref: m[2], Role: m[3], Depth: len(m[1]) / 2, Attrs: map[string]string{}}
	var err error
	if m[5] != "" {
		if n.Name, err = unquote(m[5]); err != nil {
			return n, err
		}
	}
	for _, it := range item.FindAllStringSubmatch(m[4], -1) {
		key, value := it[1], it[2]
		if value == "" {
			n.States = append(n.States, key)
			continue
		}
		if value[0] == '"' {
			if value, err = unquote(value); err != nil {
				return n, err
			}
		}
		n.Attrs[key] = value
	}
	return n, nil
}

// unquote reads a JSON string literal, and holds it to escaping whatever could
// look like something else.
func unquote(quoted string) (string, error) {
	for _, r := range quoted {
		if hidden(r) {
			return "", fmt.Errorf("%U stands unescaped in %q", r, quoted)
		}
	}
	var s string
	err := json.Unmarshal([]byte(quoted), &s)
	if err != nil {
		return "", fmt.Errorf("not a JSON string: %q: %w", quoted, err)
	}
	return s, nil
}

// hidden reports whether a reader cannot see the character or is misled by it:
// controls, line and paragraph separators, bidirectional, zero-width and tag
// characters.
func hidden(r rune) bool {
	switch {
	case unicode.IsControl(r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), unicode.Is(unicode.Bidi_Control, r):
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2060 && r <= 0x206f, r == 0xfeff, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// sameAsNodes holds the text to what format json says of the same nodes.
func sameAsNodes(t *testing.T, s snapshot.Snapshot) parsed {
	t.Helper()
	p, err := parseText(s.Text)
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, s.Text)
	}
	if len(p.Nodes) != len(s.Nodes) {
		t.Fatalf("the text has %d nodes, the list %d:\n%s", len(p.Nodes), len(s.Nodes), s.Text)
	}
	refs := map[string]bool{}
	for i, want := range s.Nodes {
		got := p.Nodes[i]
		if got.Ref != want.Ref || got.Role != want.Role || got.Name != want.Name || got.Depth != want.Depth {
			t.Errorf("node %d: the text says %s %s %q at %d, the list %s %s %q at %d", i,
				got.Ref, got.Role, got.Name, got.Depth, want.Ref, want.Role, want.Name, want.Depth)
		}
		if fmt.Sprint(got.States) != fmt.Sprint(want.States) {
			t.Errorf("%s: states %v in the text, %v in the list", want.Ref, got.States, want.States)
		}
		for key, value := range want.Attrs {
			if got.Attrs[key] != value {
				t.Errorf("%s: %s=%q in the text, %q in the list", want.Ref, key, got.Attrs[key], value)
			}
		}
		if want.Value != "" && got.Attrs["value"] != want.Value {
			t.Errorf("%s: value %q in the text, %q in the list", want.Ref, got.Attrs["value"], want.Value)
		}
		if want.Ref != "" && refs[want.Ref] {
			t.Errorf("%s stands twice", want.Ref)
		}
		refs[want.Ref] = true
	}
	return p
}
