package command

import (
	"encoding/json"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Schema returns the command's parameters as a JSON Schema (draft 2020-12): an
// object, with the parameters that all commands take included.
func (cmd *Command) Schema() map[string]any { return Definitions(nil).Params(cmd) }

// Params returns the schema of the command's parameters.
func (d Definitions) Params(cmd *Command) map[string]any {
	properties, required := map[string]any{}, []string{}
	fields := append(fieldsOf(reflect.New(cmd.params).Elem()), fieldsOf(reflect.New(reflect.TypeFor[Common]()).Elem())...)
	for _, f := range fields {
		properties[f.name] = f.schema(d)
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

// Seldom returns the parameters that an agent seldom needs, and that short lists of tools leave out.
func (cmd *Command) Seldom() []string {
	var list []string
	for _, f := range fieldsOf(reflect.New(cmd.params).Elem()) {
		if f.tag.Get("seldom") == "true" {
			list = append(list, f.name)
		}
	}
	return list
}

// CommaSeparated returns the lists whose members have no comma: a command line may give several as
// one word, with commas between them.
func (cmd *Command) CommaSeparated() []string {
	var list []string
	for _, f := range fieldsOf(reflect.New(cmd.params).Elem()) {
		_, enum := f.tag.Lookup("enum")
		if f.v.Kind() == reflect.Slice && (enum || f.tag.Get("commas") == "true") {
			list = append(list, f.name)
		}
	}
	return list
}

func (f field) schema(defs Definitions) map[string]any {
	s := defs.Of(f.v.Type())
	narrow(s, f.tag)
	if doc := f.tag.Get("doc"); doc != "" {
		s["description"] = doc
	}
	if words, ok := f.tag.Lookup("enum"); ok {
		list := strings.Split(strings.TrimPrefix(words, ","), ",")
		if f.tag.Get("fold") == "upper" {
			list = append(list, strings.Split(strings.ToLower(strings.Join(list, ",")), ",")...)
		}
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

// narrow restricts the schema of a field whose Go type accepts any JSON. The tag takes names the JSON types,
// items that of a list's members. Several types become branches of anyOf, since not every client reads a list
// of types.
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

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	timeType = reflect.TypeFor[time.Time]()
)

// Described is a type that returns the schema of its own JSON.
type Described interface {
	JSONSchema(d Definitions) map[string]any
}

// Definitions are the schemas of structs by their names. A nil Definitions describes
// each struct where it is used; any other collects them, and uses name them.
type Definitions map[string]any

// Result returns the schema of what the command returns.
func (d Definitions) Result(cmd *Command) map[string]any { return d.Of(cmd.result) }

// Of returns the schema of a Go type as encoding/json writes it.
func (d Definitions) Of(t reflect.Type) map[string]any {
	switch {
	case t.Kind() == reflect.Pointer:
		return d.Of(t.Elem())
	case t.Implements(reflect.TypeFor[Described]()):
		return d.named(t, func() map[string]any { return reflect.Zero(t).Interface().(Described).JSONSchema(d) })
	case t == rawType || t.Kind() == reflect.Interface:
		return map[string]any{} // any value
	case t == timeType:
		return map[string]any{"type": "string", "format": "date-time"}
	case t == targetType:
		return map[string]any{"anyOf": []any{map[string]any{"type": "string"}, d.locator()}}
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
	case reflect.Slice, reflect.Array:
		s := map[string]any{"type": "array", "items": d.Of(t.Elem())}
		if t.Kind() == reflect.Array {
			s["minItems"], s["maxItems"] = t.Len(), t.Len()
		}
		return s
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": d.Of(t.Elem())}
	}
	return d.named(t, func() map[string]any { return d.Struct(t) })
}

// locator returns the schema of a locator as an object.
func (d Definitions) locator() map[string]any {
	t := reflect.TypeFor[protocol.Locator]()
	return d.named(t, func() map[string]any {
		s := d.Struct(t)
		s["additionalProperties"] = false
		return s
	})
}

// named puts a schema under its type's name, and returns the reference to it.
func (d Definitions) named(t reflect.Type, schema func() map[string]any) map[string]any {
	name := nameOf(t)
	if d == nil || name == "" {
		return schema()
	}
	if _, ok := d[name]; !ok {
		d[name] = nil // it may lead to itself
		d[name] = schema()
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// nameOf returns a type's name, with its package's where that alone would say little.
func nameOf(t reflect.Type) string {
	name := t.Name()
	switch pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]; {
	case t == reflect.TypeFor[Result]():
		return "PageResult"
	case t == reflect.TypeFor[protocol.ErrorData]():
		return "Error"
	case name == "Info" || name == "Ended" || name == "Result":
		return strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
	return strings.TrimSuffix(name, "JSON")
}

// Struct returns the schema of a struct. A member that is always there is required. What is
// embedded is in allOf, or with nil Definitions among the struct's own members.
func (d Definitions) Struct(t reflect.Type) map[string]any {
	properties := map[string]any{}
	required, bases := d.members(properties, t)
	s := map[string]any{"type": "object", "properties": properties}
	if d != nil && len(required) > 0 {
		s["required"] = required
	}
	if len(bases) > 0 {
		s["allOf"] = bases
	}
	return s
}

func (d Definitions) members(properties map[string]any, t reflect.Type) (required []string, bases []any) {
	for i := range t.NumField() {
		sf := t.Field(i)
		name, rest, _ := strings.Cut(sf.Tag.Get("json"), ",")
		switch {
		case sf.Anonymous && name == "" && d != nil:
			bases = append(bases, d.Of(sf.Type))
			continue
		case sf.Anonymous && name == "":
			d.members(properties, sf.Type)
			continue
		case name == "" || name == "-":
			continue
		}
		s := d.Of(sf.Type)
		narrow(s, sf.Tag)
		maybe := strings.Contains(rest, "omit")
		if sf.Type.Kind() == reflect.Pointer && !maybe && d != nil {
			s = map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
		}
		if doc := sf.Tag.Get("doc"); doc != "" && d != nil {
			s["description"] = doc
		}
		properties[name] = s
		if !maybe {
			required = append(required, name)
		}
	}
	return required, bases
}
