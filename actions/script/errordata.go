package script

import (
	"encoding/json"
	"errors"

	"github.com/browserd/browserd/protocol"
)

// ErrorData returns an error as the JSON of a step's result.
func ErrorData(err error) json.RawMessage {
	var e *protocol.Error
	if !errors.As(err, &e) {
		e = protocol.Errorf(protocol.Internal, "the step failed")
	}
	data := e.Data()
	data.Message = e.Message
	text, err := json.Marshal(data)
	if err != nil {
		return json.RawMessage(`{"code":"internal","message":"the step failed"}`)
	}
	return text
}
