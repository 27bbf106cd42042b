package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// binaryParts are the parts of a result that are not text.
type binaryParts struct {
	Image  []byte `json:"image"`
	Format string `json:"format"`
	PDF    []byte `json:"pdf"`
}

// resultParts are the parts of a result for which Format has its own text form.
type resultParts struct {
	Session  string           `json:"session"`
	Page     *protocol.Page   `json:"page"`
	Effect   *protocol.Effect `json:"effect"`
	Since    *protocol.Since  `json:"since"`
	Snapshot *struct {
		Text  string          `json:"text"`
		Nodes json.RawMessage `json:"nodes"`
		Stats json.RawMessage `json:"stats"`
	} `json:"snapshot"`
	Delta *struct {
		Text string `json:"text"`
	} `json:"delta"`
	Content *string `json:"content"`
}

const mimePDF = "application/pdf"

// ChangedElsewhere is what Format says if the page has changed but the delta is empty.
const ChangedElsewhere = "changed, but nothing of what was shown; take a snapshot to look for it, with interactive_only false for all of it"

// Format writes a result for a model. The first part has one line that says where the page is, the effect, the
// rest as JSON, and the snapshot or delta as it is. The nodes (if the format is json), what was read, and an
// image or PDF follow, each in a part of its own. Text of pages has a part of its own or is in JSON; its lines
// are escaped if they look like a line of the answer. more are lines to add before the snapshot or delta.
// params are the call's parameters, and before is what the reader was told about the page earlier; Format does
// not repeat either. Both may be nil.
func Format(result, params json.RawMessage, before *ReportedState, more ...string) *mcp.CallToolResult {
	var t resultParts
	var p binaryParts
	rest := map[string]json.RawMessage{}
	if json.Unmarshal(result, &rest) != nil || json.Unmarshal(result, &t) != nil {
		return text(string(result))
	}
	if err := json.Unmarshal(result, &p); err != nil {
		p = binaryParts{}
	}
	for _, key := range []string{"session", "page", "effect", "snapshot", "delta"} {
		delete(rest, key)
	}
	var lines []string
	if line := before.locationLine(t); line != "" {
		lines = append(lines, line)
	}
	if line := t.effectLine(params); line != "" {
		lines = append(lines, line)
	}
	var parts []mcp.Content
	if t.Content != nil {
		delete(rest, "content")
		parts = append(parts, &mcp.TextContent{Text: snapshot.Lines(*t.Content)})
	}
	if len(p.Image) > 0 {
		delete(rest, "image")
		parts = append(parts, &mcp.ImageContent{Data: p.Image, MIMEType: "image/" + p.Format})
	}
	if len(p.PDF) > 0 {
		delete(rest, "pdf")
		parts = append(parts, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "browserd://pdf", MIMEType: mimePDF, Blob: p.PDF}})
	}
	found := ""
	if json.Unmarshal(rest["text"], &found) == nil && rest["nodes"] != nil { // text has the nodes as lines
		delete(rest, "text")
		delete(rest, "nodes")
	}
	if string(rest["truncated"]) == "false" { // the content is complete: do not mention it
		delete(rest, "truncated")
	}
	for _, key := range sortedKeys(rest) {
		lines = append(lines, fmt.Sprintf("%s: %s", snapshot.Literally(key), rest[key]))
	}
	lines = append(lines, more...)
	if found != "" {
		lines = append(lines, found)
	}
	switch {
	case t.Snapshot != nil:
		lines = append(lines, t.Snapshot.Text)
		if len(t.Snapshot.Nodes) > 0 { // format json
			parts = append(parts, &mcp.TextContent{Text: fmt.Sprintf(`{"nodes":%s,"stats":%s}`, t.Snapshot.Nodes, t.Snapshot.Stats)})
		}
	case t.changedBefore():
		lines = append(lines, "nothing changed; this had changed before", t.Delta.Text)
	case t.Delta != nil && t.Delta.Text != "":
		lines = append(lines, t.Delta.Text)
	case t.Delta != nil && t.Effect != nil && t.Effect.Changed:
		lines = append(lines, ChangedElsewhere)
	case t.Delta != nil:
		lines = append(lines, "nothing changed")
	}
	switch {
	case len(lines) == 0 && len(parts) > 0:
		return &mcp.CallToolResult{Content: parts}
	case len(lines) == 0:
		lines = []string{"done"}
	}
	return &mcp.CallToolResult{Content: append([]mcp.Content{&mcp.TextContent{Text: strings.Join(lines, "\n")}}, parts...)}
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
