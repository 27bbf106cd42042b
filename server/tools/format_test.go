package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Nobody is told that nothing changed where the action changed the page.
func TestAChangeThatIsNotShownIsNotNothing(t *testing.T) {
	for result, silent := range map[string]bool{
		`{"effect":{"changed":true},"delta":{"text":""}}`: false,
		`{"effect":{"hit":"@e1"},"delta":{"text":""}}`:    true,
		`{"delta":{"text":""}}`:                           true,
	} {
		text := Format(json.RawMessage(result)).Content[0].(*mcp.TextContent).Text
		if strings.Contains(text, "nothing changed") != silent || strings.Contains(text, "take a snapshot") == silent {
			t.Errorf("%s is told as %q", result, text)
		}
	}
}
