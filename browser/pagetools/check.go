package pagetools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/browserd/browserd/protocol"
)

// schema is what is checked of a JSON Schema. The page wrote it: what would cost more to check
// than to read (patterns, references, alternatives) is left to the tool.
type schema struct {
	Type       any                        `json:"type"` // a word, or a list of words
	Enum       []json.RawMessage          `json:"enum"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
	Additional any                        `json:"additionalProperties"`
}

// Check compares the arguments of a call, a JSON object, with the tool's schema, and returns
// invalid_params for the first that does not fit. A schema that was left out, or that is
// none, accepts everything.
func Check(tool Tool, arguments json.RawMessage) error {
	var value any
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return protocol.Errorf(protocol.InvalidParams, "arguments are no JSON").With("parameter", "arguments")
	}
	c := checker{values: maxValues}
	if wrong := c.check(tool.InputSchema, value, "arguments", maxDepth); wrong != "" {
		return protocol.Errorf(protocol.InvalidParams, "%s", wrong).With("parameter", "arguments").With("schema", tool.InputSchema).
			Then("correct the arguments by details.schema, which the page wrote")
	}
	return nil
}

// maxValues is how many values of the arguments are checked: each may have the schema read anew.
const maxValues = 500

type checker struct{ values int } // that are still to be checked

// check returns what is wrong with the value at the path, "" for nothing.
func (c *checker) check(raw json.RawMessage, value any, path string, left int) string {
	var s schema
	c.values--
	if left == 0 || c.values < 0 || len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	if types := wordsOf(s.Type); len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return is(value, t) }) {
		return fmt.Sprintf("%s: it is %s, and the tool accepts %s", path, typeOf(value), strings.Join(types, " or "))
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e json.RawMessage) bool { return same(e, value) }) {
		return fmt.Sprintf("%s: it is none of the values that the tool accepts", path)
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := value[name]; !ok {
				return fmt.Sprintf("%s.%s is needed", path, protocol.Cut(name, 60))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			property, known := s.Properties[name]
			at := path + "." + protocol.Cut(name, 60)
			if !known && s.Additional == false {
				return fmt.Sprintf("%s: the tool has no such argument", at)
			}
			if wrong := c.check(property, value[name], at, left-1); wrong != "" {
				return wrong
			}
		}
	case []any:
		for i, v := range value {
			if wrong := c.check(s.Items, v, fmt.Sprintf("%s[%d]", path, i), left-1); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

// wordsOf returns the types that a schema names; nil if one of them is none of JSON Schema's.
func wordsOf(t any) (words []string) {
	list, ok := t.([]any)
	if !ok {
		list = []any{t}
	}
	for _, w := range list {
		word, _ := w.(string)
		if !slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, word) {
			return nil
		}
		words = append(words, word)
	}
	return words
}

// is reports whether a value has a type of JSON Schema.
func is(value any, word string) bool {
	if n, ok := value.(json.Number); ok && word == "integer" {
		return integer(n)
	}
	return typeOf(value) == word
}

// integer reports whether the number, as a page reads it, has no fraction.
func integer(n json.Number) bool {
	f := number(n)
	return f == math.Trunc(f)
}

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// same reports whether a plain value of an enum is the value. Arrays and objects are left to
// the tool.
func same(raw json.RawMessage, value any) bool {
	var want any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&want) != nil {
		return true
	}
	switch want := want.(type) {
	case map[string]any, []any:
		return true
	case json.Number:
		n, ok := value.(json.Number)
		return ok && number(want) == number(n)
	default:
		return want == value
	}
}

func number(n json.Number) float64 {
	f, _ := n.Float64()
	return f
}
