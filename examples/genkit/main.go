// Command genkit gives browserd's commands to Genkit for Go as tools, over MCP, and has a
// model do a task with them.
//
//	BROWSERD_TOKEN=… go run . http://127.0.0.1:9333 http://127.0.0.1:8080/
//
// The model is a function, in place of a language model: its task is to put oat milk on the
// list of the app of `browserd demo`.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/mcp"
)

// browserTools are the tools of everyday work of a daemon.
func browserTools(ctx context.Context, g *genkit.Genkit, daemon, token string) ([]ai.Tool, error) {
	client, err := mcp.NewGenkitMCPClient(mcp.MCPClientOptions{Name: "browserd", StreamableHTTP: &mcp.StreamableHTTPConfig{
		BaseURL: daemon + "/mcp", Headers: map[string]string{"Authorization": "Bearer " + token},
	}})
	if err != nil {
		return nil, err
	}
	return client.GetActiveTools(ctx, g)
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: BROWSERD_TOKEN=… go run . DAEMON-URL APP-URL")
	}
	ctx := context.Background()
	g := genkit.Init(ctx)
	tools, err := browserTools(ctx, g, os.Args[1], os.Getenv("BROWSERD_TOKEN"))
	if err != nil {
		log.Fatal(err)
	}
	refs := make([]ai.ToolRef, len(tools))
	for i, t := range tools {
		refs[i] = t
	}
	model := genkit.DefineModel(g, "example/function", &ai.ModelOptions{Supports: &ai.ModelSupports{Multiturn: true, Tools: true}}, model)
	answer, err := genkit.Generate(ctx, g, ai.WithModel(model), ai.WithTools(refs...), ai.WithMaxTurns(10), ai.WithPrompt("Put oat milk on the list."))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text())
}

// model answers to what the last tool said with the next call, until the task is done.
func model(_ context.Context, r *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
	call := func(name string, input map[string]any) (*ai.ModelResponse, error) {
		return &ai.ModelResponse{Request: r, Message: ai.NewModelMessage(ai.NewToolRequestPart(&ai.ToolRequest{Name: "browserd_" + name, Input: input}))}, nil
	}
	last := r.Messages[len(r.Messages)-1].Content[0]
	if last.ToolResponse == nil {
		fmt.Println(last.Text)
		return call("open", map[string]any{"url": os.Args[2]})
	}
	text, err := json.Marshal(last.ToolResponse.Output)
	if err != nil {
		return nil, err
	}
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(text, &result); err != nil || len(result.Content) == 0 {
		return nil, fmt.Errorf("the tool answered %s: %v", text, err)
	}
	page := result.Content[0].Text
	fmt.Println(page)
	find := func(role, name string) []string {
		return regexp.MustCompile(`(?m)^ *(@e\d+) \[` + role + `\b(.*)\] "` + name + `"$`).FindStringSubmatch(page)
	}
	field, add, items := find("textbox", "New item"), find("button", "Add"), find("link", "Items")
	for line := range strings.Lines(page) {
		if strings.Contains(line, "Oat milk") && !strings.Contains(line, "[textbox") {
			return &ai.ModelResponse{Request: r, Message: ai.NewModelTextMessage("Done: Oat milk is on the list.")}, nil
		}
	}
	switch {
	case field != nil && add != nil && strings.Contains(field[2], `value="Oat milk"`):
		return call("click", map[string]any{"ref": add[1], "snapshot": "full"})
	case field != nil:
		return call("type", map[string]any{"ref": field[1], "text": "Oat milk", "snapshot": "full"})
	case items != nil:
		return call("click", map[string]any{"ref": items[1], "snapshot": "full"})
	}
	return nil, fmt.Errorf("the model does not know what to do with\n%s", page)
}
