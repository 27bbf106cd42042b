package schema_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/schema"
	"github.com/browserd/browserd/protocol"
)

// compiled is the document as a validator reads it, and a func that validates a value
// against one of its definitions.
func compiled(t *testing.T) (document map[string]any, validate func(name, text string) error) {
	t.Helper()
	text, err := json.Marshal(schema.Document(actions.All, "test"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("browserd.json", parsed); err != nil {
		t.Fatal(err)
	}
	return parsed.(map[string]any), func(name, text string) error {
		s, err := c.Compile("browserd.json#/$defs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(value)
	}
}

// The document is a valid JSON Schema, all of its references lead somewhere, and it
// accepts every example of every command.
func TestTheSchemaIsOne(t *testing.T) {
	document, validate := compiled(t)
	for name := range document["$defs"].(map[string]any) {
		validate(name, `{}`) // compiles it, and all that it refers to
	}
	for _, cmd := range actions.All {
		for _, e := range cmd.Examples {
			if err := validate(schema.Pascal(cmd.Name)+"Params", e.Params); err != nil {
				t.Errorf("%s %s: %v", cmd.Name, e.Params, err)
			}
		}
	}
	for name, text := range map[string]string{
		"ClickParams":  `{"ref": "@e1", "buton": "left"}`,
		"OpenParams":   `{}`,
		"WaitParams":   `{"ms": -1}`,
		"UploadParams": `{"ref": "@e1", "files": [{"name": "a.txt"}]}`,
		"Error":        `{"code": "no_such_code", "retryable": false}`,
		"Event":        `{"type": "dialog"}`,
		"ReadResult":   `{"content": "", "truncated": false}`, // without session and page
	} {
		if validate(name, text) == nil {
			t.Errorf("%s accepts %s", name, text)
		}
	}
}

// Every type of event has its fields.
func TestEveryEventIsDescribed(t *testing.T) {
	document, _ := compiled(t)
	got := slices.Sorted(maps.Keys(document["events"].(map[string]any)))
	if want := slices.Sorted(slices.Values(protocol.EventTypes)); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
