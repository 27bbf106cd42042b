package protocol

import "encoding/json"

// PageTool is a tool that a page has registered (WebMCP). All of it is the page's word.
type PageTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// InputSchema is the JSON Schema of the arguments; left out where the page gave none, or
	// where SchemaLeftOut says why.
	InputSchema   json.RawMessage `json:"input_schema,omitempty"`
	SchemaLeftOut string          `json:"schema_left_out,omitempty"`
	Origin        string          `json:"origin"` // of the document that registered it
	Frame         string          `json:"frame"`  // FrameMain, or the ref of the frame that holds the document
	// Hints are form, for a form that the page marked as a tool by its attributes, and what
	// the page says of it: read_only, consequential, untrusted_content, debugging, autosubmit.
	Hints []string `json:"hints,omitempty"`
}

// FrameMain is how the tab's own document is named among the frames.
const FrameMain = "main"

// ToolName names a page tool. Frame and Origin tell tools of one name apart; empty: any.
type ToolName struct {
	Name   string
	Frame  string // FrameMain, or a ref
	Origin string
}

// CallTool calls a page tool.
type CallTool struct {
	ToolName
	Arguments json.RawMessage // a JSON object; empty: {}
	Confirmed string          // the origin that it was confirmed for; empty: any
}

func (CallTool) action() {}

// Called is what came of calling a page tool.
type Called struct {
	State string          // one of the States below
	Value json.RawMessage // what the tool returned; nil: nothing came
}

// The states of a page tool that was called.
const (
	ToolDone      = "done"      // it has returned
	ToolFilled    = "filled"    // the form is filled in, and not sent
	ToolNavigated = "navigated" // its document was left before it returned
	ToolDialog    = "dialog"    // a dialog that it opened waits for an answer
)
