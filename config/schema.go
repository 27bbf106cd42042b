package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
)

// field is one key that an operator may set.
type field struct {
	key    string // dotted, from the root
	typ    reflect.Type
	deflt  string
	doc    string
	oneof  []string
	secret bool
	// workdir says that a trusted file of the working directory may set it.
	workdir bool
	elem    []field // of a list of structs: the keys of one element
	index   []int   // for reflect.Value.FieldByIndex, from the root or the element
}

// confirmKey is the key whose default the rows of the commands state.
const confirmKey = "policy.confirm"

var durationType = reflect.TypeFor[time.Duration]()

// schemaOf lists the leaves of a struct of structs, in the order in which they
// are declared. Fields without a koanf tag, or with "-", are not configuration.
// It panics on a field that cannot be configured, and on a default that does
// not parse: those are faults of the program.
func schemaOf(t reflect.Type, prefix string) []field {
	var out []field
	for i := range t.NumField() {
		sf := t.Field(i)
		key := sf.Tag.Get("koanf")
		if key == "" || key == "-" {
			continue
		}
		if key == ",squash" { // its fields are keys of this section
			for _, beside := range schemaOf(sf.Type, prefix) {
				beside.index = append([]int{i}, beside.index...)
				out = append(out, beside)
			}
			continue
		}
		f := field{
			key: prefix + key, typ: sf.Type, deflt: sf.Tag.Get("default"), doc: sf.Tag.Get("doc"),
			oneof: strings.Fields(sf.Tag.Get("oneof")), secret: sf.Tag.Get("secret") == "true" || sf.Type.Kind() == reflect.String && soundsSecret(key), workdir: sf.Tag.Get("workdir") == "true", index: []int{i},
		}
		if f.key == confirmKey {
			f.deflt = strings.Join(actions.All.Without(command.Unconfirmed), ",")
		}
		switch {
		case sf.Type.Kind() == reflect.Struct:
			for _, below := range schemaOf(sf.Type, f.key+".") {
				below.index = append([]int{i}, below.index...)
				out = append(out, below)
			}
			continue
		case sf.Type.Kind() == reflect.Slice && sf.Type.Elem().Kind() == reflect.Struct:
			f.elem = schemaOf(sf.Type.Elem(), "")
			f.secret = slices.ContainsFunc(f.elem, func(e field) bool { return e.secret })
		case f.takes() == "":
			panic(fmt.Sprintf("config: %s is a %s, which cannot be configured", f.key, sf.Type))
		}
		f.defaultValue()
		out = append(out, f)
	}
	return out
}

// soundsSecret knows by its name the text that must not be printed, should somebody
// forget the tag.
func soundsSecret(key string) bool {
	for _, s := range []string{"token", "secret", "password", "api_key", "dsn"} {
		if key == s || strings.HasSuffix(key, "_"+s) {
			return true
		}
	}
	return false
}

func (f field) isList() bool { return f.typ.Kind() == reflect.Slice }

func (l *loader) find(key string) (field, bool) {
	for _, f := range l.schema {
		if f.key == key {
			return f, true
		}
	}
	return field{}, false
}

func (l *loader) isSection(key string) bool { return l.firstBelow(key) != "" }

func (l *loader) firstBelow(section string) string {
	for _, f := range l.schema {
		if strings.HasPrefix(f.key, section+".") {
			return f.key
		}
	}
	return ""
}

// leafAbove returns the key that takes a value and was given keys.
func (l *loader) leafAbove(key string) string {
	for _, f := range l.schema {
		if strings.HasPrefix(key, f.key+".") {
			return f.key
		}
	}
	return ""
}

func (l *loader) keys() []string {
	keys := make([]string, len(l.schema))
	for i, f := range l.schema {
		keys[i] = f.key
	}
	return keys
}
