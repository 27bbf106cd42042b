package command

import (
	"encoding/json"
	"maps"
	"reflect"
	"strconv"
	"strings"
)

// Schema is the command's parameters as a JSON Schema (draft 2020-12): an
// object, with the parameters that all commands take included.
func (cmd *Command) Schema() map[string]any {
	properties, required := map[string]any{}, []string{}
	fields := append(fieldsOf(reflect.New(cmd.params).Elem()), fieldsOf(reflect.New(reflect.TypeFor[Common]()).Elem())...)
	for _, f := range fields {
		properties[f.name] = f.schema()
		if f.tag.Get("required") == "true" {
			required = append(required, f.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// Seldom are the parameters that an agent needs so seldom that a short list of tools leaves
// them out.
func (cmd *Command) Seldom() []string {
	var list []string
	for _, f := range fieldsOf(reflect.New(cmd.params).Elem()) {
		if f.tag.Get("seldom") == "true" {
			list = append(list, f.name)
		}
	}
	return list
}

func (f field) schema() map[string]any {
	s := schemaOf(f.v.Type())
	narrow(s, f.tag)
	if doc := f.tag.Get("doc"); doc != "" {
		s["description"] = doc
	}
	if words, ok := f.tag.Lookup("enum"); ok {
		list := strings.Split(strings.TrimPrefix(words, ","), ",")
		if items, ok := s["items"].(map[string]any); ok {
			items["enum"] = list
		} else {
			s["enum"] = list
		}
	}
	for tag, key := range map[string]string{"min": "minimum", "max": "maximum"} {
		if n, err := strconv.ParseFloat(f.tag.Get(tag), 64); err == nil {
			s[key] = n
		}
	}
	if d, ok := f.tag.Lookup("default"); ok && d != "" {
		s["default"] = f.literal(d)
	}
	return s
}

// narrow says of a value that Go takes as it comes what it may be: the tag takes
// names JSON types, items that of a list's members. More than one are branches
// of anyOf, since not every client reads a list of types.
func narrow(s map[string]any, tag reflect.StructTag) {
	var branches []any
	for word := range strings.SplitSeq(tag.Get("takes"), ",") {
		branch := map[string]any{"type": word}
		if items := tag.Get("items"); word == "array" && items != "" {
			branch["items"] = map[string]any{"type": items}
		}
		branches = append(branches, branch)
	}
	switch {
	case tag.Get("takes") == "":
	case len(branches) == 1:
		maps.Copy(s, branches[0].(map[string]any))
	default:
		s["anyOf"] = branches
	}
}

var rawType = reflect.TypeFor[json.RawMessage]()

// schemaOf is the schema of a Go type as encoding/json reads it.
func schemaOf(t reflect.Type) map[string]any {
	switch {
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem())
	case t == rawType || t.Kind() == reflect.Interface:
		return map[string]any{} // any value
	case t == reflect.TypeFor[[]byte]():
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	}
	properties := map[string]any{}
	addProperties(properties, t)
	return map[string]any{"type": "object", "properties": properties}
}

func addProperties(properties map[string]any, t reflect.Type) {
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Anonymous {
			addProperties(properties, sf.Type)
			continue
		}
		if name, _, _ := strings.Cut(sf.Tag.Get("json"), ","); name != "" && name != "-" {
			s := schemaOf(sf.Type)
			narrow(s, sf.Tag)
			properties[name] = s
		}
	}
}
