package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/browserd/browserd/protocol"
)

// maxID is how long a request's id may be, in bytes as written.
const maxID = 256

// decodeRequest reads one text frame as a JSON-RPC 2.0 request object. The
// request's ID is nil for a notification. With an error, ID is the id to
// answer with, null where the frame has none that could be understood
// (JSON-RPC 2.0 section 5).
//
// It is stricter than encoding/json: member names are compared exactly, a
// member that comes twice is refused, since which of them is meant is anybody's
// guess. Members that it does not know are ignored.
func decodeRequest(frame []byte) (protocol.Request, *protocol.Error) {
	none := protocol.Request{ID: json.RawMessage("null")}
	if !utf8.Valid(frame) {
		return none, protocol.Errorf(protocol.ParseError, "the message is not UTF-8")
	}
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
		return none, protocol.Errorf(protocol.InvalidRequest, "id: takes one string, number or null of at most %d bytes", maxID)
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
		return wrong(protocol.InvalidRequest, `jsonrpc: %s: takes "2.0"`, shown(members["jsonrpc"]))
	}
	if json.Unmarshal(members["method"], &req.Method) != nil || req.Method == "" {
		return wrong(protocol.InvalidRequest, "method: %s: takes a command's name", shown(members["method"]))
	}
	params, ok := members["params"]
	if ok && params[0] != '{' {
		// Not a fault of the envelope: a notification gets no answer to it.
		return req, protocol.Errorf(protocol.InvalidParams, "params: %s: takes an object, or is left out", shown(params))
	}
	req.Params = params
	return req, nil
}

// trimJSON takes off what JSON calls white space (RFC 8259 section 2).
func trimJSON(text []byte) []byte { return bytes.Trim(text, " \t\r\n") }

// checkJSON says where text stops being JSON. Nesting beyond encoding/json's
// 10,000 levels is not JSON either.
func checkJSON(text []byte) *protocol.Error {
	var all json.RawMessage
	err := json.Unmarshal(text, &all)
	if err == nil {
		return nil
	}
	e := protocol.Errorf(protocol.ParseError, "the message is not JSON: %v", err)
	var at *json.SyntaxError
	if errors.As(err, &at) {
		e.With("offset", at.Offset)
	}
	return e
}

// split reads the members of a valid JSON object, as they are written. twice
// is the name of one of the envelope's members that is there more than once.
func split(object []byte) (members map[string]json.RawMessage, twice string) {
	members = map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(object))
	d.Token() // {
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return members, ""
		}
		key, _ := name.(string)
		switch key {
		case "jsonrpc", "id", "method", "params":
			if members[key] != nil {
				twice = key
			}
			members[key] = value
		}
	}
	return members, twice
}

// isID tells whether raw is a string, a number or null, and not too long to be
// carried back.
func isID(raw json.RawMessage) bool {
	switch raw[0] {
	case '{', '[', 't', 'f':
		return false
	}
	return len(raw) <= maxID
}

// idKey makes ids comparable: a string is the same however it was escaped. ok
// is false for a notification and for the id null, which tells no two requests
// apart.
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

// shown is a value for a message.
func shown(raw json.RawMessage) string {
	if raw == nil {
		return "is missing"
	}
	return cut(string(raw))
}

// answerFrame is a JSON-RPC response: the result, or err where it is not nil.
func answerFrame(id, result json.RawMessage, err *protocol.Error) []byte {
	member, value := `,"result":`, result
	if err != nil {
		member, value = `,"error":`, encodeError(err, err.RPC())
	}
	b := make([]byte, 0, len(id)+len(value)+40)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, member...)
	b = append(b, value...)
	return append(b, '}')
}

// encodeError encodes shape, an error's form at one door; where its details
// cannot be written in JSON, without them.
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

// eventFrame is a notification that carries an event; nil where the event
// cannot be written as JSON.
func eventFrame(e protocol.Event) []byte {
	text, err := encode(protocol.Notification{JSONRPC: "2.0", Method: "event", Params: e})
	if err != nil {
		return nil
	}
	return text
}
