package actions

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
)

// A required text that is empty is not given, in every command but type, whose empty
// text clears a field.
func TestRequiredTextsAreNotEmpty(t *testing.T) {
	tried := 0
	for _, row := range All {
		for _, p := range row.Help().Parameters {
			schema, _ := row.Schema()["properties"].(map[string]any)[p.Name].(map[string]any)
			if !p.Required || schema["type"] != "string" || schema["enum"] != nil {
				continue
			}
			params := map[string]any{}
			for _, other := range row.Help().Parameters {
				if other.Required {
					params[other.Name] = "x"
				}
			}
			params[p.Name] = ""
			raw, err := json.Marshal(params)
			if err != nil {
				t.Fatal(err)
			}
			_, err = row.Decode(raw, new(command.Common))
			var said *protocol.Error
			refused := errors.As(err, &said) && said.Code == protocol.InvalidParams && reflect.DeepEqual(said.Details["parameter"], p.Name)
			if empty := row == Type && p.Name == "text"; refused == empty {
				t.Errorf("%s with an empty %s: %v", row.Name, p.Name, err)
			}
			tried++
		}
	}
	if tried < 10 {
		t.Errorf("%d parameters were tried: is the pattern wrong?", tried)
	}
}
