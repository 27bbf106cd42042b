package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/browserd/browserd/protocol"
)

// Params are described by the tags of their struct's fields:
//
//	json      the name on the wire; a field without one is not a parameter
//	doc       one clause for help, docs and schema
//	default   the value where none is given
//	enum      the words that it takes, comma-separated
//	fold      "upper" where a word counts whether its letters are small or capital
//	min, max  the bounds of a number
//	required  "true" where there is no default
//	empty     "true" where a required text may be empty
//	seldom    "true" where a short list of tools leaves the parameter out
//
// Embedded structs are flattened. Pointers stay nil if nothing was given.

// Decode reads the command's parameters into a new value of its struct, and those
// that all commands take into common. Unknown names, wrong
// types and values out of bounds are invalid_params that names the parameter,
// the value and what it takes.
func (cmd *Command) Decode(raw json.RawMessage, common *Common) (any, error) {
	given := map[string]json.RawMessage{}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
		if raw[0] != '{' {
			return nil, protocol.Errorf(protocol.InvalidParams, "params: accepts an object, not %s", protocol.Cut(string(raw), 60)).With("parameter", "params")
		}
		if !utf8.Valid(raw) { // JSON-RPC and HTTP are checked before; an MCP library does not check
			return nil, protocol.Errorf(protocol.InvalidParams, "params: is not UTF-8").With("parameter", "params")
		}
		var twice string
		var err error
		if given, twice, err = members(raw); err != nil {
			return nil, protocol.Errorf(protocol.InvalidParams, "params: %v", err).With("parameter", "params")
		}
		if twice != "" {
			return nil, protocol.Errorf(protocol.InvalidParams, "%s: is there twice", protocol.Cut(twice, 60)).With("parameter", protocol.Cut(twice, 60))
		}
	}
	p := reflect.New(cmd.params)
	fields := append(withDefaults(p.Elem()), withDefaults(reflect.ValueOf(common).Elem())...)
	if err := unknown(cmd, given, fields); err != nil { // first: what is missing may be there under another name
		return nil, err
	}
	for _, f := range fields {
		value, ok := given[f.name]
		if !ok || bytes.Equal(value, []byte("null")) {
			if f.tag.Get("required") == "true" {
				return nil, protocol.Errorf(protocol.InvalidParams, "%s needs the parameter %q: %s", cmd.Name, f.name, f.tag.Get("doc")).With("parameter", f.name)
			}
			continue
		}
		if err := f.set(value); err != nil {
			return nil, err
		}
		if f.tag.Get("required") == "true" && f.tag.Get("empty") != "true" && f.v.Kind() == reflect.String && f.v.Len() == 0 {
			return nil, protocol.Errorf(protocol.InvalidParams, "%s: accepts %s that is not empty: %s", f.name, f.takes(), f.tag.Get("doc")).With("parameter", f.name)
		}
	}
	return p.Interface(), nil
}

// unknown returns the error of the first name in given that no field has; nil if there is none.
func unknown(cmd *Command, given map[string]json.RawMessage, fields []field) error {
	all := names(fields)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(all, name) {
			continue
		}
		name = protocol.Cut(name, 60)
		err := protocol.Errorf(protocol.InvalidParams, "%s has no parameter %q", cmd.Name, name).With("parameter", name).With("parameters", all)
		free := slices.DeleteFunc(names(fields), func(n string) bool { _, taken := given[n]; return taken })
		if near := Nearest(name, free); len(near) > 0 {
			return err.Then("call it %s", strings.Join(near, " or "))
		}
		return err
	}
	return nil
}

// members returns the members of a JSON object. twice is the name of a member that is there more than once.
// Parsers disagree on which of them counts (RFC 8259 section 4), so that a filter in front of browserd could
// check another value than the command reads.
func members(object json.RawMessage) (given map[string]json.RawMessage, twice string, err error) {
	given = map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil, "", err
	}
	for d.More() {
		word, err := d.Token()
		if err != nil {
			return nil, "", err
		}
		name, _ := word.(string)
		if _, there := given[name]; there {
			twice = name
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, "", err
		}
		given[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, "", err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, "", errors.New("there is more behind the object")
	}
	return given, twice, nil
}

func names(fields []field) []string {
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.name
	}
	return list
}

// field is one parameter: where its value goes, and its tags.
type field struct {
	name string
	v    reflect.Value
	tag  reflect.StructTag
}

func fieldsOf(v reflect.Value) []field {
	var list []field
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		if sf.Anonymous {
			list = append(list, fieldsOf(v.Field(i))...)
			continue
		}
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			list = append(list, field{name, v.Field(i), sf.Tag})
		}
	}
	return list
}

// defaultsByType caches the structs of parameters with their default values, by type. Reading the defaults from
// the tags would cost more than the rest of a small command.
var defaultsByType sync.Map // reflect.Type → reflect.Value

// withDefaults sets v, a struct of parameters, to their defaults and returns its fields.
func withDefaults(v reflect.Value) []field {
	whole, ok := defaultsByType.Load(v.Type())
	if !ok {
		fresh := reflect.New(v.Type()).Elem()
		for _, f := range fieldsOf(fresh) {
			if d, ok := f.tag.Lookup("default"); ok {
				if err := f.set(f.literal(d)); err != nil {
					panic(fmt.Sprintf("%s: the default of %s: %v", v.Type(), f.name, err)) // a mistake of the build
				}
			}
		}
		whole, _ = defaultsByType.LoadOrStore(v.Type(), fresh)
	}
	v.Set(whole.(reflect.Value))
	fields := fieldsOf(v)
	for _, f := range fields {
		if f.v.Kind() == reflect.Slice && f.v.Len() > 0 { // each has its own
			f.v.Set(reflect.AppendSlice(reflect.MakeSlice(f.v.Type(), 0, f.v.Len()), f.v))
		}
	}
	return fields
}

// literal returns a default as it would be written in JSON.
func (f field) literal(text string) json.RawMessage {
	switch f.v.Kind() {
	case reflect.String:
		return json.RawMessage(strconv.Quote(text))
	case reflect.Slice:
		list, _ := json.Marshal(strings.Fields(text))
		return list
	}
	return json.RawMessage(text)
}

func (f field) set(value json.RawMessage) error {
	// One value stands for a list of one.
	if f.v.Type() == reflect.TypeFor[[]string]() && len(value) > 0 && value[0] == '"' {
		value = append(append([]byte{'['}, value...), ']')
	}
	switch deref(f.v.Type()).Kind() {
	case reflect.Int, reflect.Struct:
		value = normalizeIntegers(value)
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	if err := d.Decode(f.v.Addr().Interface()); err != nil {
		var said *protocol.Error
		if f.v.Type() == targetType && errors.As(err, &said) {
			said.Message = f.name + ": " + said.Message
			return said.With("parameter", f.name)
		}
		return f.badValueError(value)
	}
	if at := duplicateKey(f.name, f.v.Type(), value); at != "" {
		return protocol.Errorf(protocol.InvalidParams, "%s: is there twice", at).With("parameter", f.name)
	}
	if _, ok := f.v.Interface().([]string); ok && holdsNull(value) {
		return f.badValueError(value)
	}
	return f.check(value)
}

// holdsNull reports whether a list of strings has a null, which encoding/json would decode as an empty string.
func holdsNull(value json.RawMessage) bool {
	var items []*string
	return bytes.Contains(value, []byte("null")) && json.Unmarshal(value, &items) == nil && slices.Contains(items, nil)
}

// token finds the strings and the numbers of a JSON text (RFC 8259 sections 6 and 7).
var token = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?`)
})

// normalizeIntegers writes the whole numbers of a JSON text without fraction and exponent. JSON Schema (draft
// 2020-12 section 4.2.3), which describes the parameters, counts 10.0 as an integer, and languages whose
// numbers are all floats send it that way.
func normalizeIntegers(text json.RawMessage) json.RawMessage {
	if !bytes.ContainsAny(text, ".eE") {
		return text
	}
	return token().ReplaceAllFunc(text, func(word []byte) []byte {
		n, err := strconv.ParseFloat(string(word), 64)
		if err != nil || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
			return word
		}
		return strconv.AppendInt(nil, int64(n), 10)
	})
}

// check holds a value against the bounds and words of its tags.
func (f field) check(value json.RawMessage) error {
	v := f.v
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if f.tag.Get("fold") == "upper" {
		v.SetString(strings.ToUpper(v.String()))
	}
	if words, ok := f.tag.Lookup("enum"); ok {
		for _, s := range stringsOf(v) {
			if !slices.Contains(strings.Split(words, ","), s) {
				return f.badValueError(value)
			}
		}
	}
	var n float64
	switch v.Kind() {
	case reflect.Int:
		n = float64(v.Int())
	case reflect.Float64:
		n = v.Float()
	default:
		return nil
	}
	if lo, err := strconv.ParseFloat(f.tag.Get("min"), 64); err == nil && n < lo {
		return f.badValueError(value)
	}
	if hi, err := strconv.ParseFloat(f.tag.Get("max"), 64); err == nil && n > hi {
		return f.badValueError(value)
	}
	return nil
}

func stringsOf(v reflect.Value) []string {
	if v.Kind() == reflect.String {
		return []string{v.String()}
	}
	list, _ := v.Interface().([]string)
	return list
}

// duplicateKey returns the path of a name that is there twice in an object or a list of objects; empty: none.
// For a struct, names that differ only in case are the same, as encoding/json reads them.
func duplicateKey(path string, t reflect.Type, value json.RawMessage) string {
	switch t = deref(t); t.Kind() {
	case reflect.Slice:
		var list []json.RawMessage
		if t.Elem().Kind() != reflect.Struct || json.Unmarshal(value, &list) != nil {
			return ""
		}
		for i, one := range list {
			if at := duplicateKey(fmt.Sprintf("%s[%d]", path, i), t.Elem(), one); at != "" {
				return at
			}
		}
	case reflect.Struct, reflect.Map:
		if len(value) == 0 || value[0] != '{' {
			return ""
		}
		given, twice, _ := members(value)
		if twice == "" && t.Kind() == reflect.Struct {
			seen := map[string]bool{}
			for name := range given {
				if name = strings.ToLower(name); seen[name] {
					twice = name
				}
				seen[name] = true
			}
		}
		if twice != "" {
			return path + "." + protocol.Cut(twice, 60)
		}
	}
	return ""
}

var targetType = reflect.TypeFor[protocol.Target]()

// badValueError returns the error for a value that the parameter does not accept. For an object, or a list of
// objects, it names the member that is wrong.
func (f field) badValueError(value json.RawMessage) error {
	if e := findFault(f.name, deref(f.v.Type()), value); e != nil {
		return e.With("parameter", f.name)
	}
	return protocol.Errorf(protocol.InvalidParams, "%s: accepts %s, not %s", f.name, f.takes(), protocol.Cut(string(value), 60)).With("parameter", f.name)
}

// findFault returns the error for the part of a value that its type does not accept. path says where the value
// is, such as commands[1].method. The error is nil if the value is neither an object nor a list of objects.
func findFault(path string, t reflect.Type, value json.RawMessage) *protocol.Error {
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && json.Unmarshal(value, &list) == nil:
		for i, one := range list {
			at := fmt.Sprintf("%s[%d]", path, i)
			if err := fits(t.Elem(), one); err != nil {
				return fault(at, t.Elem(), one, err)
			}
		}
	case t.Kind() == reflect.Struct && json.Unmarshal(value, &object) == nil:
		fields := fieldsOf(reflect.New(t).Elem())
		for name, one := range object {
			i := slices.IndexFunc(fields, func(f field) bool { return strings.EqualFold(f.name, name) })
			if i < 0 {
				return protocol.Errorf(protocol.InvalidParams, "%s: has no field %q", path, protocol.Cut(name, 60)).With("fields", names(fields))
			}
			if err := fits(fields[i].v.Type(), one); err != nil {
				return fault(path+"."+fields[i].name, fields[i].v.Type(), one, err)
			}
		}
	}
	return nil
}

// fault returns the error for the value at path, which its type does not accept, or for a part of it.
func fault(path string, t reflect.Type, value json.RawMessage, err error) *protocol.Error {
	t = deref(t)
	if e := findFault(path, t, value); e != nil {
		return e
	}
	var said *protocol.Error
	if errors.As(err, &said) {
		return protocol.Errorf(protocol.InvalidParams, "%s: %s", path, said.Message).Then("%s", said.Next)
	}
	if _, ok := reflect.New(t).Interface().(json.Unmarshaler); ok && t != targetType {
		return protocol.Errorf(protocol.InvalidParams, "%s: %v", path, err) // the type has its own message
	}
	return protocol.Errorf(protocol.InvalidParams, "%s: accepts %s, not %s", path, kindWord(t), protocol.Cut(string(value), 60))
}

// deref returns the type itself, or what a pointer points to.
func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// fits returns why a value cannot be decoded into a type; nil if it can.
func fits(t reflect.Type, value json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	return d.Decode(reflect.New(t).Interface())
}

// takes returns what values the parameter accepts, in words.
func (f field) takes() string {
	if words, ok := f.tag.Lookup("enum"); ok {
		return "one of " + strings.ReplaceAll(strings.TrimPrefix(words, ","), ",", ", ")
	}
	what := kindWord(deref(f.v.Type()))
	lo, hi := f.tag.Get("min"), f.tag.Get("max")
	switch {
	case lo != "" && hi != "":
		return fmt.Sprintf("%s from %s to %s", what, lo, hi)
	case lo != "":
		return fmt.Sprintf("%s of at least %s", what, lo)
	case hi != "":
		return fmt.Sprintf("%s of at most %s", what, hi)
	}
	return what
}

func kindWord(t reflect.Type) string {
	if t == targetType {
		return "a ref or a locator"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		switch t {
		case reflect.TypeFor[json.RawMessage]():
			return "any value"
		case reflect.TypeFor[[]byte]():
			return "base64"
		}
		return "a list of " + strings.TrimPrefix(strings.TrimPrefix(kindWord(t.Elem()), "a "), "an ") + "s"
	case reflect.Map:
		return "an object of strings"
	}
	return "an object"
}

// BadValue returns the error of a parameter whose value has the right type and is not one
// that the command accepts.
func BadValue(name, accepts string, got any) error {
	return protocol.Errorf(protocol.InvalidParams, "%s: accepts %s, not %v", name, accepts, got).With("parameter", name)
}
