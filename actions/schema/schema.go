// Package schema describes the protocol for programs: every command's parameters and
// result, every event and the errors, as JSON Schema and as OpenAPI. All of it follows
// from the rows of the commands; the clients are generated from it. It only returns
// values and keeps nothing.
package schema

import (
	"encoding/json"
	"go/token"
	"strings"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
)

type object = map[string]any

// Document returns the whole description as one JSON Schema (draft 2020-12). Its definitions
// are under $defs. The members commands and events say which of them are a command's
// parameters (ClickParams) and its result, and an event.
func Document(r command.Repertoire, version string) map[string]any {
	d := command.Definitions{}
	commands, events, anyEvent := object{}, object{}, []any{}
	for _, cmd := range r {
		params := Pascal(cmd.Name) + "Params"
		d[params] = d.Params(cmd)
		entry := object{"summary": cmd.Summary, "params": use(params), "result": d.Result(cmd)}
		if cmd.Main != "" {
			entry["main"] = cmd.Main
		}
		if cmd.Is(command.WebSocketOnly) {
			entry["websocket_only"] = true
		}
		commands[cmd.Name] = entry
	}
	for _, name := range protocol.EventTypes {
		e := eventFields[name]
		s := d.Struct(e.fields)
		if token.IsExported(e.fields.Name()) { // it is told elsewhere too
			s = object{"type": "object", "allOf": []any{d.Of(e.fields)}, "properties": object{}}
		}
		properties := s["properties"].(object)
		properties["type"] = object{"type": "string", "const": name}
		properties["session"] = object{"type": "string", "description": "whose event it is"}
		required, _ := s["required"].([]string)
		s["required"] = append(required, "type")
		if e.open {
			s["additionalProperties"] = true
		}
		event := Pascal(name) + "Event"
		d[event], events[name] = s, use(event)
		anyEvent = append(anyEvent, use(event))
	}
	codes := []string{}
	for _, row := range protocol.Codes {
		codes = append(codes, string(row.Code))
	}
	d["ErrorCode"] = object{"type": "string", "enum": codes}
	d["Error"] = object{"type": "object", "required": []string{"code", "retryable"}, "properties": object{
		"code":      use("ErrorCode"),
		"message":   object{"type": "string", "description": "one sentence for people; over the WebSocket it is error.message"},
		"retryable": object{"type": "boolean", "description": "the same command may succeed if it is sent again"},
		"next":      object{"type": "string", "description": "the next step that helps"},
		"details":   object{"type": "object", "additionalProperties": true},
	}}
	d["Event"] = object{"oneOf": anyEvent}
	return object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://github.com/browserd/browserd/schema.json",
		"title": "browserd", "description": "The protocol of browserd " + version + ": section 2 of PROTOCOL.md says how messages are sent.",
		"version": version, "protocol": protocol.Version, "commands": commands, "events": events, "$defs": object(d),
	}
}

// Pascal returns a name of the wire as one of a type: session_open is SessionOpen.
func Pascal(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

func use(name string) map[string]any { return object{"$ref": "#/$defs/" + name} }

// OpenAPI describes the HTTP transport (OpenAPI 3.1): POST /v1/{command}, and what
// operators ask for.
func OpenAPI(r command.Repertoire, version string) (map[string]any, error) {
	document := Document(r, version)
	paths := object{}
	for _, cmd := range r {
		if cmd.Is(command.WebSocketOnly) {
			continue
		}
		entry := document["commands"].(object)[cmd.Name].(object)
		body := object{"content": asJSON(entry["params"])}
		if _, ok := document["$defs"].(object)[Pascal(cmd.Name)+"Params"].(object)["required"]; ok {
			body["required"] = true
		}
		paths["/v1/"+cmd.Name] = object{"post": object{
			"operationId": cmd.Name, "summary": cmd.Summary, "requestBody": body,
			"responses": object{
				"200":     object{"description": "the result", "content": asJSON(entry["result"])},
				"default": object{"description": "the error; its code says which status it has", "content": asJSON(object{"type": "object", "required": []string{"error"}, "properties": object{"error": use("Error")}})},
			},
		}}
	}
	plain := func(summary string, open bool, more object) object {
		get := object{"summary": summary, "responses": object{"200": object{"description": "as it should be"}, "default": object{"description": "it is not"}}}
		if open {
			get["security"] = []any{}
		}
		for k, v := range more {
			get[k] = v
		}
		return object{"get": get}
	}
	paths["/healthz"] = plain("Whether the daemon runs.", true, nil)
	paths["/readyz"] = plain("Whether it can work, and which sources do.", true, nil)
	paths["/metrics"] = plain("Metrics for Prometheus.", false, nil)
	paths[protocol.ProofPath] = plain("Whether the daemon knows your token, before you send it (PROTOCOL.md section 1).", true, object{
		"parameters": []any{object{"name": "nonce", "in": "query", "required": true, "schema": object{"type": "string", "pattern": "^[0-9a-f]{64}$"}}},
		"responses": object{"200": object{"description": "one proof for each token that the daemon accepts", "content": asJSON(object{
			"type": "object", "required": []string{"nonce", "proofs"},
			"properties": object{"nonce": object{"type": "string"}, "proofs": object{"type": "array", "items": object{"type": "string"}}},
		})}, "default": object{"description": "the address may not be proved, or asks too often"}},
	})
	api := object{
		"openapi": "3.1.0", "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info":     object{"title": "browserd", "version": version, "summary": "Headless Chromium for agents", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"}},
		"servers":  []any{object{"url": "http://127.0.0.1:9333"}},
		"security": []any{object{"token": []any{}}}, "paths": paths,
		"components": object{"schemas": document["$defs"], "securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}},
	}
	text, err := json.Marshal(api)
	if err != nil {
		return nil, err
	}
	moved := object{}
	return moved, json.Unmarshal([]byte(strings.ReplaceAll(string(text), `"#/$defs/`, `"#/components/schemas/`)), &moved)
}

func asJSON(schema any) map[string]any { return object{"application/json": object{"schema": schema}} }
