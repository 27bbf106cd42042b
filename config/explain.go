package config

import (
	"fmt"
	"io"
	"net/url"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"
)

// Value is one key as it is in force.
type Value struct {
	Key string `json:"key"`
	// Value is a string, bool, number or list of strings; secrets are ***.
	Value any `json:"value"`
	// From is "default", FILE:LINE, "environment NAME" or "flag --NAME".
	From string `json:"from"`
}

// FromDefault is the From of a value that nobody has set.
const FromDefault = "default"

const masked = "***"

func (l *loader) values(c any) []Value {
	root := reflect.ValueOf(c).Elem()
	var out []Value
	for _, f := range l.schema {
		v := root.FieldByIndex(f.index)
		if f.elem == nil || v.Len() == 0 {
			out = append(out, Value{f.key, f.show(v), l.origins[f.key]})
			continue
		}
		for i := range v.Len() {
			at := fmt.Sprintf("%s[%d]", f.key, i)
			from, ok := l.origins[at]
			if !ok {
				from = l.origins[f.key]
			}
			for _, e := range f.elem {
				out = append(out, Value{at + "." + e.key, e.show(v.Index(i).FieldByIndex(e.index)), from})
			}
		}
	}
	return out
}

func (f field) show(v reflect.Value) any {
	switch {
	case f.isList():
		out := []string{}
		for i := range v.Len() {
			out = append(out, fmt.Sprint(v.Index(i).Interface()))
		}
		return out
	case f.secret && !v.IsZero():
		return masked
	case f.typ == durationType:
		return spell(time.Duration(v.Int()))
	case f.typ.Kind() == reflect.String:
		return withoutCredentials(v.String())
	}
	return v.Interface()
}

// spell writes a duration as an operator would: 15m, not 15m0s.
func spell(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// withoutCredentials masks what an address may carry beside the address: user
// info, and a query, in which hosted browsers take their token.
func withoutCredentials(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil {
		return masked
	}
	if u.User == nil && u.RawQuery == "" {
		return s
	}
	if u.User != nil {
		u.User = url.User("MASKED")
	}
	if u.RawQuery != "" {
		u.RawQuery = "MASKED"
	}
	return strings.ReplaceAll(u.String(), "MASKED", masked)
}

// Explain writes every key, its value in force and where it comes from, in
// columns.
func (l *Loaded) Explain(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range l.Values {
		shown := fmt.Sprint(v.Value)
		switch t := v.Value.(type) {
		case []string:
			shown = "[" + strings.Join(t, ", ") + "]"
		case string:
			if t == "" {
				shown = `""`
			}
		}
		fmt.Fprintf(tw, "%s\t%-20s  %s\n", v.Key, shown, v.From) // one long value makes no other line longer
	}
	return tw.Flush()
}
