package config

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/spf13/pflag"
)

// AddFlags declares --config, whose value is put into path, and one flag for
// every key, named for it. Keys that hold secrets have none: a command line is
// read by every process of the machine.
func AddFlags(fs *pflag.FlagSet, path *string) {
	fs.StringVar(path, "config", "", "settings `file` (default: ~/.config/browserd/browserd.yaml or /etc/browserd/browserd.yaml)")
	for _, f := range keys() {
		switch {
		case f.secret:
		case f.isList():
			fs.Var(&list{}, f.key, f.usage())
		case f.typ.Kind() == reflect.Bool:
			fs.Var(&word{kind: "bool"}, f.key, f.usage())
			fs.Lookup(f.key).NoOptDefVal = "true"
		default:
			fs.Var(&word{kind: f.kindWord()}, f.key, f.usage())
		}
	}
}

// word is the value of a flag as it was written; its kind is for help alone.
type word struct{ text, kind string }

func (w *word) String() string        { return w.text }
func (w *word) Type() string          { return w.kind }
func (w *word) Set(text string) error { w.text = text; return nil }

// list is the value of a flag that may be given several times. It is pflag's
// stringArray without the CSV writer, which takes 4 KB for each flag that there is.
type list []string

func (l *list) String() string             { return strings.Join(*l, ",") }
func (l *list) Type() string               { return "list" }
func (l *list) Set(item string) error      { *l = append(*l, item); return nil }
func (l *list) Append(item string) error   { return l.Set(item) }
func (l *list) Replace(all []string) error { *l = all; return nil }
func (l *list) GetSlice() []string         { return *l }

func (f field) kindWord() string {
	switch {
	case f.typ == durationType:
		return "duration"
	case f.typ.Kind() == reflect.String:
		return "text"
	}
	return "number"
}

func (f field) usage() string {
	u := strings.ReplaceAll(f.doc, "`", "'")
	if f.deflt != "" {
		u += " (default " + f.deflt + ")"
	}
	return u
}

// keys are all keys. Each command takes them as flags.
var keys = sync.OnceValue(func() []field { return schemaOf(reflect.TypeFor[Config](), "") })

// NearestKey returns the key that name most likely stands for, empty if none is
// near: for the message about a flag that does not exist.
func NearestKey(name string) string {
	best, d := nearest(name, keysOf(keys()))
	if tooFar(name, d) {
		return ""
	}
	return best
}

func (l *loader) loadFlags(src Sources) error {
	if src.Flags == nil {
		return nil
	}
	raw := map[string]any{}
	src.Flags.Visit(func(f *pflag.Flag) {
		key, known := l.find(f.Name)
		if !known {
			return
		}
		raw[f.Name] = f.Value.String()
		if texts, ok := f.Value.(pflag.SliceValue); ok && key.isList() {
			raw[f.Name] = strings.Join(texts.GetSlice(), ",")
		}
		l.flags = append(l.flags, fmt.Sprintf("--%s=%s", f.Name, raw[f.Name]))
	})
	l.put(raw, func(key string) string { return "flag --" + key })
	return nil
}
