package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/browserd/browserd/actions/schema"
)

type object = map[string]any

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
	delete(doc.defs, "ErrorCode")
	delete(doc.defs, "Error")
	delete(doc.defs, "Event")
	return doc
}

// everyCall are the parameters of every command.
var everyCall = []string{"session", "timeout_ms"}

// shareParams makes them the definition CallParams, which a client then has once.
func (d document) shareParams() {
	shared := object{}
	for _, c := range d.commands {
		s := d.defs[c.params].(object)
		properties := s["properties"].(object)
		for _, name := range everyCall {
			if p, ok := properties[name]; ok {
				shared[name] = p
				delete(properties, name)
			}
		}
		s["allOf"] = append(slices.Clone(bases(s)), object{"$ref": "#/$defs/CallParams"})
	}
	d.defs["CallParams"] = object{"properties": shared}
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
