package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/telemetry"
)

// maxID is the longest id of a request, in bytes of JSON.
const maxID = 256

// decodeRequest decodes one text frame as a JSON-RPC 2.0 request object. The request's ID
// is nil for a notification. With an error, ID is the id to answer with: null if the frame
// has no valid id (JSON-RPC 2.0 section 5).
//
// It is stricter than encoding/json: it compares member names exactly, and refuses a member
// that is given twice. It ignores unknown members.
func decodeRequest(frame []byte) (protocol.Request, *protocol.Error) {
	none := protocol.Request{ID: json.RawMessage("null")}
	frame = trimJSON(frame)
	if err := checkJSON(frame); err != nil {
		return none, err
	}
	switch frame[0] {
	case '{':
	case '[':
		return none, protocol.Errorf(protocol.InvalidRequest, "the message is a JSON-RPC batch array, which browserd does not take").
			Then("send one request per message, or the command batch")
	default:
		return none, protocol.Errorf(protocol.InvalidRequest, "the message is not a JSON object")
	}
	members, twice := split(frame)
	id, hasID := members["id"]
	if twice == "id" || hasID && !isID(id) {
		return none, protocol.Errorf(protocol.InvalidRequest, "id: accepts one string, number or null of at most %d bytes", maxID)
	}
	req := protocol.Request{ID: id}
	wrong := func(code protocol.Code, format string, args ...any) (protocol.Request, *protocol.Error) {
		if !hasID {
			req.ID = none.ID
		}
		return req, protocol.Errorf(code, format, args...)
	}
	if twice != "" {
		return wrong(protocol.InvalidRequest, "%s: is there twice", twice)
	}
	if json.Unmarshal(members["jsonrpc"], &req.JSONRPC) != nil || req.JSONRPC != "2.0" {
		return wrong(protocol.InvalidRequest, `jsonrpc: %s: accepts "2.0"`, quoteValue(members["jsonrpc"]))
	}
	if json.Unmarshal(members["method"], &req.Method) != nil || req.Method == "" {
		return wrong(protocol.InvalidRequest, "method: %s: accepts a command's name", quoteValue(members["method"]))
	}
	json.Unmarshal(members[telemetry.Header], &req.Traceparent) // one that is no text is ignored, as one that is no traceparent
	params, ok := members["params"]
	if ok && params[0] != '{' {
		// The envelope is valid, so that a notification gets no answer to this error.
		return req, protocol.Errorf(protocol.InvalidParams, "params: %s: accepts an object, or is left out", quoteValue(params)).With("parameter", "params")
	}
	req.Params = params
	return req, nil
}

// firstID returns the id to answer with if only the beginning of a frame was kept. It is
// null if the id does not come before params.
func firstID(frame []byte) json.RawMessage {
	none := json.RawMessage("null")
	in := json.NewDecoder(bytes.NewReader(frame))
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return none
	}
	for {
		name, err := in.Token()
		if err != nil {
			return none
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return none // the kept part ends here
		}
		if name == "id" {
			if !isID(value) {
				return none
			}
			return value
		}
	}
}

// trimJSON removes JSON white space from both ends (RFC 8259 section 2).
func trimJSON(text []byte) []byte { return bytes.Trim(text, " \t\r\n") }

// checkJSON returns an error that says where text stops being JSON. It also refuses nesting
// beyond encoding/json's 10,000 levels, and text that is not UTF-8 (RFC 8259 section 8.1),
// which encoding/json would silently replace by U+FFFD.
func checkJSON(text []byte) *protocol.Error {
	if !utf8.Valid(text) {
		return protocol.Errorf(protocol.ParseError, "the message is not UTF-8")
	}
	if json.Valid(text) {
		return nil
	}
	var none json.RawMessage
	err := json.Unmarshal(text, &none) // decode again to get the error
	e := protocol.Errorf(protocol.ParseError, "the message is not JSON: %v", err)
	var at *json.SyntaxError
	if errors.As(err, &at) {
		e.With("offset", at.Offset)
	}
	return e
}

// split returns the members of a valid JSON object as raw JSON, without copying them, since
// params may have megabytes. twice is the name of a member that is given more than once.
func split(object []byte) (members map[string]json.RawMessage, twice string) {
	members = map[string]json.RawMessage{}
	for i := skipSpace(object, 1); object[i] != '}'; {
		end := valueEnd(object, i)
		var name string
		json.Unmarshal(object[i:end], &name) // valid, as the whole is
		i = skipSpace(object, skipSpace(object, end)+1)
		end = valueEnd(object, i)
		switch name {
		case "jsonrpc", "id", "method", "params", telemetry.Header:
			if members[name] != nil {
				twice = name
			}
			members[name] = object[i:end:end]
		}
		if i = skipSpace(object, end); object[i] == ',' {
			i = skipSpace(object, i+1)
		}
	}
	return members, twice
}

func skipSpace(text []byte, i int) int {
	for text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n' {
		i++
	}
	return i
}

// valueEnd returns where the value that begins at i ends. The text must be valid JSON in
// which something follows the value.
func valueEnd(text []byte, i int) int {
	for depth := 0; ; i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ' ', '\t', '\r', '\n', ',', ':':
			continue
		default: // a number or a word
			for strings.IndexByte(" \t\r\n,:]}", text[i+1]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
}

// isID reports whether raw is a string, a number or null, and not longer than maxID.
func isID(raw json.RawMessage) bool {
	switch raw[0] {
	case '{', '[', 't', 'f':
		return false
	}
	return len(raw) <= maxID
}

// idKey returns a comparable form of an id, in which strings are unescaped. ok is false for a
// notification and for the id null, which do not identify a request.
func idKey(id json.RawMessage) (key string, ok bool) {
	if len(id) == 0 || id[0] == 'n' {
		return "", false
	}
	if id[0] != '"' {
		return string(id), true
	}
	var s string
	if json.Unmarshal(id, &s) != nil {
		return "", false
	}
	return `"` + s, true
}

// quoteValue returns a value as text for a message.
func quoteValue(raw json.RawMessage) string {
	if raw == nil {
		return "is missing"
	}
	return cut(string(raw))
}

// errorFrame returns a JSON-RPC error response. A successful response is what resultPrefix
// returns, the encoded result, and a closing brace.
func errorFrame(id json.RawMessage, err *protocol.Error) []byte {
	return append(append(responsePrefix(id, `,"error":`), encodeError(err, err.RPC())...), '}')
}

func resultPrefix(id json.RawMessage) []byte { return responsePrefix(id, `,"result":`) }

func responsePrefix(id json.RawMessage, member string) []byte {
	return append(append(append(make([]byte, 0, len(id)+40), `{"jsonrpc":"2.0","id":`...), id...), member...)
}

// encodeError encodes shape, the form of an error in one transport. If its details cannot be
// encoded as JSON, it leaves them out.
func encodeError(err *protocol.Error, shape any) json.RawMessage {
	if text, e := encode(shape); e == nil {
		return text
	}
	bare := *err
	bare.Details = map[string]any{"lost": "details that cannot be written as JSON"}
	switch shape.(type) {
	case *protocol.RPCError:
		shape = bare.RPC()
	default:
		shape = httpError(&bare)
	}
	text, _ := encode(shape) // strings and numbers only
	return text
}

// eventFrame returns the notification for an event, or nil if the event cannot be encoded as
// JSON.
func eventFrame(e protocol.Event) []byte {
	text, err := encode(protocol.Notification{JSONRPC: "2.0", Method: "event", Params: e})
	if err != nil {
		return nil
	}
	return text
}
