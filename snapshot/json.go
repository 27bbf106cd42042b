package snapshot

import (
	"slices"
	"strconv"
)

// roleMore is the role of a [more] line for folded nodes.
const roleMore = "more"

// NodeJSON is one node of a snapshot in format json, in the text's order.
type NodeJSON struct {
	Ref    string            `json:"ref,omitempty"`
	Role   string            `json:"role"`
	Name   string            `json:"name"`
	Tag    string            `json:"tag,omitempty"`
	Depth  int               `json:"depth"`
	States []string          `json:"states,omitempty"`
	Value  string            `json:"value,omitempty"`
	Attrs  map[string]string `json:"attrs,omitempty"`
	Text   string            `json:"text,omitempty"` // what a search found in it, where the name does not say it
}

// Found is the nodes that a search found, as lines of a snapshot and in format json.
type Found struct {
	Text  string     `json:"text"`
	Nodes []NodeJSON `json:"nodes"`
}

// Show gives refs to nodes that a client is shown outside of a snapshot, and returns them
// with names, texts and values cut at o.MaxText characters.
func Show(nodes []Node, o Options, refs *Refs) Found {
	found := Found{Nodes: make([]NodeJSON, 0, len(nodes))}
	var text []byte
	for i := range nodes {
		var l line
		l.fill(&nodes[i], refs.Number(nodes[i]), o.MaxText)
		if i > 0 {
			text = append(text, '\n')
		}
		text = l.append(text)
		node := l.json(nodes[i].Tag)
		if says := nodes[i].Says; says != "" {
			l.fill(&Node{Role: RoleText, Name: says, Depth: nodes[i].Depth + 1}, 0, o.MaxText)
			text = l.append(append(text, '\n'))
			node.Text = l.name
		}
		found.Nodes = append(found.Nodes, node)
	}
	found.Text = string(text)
	return found
}

// json returns the line as a node of format json.
func (l *line) json(tag string) NodeJSON {
	switch l.kind {
	case textLine:
		return NodeJSON{Role: RoleText, Name: l.name, Depth: l.depth}
	case toolsLine:
		return NodeJSON{Role: roleTools, Name: l.name}
	case moreLine:
		name := strconv.Itoa(l.more) + moreFolded
		if l.run {
			name = string(l.appendMore(nil))
		} else if l.name != "" {
			name += ": " + l.name
		}
		return NodeJSON{Role: roleMore, Name: name, Depth: l.depth}
	}
	n := NodeJSON{Ref: RefOf(l.ref), Role: l.role, Name: l.name, Tag: tag, Depth: l.depth, Value: l.value}
	if len(l.states) > 0 {
		n.States = slices.Clone(l.states)
	}
	if len(l.quoted)+len(l.bare) > 0 {
		n.Attrs = make(map[string]string, len(l.quoted)+len(l.bare))
		for _, a := range l.quoted {
			n.Attrs[a.Key] = a.Value
		}
		for _, a := range l.bare {
			n.Attrs[a.Key] = a.Value
		}
	}
	return n
}
