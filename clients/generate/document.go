package main

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/browserd/browserd/actions/schema"
)

type object = map[string]any

// What every client says of its errors.
const (
	lost      = "the connection ended before the answer came: what the command was to do may be done"
	notProved = "what listens there did not prove that it is a browserd that knows the token, which was not sent"
	answered  = "what the daemon answered in place of a result"
)

// document is the schema of the protocol, in the order in which it is written.
type document struct {
	defs     object
	commands []call
	events   []string // types of events
	codes    []string
}

// call is one command.
type call struct{ name, pascal, summary, params, result string }

func read(d map[string]any) document {
	doc := document{defs: d["$defs"].(object)}
	commands := d["commands"].(object)
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		c := commands[name].(object)
		doc.commands = append(doc.commands, call{name, schema.Pascal(name), c["summary"].(string), refOf(c["params"]), refOf(c["result"])})
	}
	doc.events = slices.Sorted(maps.Keys(d["events"].(object)))
	doc.codes = doc.defs["ErrorCode"].(object)["enum"].([]string)
	maps.DeleteFunc(doc.defs, func(name string, _ any) bool {
		return slices.Contains([]string{"ErrorCode", "Error", "Event"}, name) || strings.HasPrefix(name, "HAR")
	})
	// Whoever reads an HTTP Archive has its types from elsewhere.
	doc.defs["HAR"] = object{"type": "object", "additionalProperties": true}
	return doc
}

// share makes a definition of members that others have, as their first base, and returns the
// names of those that have no other members.
func (d document) share(base string, users, members []string) (empty []string) {
	shared := object{}
	for _, user := range users {
		s := d.defs[user].(object)
		properties := s["properties"].(object)
		for _, name := range members {
			if p, ok := properties[name]; ok {
				shared[name] = p
				delete(properties, name)
			}
		}
		if !d.inherits(s, members) {
			s["allOf"] = append([]any{object{"$ref": "#/$defs/" + base}}, bases(s)...)
		}
		if len(properties) == 0 {
			empty = append(empty, user)
		}
	}
	d.defs[base] = object{"properties": shared}
	return empty
}

// inherits tells whether a base has the members.
func (d document) inherits(s object, members []string) bool {
	return slices.ContainsFunc(basesOf(s), func(base string) bool {
		properties := d.defs[base].(object)["properties"].(object)
		return !slices.ContainsFunc(members, func(name string) bool { return properties[name] == nil })
	})
}

// shareCalls says once, in CallParams, what every command takes. A command that takes
// nothing else has no type of its own.
func (d document) shareCalls() {
	var users []string
	for _, c := range d.commands {
		users = append(users, c.params)
	}
	empty := d.share("CallParams", users, []string{"session", "timeout_ms"})
	for i, c := range d.commands {
		if slices.Contains(empty, c.params) {
			delete(d.defs, c.params)
			d.commands[i].params = "CallParams"
		}
	}
}

// shareActs says once, in ActParams, what commands take that answer with what changed.
func (d document) shareActs() {
	const snapshot = "snapshot"
	var users []string
	first := d.defs["ClickParams"].(object)["properties"].(object)[snapshot]
	for _, c := range d.commands {
		s := d.defs[c.params].(object)
		if reflect.DeepEqual(s["properties"].(object)[snapshot], first) {
			delete(s, "allOf")
			users = append(users, c.params)
		}
	}
	d.share("ActParams", users, []string{snapshot})
	d.defs["ActParams"].(object)["allOf"] = []any{object{"$ref": "#/$defs/CallParams"}}
}

// shareEvents says once, in AnyEvent, what every event has.
func (d document) shareEvents() {
	var users []string
	for _, e := range d.events {
		users = append(users, schema.Pascal(e)+"Event")
	}
	d.share("AnyEvent", users, []string{"session"})
}

func bases(s object) []any {
	list, _ := s["allOf"].([]any)
	return list
}

// refOf is the name of the definition that a schema refers to; empty: none.
func refOf(s any) string {
	ref, _ := s.(object)["$ref"].(string)
	return strings.TrimPrefix(ref, "#/$defs/")
}

// structs are the definitions that are objects, and others those that are not.
func (d document) structs(each func(name string, s object)) {
	for _, name := range slices.Sorted(maps.Keys(d.defs)) {
		if s := d.defs[name].(object); s["properties"] != nil {
			each(name, s)
		}
	}
}

func (d document) others(each func(name string, s object)) {
	for _, name := range slices.Sorted(maps.Keys(d.defs)) {
		if s := d.defs[name].(object); s["properties"] == nil {
			each(name, s)
		}
	}
}

// member is one member of an object.
type member struct {
	name     string
	schema   object
	required bool
	doc      string
}

func membersOf(s object) []member {
	properties := s["properties"].(object)
	required, _ := s["required"].([]string)
	var list []member
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p := properties[name].(object)
		doc, _ := p["description"].(string)
		list = append(list, member{name, p, slices.Contains(required, name), doc})
	}
	// What is required comes first.
	slices.SortStableFunc(list, func(a, b member) int { return rank(a) - rank(b) })
	return list
}

func rank(m member) int {
	if m.required {
		return 0
	}
	return 1
}

func basesOf(s object) []string {
	var list []string
	for _, b := range bases(s) {
		list = append(list, refOf(b))
	}
	return list
}

// words are the values of an enumeration; nil: it is none.
func words(s object) []string {
	if c, ok := s["const"].(string); ok {
		return []string{c}
	}
	list, _ := s["enum"].([]string)
	return list
}

// branches are the schemas of which one holds.
func branches(s object) []any {
	if list, ok := s["anyOf"].([]any); ok {
		return list
	}
	list, _ := s["oneOf"].([]any)
	return list
}

func quotedWords(list []string, between string) string {
	quoted := make([]string, len(list))
	for i, w := range list {
		quoted[i] = strconv.Quote(w)
	}
	return strings.Join(quoted, between)
}

// errorName is the class of an error's code: StaleRefError, ParseError.
func errorName(code string) string { return strings.TrimSuffix(schema.Pascal(code), "Error") + "Error" }
