package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// maxBrief is the most characters of a text in a line that shows a part of an object.
const maxBrief = 200

// member is a member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// made are the members of results whose value a page or a script has made: JSON as it came.
var made = map[string]bool{"read": true, "value": true}

// listed takes the lists of objects and the note out of a result and returns them as lines for a
// person: one of each object, below the list's name where the result has more than that list. brief
// are the members that are shown, by their names, with a dot before that of a member's member;
// none: all.
func listed(result json.RawMessage, brief []string) (rest json.RawMessage, lines []string) {
	others := map[string]json.RawMessage{}
	var lists []member
	more := 0 // than the lists
	members := membersOf(result)
	note := ""
	hasText := slices.ContainsFunc(members, func(m member) bool { return m.name == "text" }) // of its nodes, as lines
	for _, m := range members {
		_, ok := objectsIn(m.value)
		switch {
		case ok && !made[m.name] && !(m.name == "nodes" && hasText):
			lists = append(lists, m)
			continue
		case m.name == "next" && len(brief) > 0: // for a program, which asks what is newer
			continue
		case m.name == "note" && json.Unmarshal(m.value, &note) == nil:
			continue
		case m.name != "session" && m.name != "page":
			more++
		}
		others[m.name] = m.value
	}
	for _, m := range lists {
		items, _ := objectsIn(m.value)
		begin := ""
		switch {
		case more == 0 && len(lists) == 1 && len(items) == 0:
			lines = append(lines, "none")
		case more == 0 && len(lists) == 1:
		case len(items) == 0:
			lines = append(lines, snapshot.Literally(m.name)+": none")
		default:
			lines, begin = append(lines, snapshot.Literally(m.name)+":"), "  "
		}
		for _, item := range items {
			for _, line := range linesOf(item, brief) {
				lines = append(lines, begin+line)
			}
		}
	}
	if note != "" {
		lines = append(lines, asTyped(note))
	}
	return json.RawMessage(compact(others)), lines
}

// linesOf returns an object as a line: texts as they are, or quoted where they have spaces, other
// values with their names behind the first, and the names of what is true. What is empty or false is left out.
// Below it, each on a line with its name, stand objects, and texts of several lines.
func linesOf(object json.RawMessage, brief []string) []string {
	var words, below []string
	for _, m := range picked(object, brief) {
		var text string
		switch value := string(m.value); {
		case value == "null", value == "false", value == `""`, value == "0", value == "[]", value == "{}":
		case value == "true":
			words = append(words, m.name)
		case json.Unmarshal(m.value, &text) == nil:
			if strings.Contains(strings.TrimSpace(text), "\n") {
				below = append(below, strings.Split("    "+m.name+": "+snapshot.Lines(strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n        ")), "\n")...)
				continue
			}
			if len(brief) > 0 {
				text = protocol.Cut(text, maxBrief)
			}
			if !(m.name == "ref" && aRef.MatchString(text)) && (!oneWord.MatchString(text) || snapshot.Lines(text) != text) {
				text = compact(text)
			}
			words = append(words, text)
		case isDetail(m.value):
			below = append(below, "    "+m.name+": "+compact(m.value))
		case len(words) == 0:
			words = append(words, compact(m.value))
		default:
			words = append(words, m.name+"="+compact(m.value))
		}
	}
	return append([]string{strings.Join(words, "  ")}, below...)
}

// oneWord is a text that stands without quotation marks, aRef one of ours.
var (
	oneWord = regexp.MustCompile(`^[^\s"'{}\[\]]+$`)
	aRef    = regexp.MustCompile(`^@e[0-9]+$`)
)

// picked returns the members of an object that are shown of it. One that has more to it than a
// list shows (objects, or lists of them, that are not picked) is shown whole.
func picked(object json.RawMessage, names []string) []member {
	all := membersOf(object)
	var some []member
	for _, name := range names {
		name, of, inner := strings.Cut(name, ".")
		for _, m := range all {
			if m.name == name && !inner {
				some = append(some, m)
			} else if m.name == name {
				some = append(some, picked(m.value, []string{of})...)
			}
		}
	}
	for _, m := range all {
		if len(names) == 0 || isDetail(m.value) && !strings.Contains(" "+strings.Join(names, " "), " "+m.name) {
			return all
		}
	}
	return some
}

// isDetail reports whether a value is an object, or a list of objects or lists.
func isDetail(value json.RawMessage) bool {
	return value[0] == '{' || value[0] == '[' && bytes.ContainsAny(value[1:], "[{")
}

// membersOf returns the members of an object in their order; nil: it is none.
func membersOf(object json.RawMessage) []member {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var list []member
	for d.More() {
		name, err := d.Token()
		m := member{}
		if m.name, _ = name.(string); err != nil || d.Decode(&m.value) != nil {
			return nil
		}
		list = append(list, m)
	}
	return list
}

// objectsIn returns the objects of a list of nothing else; ok: it is one, or empty.
func objectsIn(list json.RawMessage) (objects []json.RawMessage, ok bool) {
	if list[0] != '[' || json.Unmarshal(list, &objects) != nil {
		return nil, false
	}
	for _, o := range objects {
		if o[0] != '{' {
			return nil, false
		}
	}
	return objects, true
}
