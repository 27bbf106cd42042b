package cdp

import "errors"

// Refusal returns what Chromium says of parameters that it refuses (JSON-RPC's invalid
// params, or a server error); empty for every other error.
func Refusal(err error) string {
	var e *Error
	if errors.As(err, &e) && (e.Code == -32602 || e.Code == -32000) {
		return e.Message
	}
	return ""
}
