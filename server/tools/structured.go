package tools

import (
	"encoding/json"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// onlyFacts reports whether a result has nothing that is written for a reader or looked at:
// no page, no content, no picture.
func onlyFacts(result json.RawMessage) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return false
	}
	for _, key := range []string{"snapshot", "delta", "content", "image", "pdf"} {
		if _, there := members[key]; there {
			return false
		}
	}
	return true
}

// withoutFiles returns a result without the pictures and PDFs, to which it has links.
func withoutFiles(result json.RawMessage) any {
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return nil // MCP's structuredContent is an object
	}
	delete(members, "image")
	delete(members, "pdf")
	return members
}

// structuredError returns an error as every transport has it.
func structuredError(err *protocol.Error) any {
	b, wrong := json.Marshal(map[string]any{"error": err.Data()})
	if wrong != nil {
		return nil
	}
	return json.RawMessage(snapshot.EscapeJSON(b))
}
