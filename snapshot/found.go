package snapshot

// RefOf writes a number as a ref, "@e5".
func RefOf(n int) string { return formatRef(n) }

// Found numbers nodes that a client is shown outside of a snapshot, and
// describes them as format json does, with names and values cut at o.MaxText.
func Found(nodes []Node, o Options, refs *Refs) []NodeJSON {
	list := make([]NodeJSON, 0, len(nodes))
	for i := range nodes {
		var l line
		l.fill(&nodes[i], refs.Number(nodes[i]), o.MaxText)
		list = append(list, l.json(nodes[i].Tag))
	}
	return list
}
