package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/session/handoff"
	"github.com/browserd/browserd/snapshot"
)

// person is the key of the one input that a tool asks of a client: that a person opens a
// link (MCP 2025-11-25, URL mode elicitation; 2026-07-28, multi round-trip requests).
const person = "person"

// personWait is how long the call waits whose link a person has agreed to open.
const personWait = 25_000

// answered returns the arguments of a call. If it is one of handoff that the client repeats
// with what its person said to the link, they wait for the end, or withdraw the request.
func answered(req *mcp.CallToolRequest, cmd *command.Command) json.RawMessage {
	said, ok := req.Params.InputResponses[person].(*mcp.ElicitResult)
	arguments := map[string]json.RawMessage{}
	if !ok || cmd != actions.Handoff || len(req.Params.Arguments) > 0 && json.Unmarshal(req.Params.Arguments, &arguments) != nil {
		return req.Params.Arguments
	}
	if said.Action != "accept" {
		arguments["withdraw"] = json.RawMessage("true")
	} else if arguments["wait_ms"] == nil {
		arguments["wait_ms"] = json.RawMessage(fmt.Sprint(personWait))
	}
	more, err := json.Marshal(maps.Clone(arguments))
	if err != nil {
		return req.Params.Arguments
	}
	return more
}

// person returns the request that the client shows its person the link of a hand-off, where
// it can and has not been asked to; nil: there is nothing to ask. Where the hand-off is over
// it tells the client so.
func (c *conversation) person(ctx context.Context, req *mcp.CallToolRequest, cmd *command.Command, result json.RawMessage) *mcp.CallToolResult {
	var r actions.HandoffResult
	if cmd != actions.Handoff || result == nil || json.Unmarshal(result, &r) != nil || !opensLinks(req) {
		return nil
	}
	link := linkID(r.URL)
	c.mu.Lock()
	was := c.asked[r.Session]
	if c.asked == nil {
		c.asked = map[string]string{}
	}
	delete(c.asked, r.Session)
	if r.State == handoff.Waiting && r.URL != "" && len(c.asked) < maxNamed {
		c.asked[r.Session] = link
	}
	c.mu.Unlock()
	if was == "" && isLinkID(req.Params.RequestState) { // another node of a fleet asked
		was = req.Params.RequestState
	}
	switch {
	case r.State != handoff.Waiting && was != "":
		req.Session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: was})
		return nil
	case r.State != handoff.Waiting || was == link || r.URL == "" || r.Driver != "":
		return nil
	}
	var p actions.HandoffParams
	json.Unmarshal(req.Params.Arguments, &p)
	message := "The agent asks you to do a step in its browser."
	if p.Reason != "" {
		message = "The agent asks you to do a step in its browser: " + snapshot.Literally(snapshot.Cut(p.Reason, maxReason))
	}
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{person: &mcp.ElicitParams{Mode: "url", Message: message, URL: r.URL, ElicitationID: link}},
		RequestState:  link, // the client repeats it with the answer, perhaps to another node
	}
}

// maxReason is how many characters of the agent's reason the client is shown.
const maxReason = 600

// linkID identifies a link, and does not open it.
func linkID(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:linkIDBytes])
}

// linkIDBytes is how much of a link's digest identifies it.
const linkIDBytes = 12

// isLinkID reports whether a client's string has the form of linkID's.
func isLinkID(s string) bool {
	id, err := hex.DecodeString(s)
	return err == nil && len(id) == linkIDBytes
}

// opensLinks reports whether the client declares that it shows its person links.
func opensLinks(req *mcp.CallToolRequest) bool {
	p := req.Session.InitializeParams()
	return p != nil && p.Capabilities != nil && p.Capabilities.Elicitation != nil && p.Capabilities.Elicitation.URL != nil
}
