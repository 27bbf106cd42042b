package script

import "github.com/browserd/browserd/protocol"

// ParseScroll returns what the script is asked for: without any parameter that is down.
// Errors: invalid_params.
func ParseScroll(o protocol.Scroll) (ScrollArgs, error) {
	switch {
	case o.Direction != "" && o.Direction != "up" && o.Direction != "down" && o.Direction != "left" && o.Direction != "right":
		return ScrollArgs{}, protocol.Errorf(protocol.InvalidParams, "direction %q: accepts up, down, left or right", o.Direction).With("parameter", "direction")
	case o.To != "" && o.To != "top" && o.To != "bottom":
		return ScrollArgs{}, protocol.Errorf(protocol.InvalidParams, "to %q: accepts top or bottom", o.To).With("parameter", "to")
	case o.To != "" && (o.Direction != "" || o.Pixels != 0):
		return ScrollArgs{}, protocol.Errorf(protocol.InvalidParams, "to and direction: only one of them").With("parameter", "to")
	case o.Pixels < 0:
		return ScrollArgs{}, protocol.Errorf(protocol.InvalidParams, "pixels %d: accepts a number above 0; direction says where to", o.Pixels).With("parameter", "pixels")
	case o.Ref == "" && o.Direction == "" && o.To == "":
		o.Direction = "down"
	}
	if o.Pixels != 0 && o.Direction == "" {
		o.Direction = "down"
	}
	return ScrollArgs{Direction: o.Direction, Pixels: o.Pixels, To: o.To}, nil
}
