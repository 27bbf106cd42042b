package schema

import (
	"github.com/browserd/browserd/actions/command"
)

// Names returns the names of all members of results and events.
func Names(r command.Repertoire) map[string]bool {
	names := map[string]bool{}
	add(names, Document(r, ""))
	return names
}

func add(names map[string]bool, schema any) {
	switch s := schema.(type) {
	case object:
		properties, _ := s["properties"].(object)
		for name := range properties {
			names[name] = true
		}
		for _, part := range s {
			add(names, part)
		}
	case []any:
		for _, part := range s {
			add(names, part)
		}
	}
}
