package tools

import (
	"encoding/json"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// isDataOnly reports whether a result has only data: no text of a page, no content and no picture.
func isDataOnly(result json.RawMessage) bool {
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

// structuredError returns an error in the form that all transports use.
func structuredError(err *protocol.Error) any {
	b, wrong := json.Marshal(map[string]any{"error": err.Data()})
	if wrong != nil {
		return nil
	}
	return json.RawMessage(snapshot.EscapeJSON(b))
}
