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

// person is the key of the only input that a tool requests from a client: that a person opens a link (MCP
// 2025-11-25, URL mode elicitation; 2026-07-28, multi round-trip requests).
const person = "person"

// personWait is how long a call waits, in milliseconds, once a person has agreed to open its link.
const personWait = 25_000

// withElicitationResult returns the arguments of a call. If the client repeats a call of handoff with the
// person's answer to the link, it adds wait_ms if they accepted, and withdraw if they did not.
func withElicitationResult(req *mcp.CallToolRequest, cmd *command.Command) json.RawMessage {
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

// elicitPerson returns the request to show the link of a hand-off to the client's person. It is nil if the
// client cannot do that or has been asked already. If the hand-off is over, elicitPerson notifies the client.
func (c *conversation) elicitPerson(ctx context.Context, req *mcp.CallToolRequest, cmd *command.Command, result json.RawMessage) *mcp.CallToolResult {
	var r actions.HandoffResult
	if cmd != actions.Handoff || result == nil || json.Unmarshal(result, &r) != nil || !supportsURLElicitation(req) {
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
	if was == "" && isLinkID(req.Params.RequestState) { // another node of the fleet has asked
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

// maxReason is how many characters of the agent's reason are shown to the person.
const maxReason = 600

// linkID returns an id of a link, with which the link cannot be opened.
func linkID(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:linkIDBytes])
}

// linkIDBytes is how much of a link's digest identifies it.
const linkIDBytes = 12

// isLinkID reports whether a client's string has the form of a linkID.
func isLinkID(s string) bool {
	id, err := hex.DecodeString(s)
	return err == nil && len(id) == linkIDBytes
}

// supportsURLElicitation reports whether the client declares that it can show links to its person.
func supportsURLElicitation(req *mcp.CallToolRequest) bool {
	p := req.Session.InitializeParams()
	return p != nil && p.Capabilities != nil && p.Capabilities.Elicitation != nil && p.Capabilities.Elicitation.URL != nil
}
