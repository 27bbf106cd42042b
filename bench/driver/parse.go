package driver

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/browserd/browserd/internal/snapshottext"
	"github.com/browserd/browserd/snapshot"
)

// parser reads a tool's text.
type parser func(text string) ([]Node, error)

// read is a Driver's Snapshot.
func read(ctx context.Context, d Driver, kind Kind, parse parser) (Snapshot, error) {
	text, err := d.Text(ctx, kind)
	if err != nil {
		return Snapshot{}, err
	}
	nodes, err := parse(text)
	if err != nil {
		return Snapshot{}, fmt.Errorf("reading %s's snapshot: %w", d.Name(), err)
	}
	return Snapshot{text, nodes}, nil
}

func (n *Node) attr(key, value string) {
	if n.Attrs == nil {
		n.Attrs = map[string]string{}
	}
	n.Attrs[key] = value
}

// parseBrowserd reads browserd's text with the parser that the daemon is tested
// with. The last [more] line is no node.
func parseBrowserd(text string) ([]Node, error) {
	p, err := snapshottext.Parse(text, snapshot.Quote)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for _, l := range p.Lines {
		n := Node{Depth: l.Depth, Role: l.Role, Name: l.Name, Value: l.Value, States: l.States}
		if l.Ref > 0 {
			n.Ref = fmt.Sprintf("@e%d", l.Ref)
		}
		for _, a := range l.Attrs {
			n.attr(a.Key, a.Value)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// agentBrowserLine is `- role "name" [state, key=value, ref=e1] words: value`.
var agentBrowserLine = regexp.MustCompile(`(?s)^( *)- ([\w-]+)(?: ("(?:[^"\\]|\\.)*"))?(?: \[([^\]]*)\])?((?: (?:\[[^\]]*\]|[^:\n\[])+)?)(?:: (.*))?$`)

// parseAgentBrowser reads agent-browser's text. A value with line breaks goes on
// in lines of its own.
func parseAgentBrowser(text string) ([]Node, error) {
	var nodes []Node
	for _, line := range joined(text, regexp.MustCompile(`^ *- \w`)) {
		m := agentBrowserLine.FindStringSubmatch(line)
		if m == nil {
			if strings.HasPrefix(line, "(") || strings.TrimSpace(line) == "" { // (no interactive elements)
				continue
			}
			return nil, fmt.Errorf("line %q", line)
		}
		n := Node{Depth: len(m[1]) / 2, Role: m[2], Name: unquoted(m[3]), Value: m[6]}
		for part := range strings.SplitSeq(m[4], ", ") {
			key, value, pair := strings.Cut(part, "=")
			switch {
			case key == "ref":
				n.Ref = "@" + value
			case pair && value == "true":
				n.States = append(n.States, key)
			case pair:
				n.attr(key, value)
			case key != "":
				n.States = append(n.States, key)
			}
		}
		for word := range strings.FieldsSeq(m[5]) {
			if !strings.HasPrefix(word, "[") { // [onclick], [cursor:pointer]: why it is clickable
				n.States = append(n.States, word)
			}
		}
		if n.Role == "StaticText" {
			n.Role = "text"
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

var (
	fencedYAML     = regexp.MustCompile("(?s)```yaml\n(.*?)\n?```")
	playwrightLine = regexp.MustCompile(`^(\w[\w-]*)(?: ("(?:[^"\\]|\\.)*"))?((?: \[[^\]]*\])*)$`)
	inBrackets     = regexp.MustCompile(`\[([^\]]*)\]`)
	// valued are the roles whose text is a value, not a child.
	valued = regexp.MustCompile(`^(textbox|searchbox|combobox|slider|spinbutton|progressbar|meter)$`)
)

// parsePlaywright reads the YAML of Playwright's snapshot: a list of keys, each
// with a text or with a list below it.
func parsePlaywright(text string) ([]Node, error) {
	if m := fencedYAML.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	var nodes []Node
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimLeft(line, " ")
		item, ok := strings.CutPrefix(trimmed, "- ")
		if !ok {
			if trimmed == "" {
				continue
			}
			return nil, fmt.Errorf("line %q", line)
		}
		depth := (len(line) - len(trimmed)) / 2
		key, value := yamlPair(item)
		if key == "text" {
			nodes = append(nodes, Node{Depth: depth, Role: "text", Name: value})
			continue
		}
		if prop, ok := strings.CutPrefix(key, "/"); ok {
			for i := len(nodes) - 1; i >= 0; i-- { // of the node that it stands in
				if nodes[i].Depth == depth-1 && nodes[i].Role != "text" {
					nodes[i].attr(prop, value)
					break
				}
			}
			continue
		}
		m := playwrightLine.FindStringSubmatch(key)
		if m == nil {
			return nil, fmt.Errorf("line %q", line)
		}
		n := Node{Depth: depth, Role: m[1], Name: unquoted(m[2])}
		for _, b := range inBrackets.FindAllStringSubmatch(m[3], -1) {
			k, v, pair := strings.Cut(b[1], "=")
			switch {
			case k == "ref":
				n.Ref = v
			case pair:
				n.attr(k, v)
			default:
				n.States = append(n.States, k)
			}
		}
		if valued.MatchString(n.Role) {
			n.Value, value = value, ""
		}
		nodes = append(nodes, n)
		if value != "" {
			nodes = append(nodes, Node{Depth: depth + 1, Role: "text", Name: value})
		}
	}
	return nodes, nil
}

// yamlPair splits `key: value`, `key:` and `key`, where the key may stand in
// single quotes and hold colons inside double ones.
func yamlPair(item string) (key, value string) {
	if strings.HasPrefix(item, "'") {
		for i := 1; i < len(item); i++ {
			if item[i] != '\'' {
				continue
			}
			if i+1 < len(item) && item[i+1] == '\'' {
				i++
				continue
			}
			key = strings.ReplaceAll(item[1:i], "''", "'")
			return key, yamlScalar(strings.TrimPrefix(item[i+1:], ":"))
		}
	}
	quoted := false
	for i := 0; i < len(item); i++ {
		switch {
		case item[i] == '\\' && quoted:
			i++
		case item[i] == '"':
			quoted = !quoted
		case item[i] == ':' && !quoted && (i+1 == len(item) || item[i+1] == ' '):
			return item[:i], yamlScalar(item[i+1:])
		}
	}
	return item, ""
}

func yamlScalar(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, `"`) {
		return unquoted(s)
	}
	if len(s) > 1 && strings.HasPrefix(s, "'") && strings.HasSuffix(s, "'") {
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
	}
	return s
}

var (
	devtoolsStart = regexp.MustCompile(`^ *uid=`)
	// devtoolsLine is `uid=1_2 role "name" state key="value"`; static text has no
	// role. Names are not escaped: one ends where only states and attributes follow.
	devtoolsLine = regexp.MustCompile(`(?s)^( *)uid=(\S+)(?: ([A-Za-z]\w*))?(?: "(.*?)")?((?: [a-z]\w*(?:="[^"]*")?)*)(?: \[[^\]]*\])?$`)
	devtoolsAttr = regexp.MustCompile(`(?s) ([a-z]\w*)(?:="([^"]*)")?`)
)

// parseDevtools reads chrome-devtools-mcp's text. A value with line breaks goes
// on in lines of its own.
func parseDevtools(text string) ([]Node, error) {
	if _, below, ok := strings.Cut(text, "## Latest page snapshot\n"); ok {
		text = below
	}
	text, _, _ = strings.Cut(text, "\n\n## ")
	var nodes []Node
	for _, line := range joined(text, devtoolsStart) {
		if !devtoolsStart.MatchString(line) {
			continue // what stands above the first node
		}
		m := devtoolsLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			return nil, fmt.Errorf("line %q", line)
		}
		n := Node{Ref: m[2], Depth: len(m[1]) / 2, Role: m[3], Name: m[4]}
		if n.Role == "" || n.Role == "StaticText" {
			n.Role = "text"
		}
		for _, a := range devtoolsAttr.FindAllStringSubmatch(m[5], -1) {
			switch {
			case a[1] == "value":
				n.Value = a[2]
			case strings.Contains(a[0], "="):
				n.attr(a[1], a[2])
			default:
				n.States = append(n.States, a[1])
			}
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

var (
	pinchtabStart = regexp.MustCompile(`^(?: *e\d+ [\w-]|e\d+:[\w-]|# removed:)`)
	// pinchtabLine is `e1:role "name" val="value" * - [hidden] [~]` in the compact format,
	// in that of text a tree of `e1 role "name" val="value" [focused] [disabled]`. Nothing
	// in it is escaped, and it does not say what is checked.
	pinchtabLine  = regexp.MustCompile(`(?s)^( *)(e\d+)[: ]([\w-]+)(?: "(.*?)")?(?: val="(.*?)")?((?: \*| -| \[[a-z+~]+\])*)$`)
	pinchtabState = map[string]string{"*": "focused", "-": "disabled", "[focused]": "focused", "[disabled]": "disabled", "[hidden]": "hidden"}
)

// parsePinchtab reads pinchtab's text, with or without the warning and the tag
// that it puts around what comes from a page. It says no depth in the compact format.
func parsePinchtab(text string) ([]Node, error) {
	if _, inside, ok := strings.Cut(text, "\n<untrusted_web_content "); ok {
		text = inside
		if end := strings.LastIndex(text, "\n</untrusted_web_content>"); end >= 0 {
			text = text[:end]
		}
	}
	var nodes []Node
	for _, line := range joined(text, pinchtabStart) {
		if !pinchtabStart.MatchString(line) || strings.HasPrefix(line, "# removed:") {
			continue // what stands above the first node, and refs that are gone
		}
		m := pinchtabLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			return nil, fmt.Errorf("line %q", line)
		}
		n := Node{Ref: m[2], Depth: len(m[1]) / 2, Role: m[3], Name: m[4], Value: m[5]}
		if n.Role == "StaticText" {
			n.Role = "text"
		}
		for word := range strings.FieldsSeq(m[6]) {
			if state := pinchtabState[word]; state != "" { // and not the mark of a change
				n.States = append(n.States, state)
			}
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// joined splits text into lines and puts those that do not begin one back to the
// one above.
func joined(text string, begins *regexp.Regexp) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if len(lines) > 0 && !begins.MatchString(line) {
			lines[len(lines)-1] += "\n" + line
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// unquoted is the text of a quoted literal as JSON and Go write it; one that is
// not well formed is taken without its quotes.
func unquoted(s string) string {
	if s == "" {
		return ""
	}
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return strings.Trim(s, `"`)
}
