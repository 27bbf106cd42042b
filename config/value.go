package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// takes says in words what the field takes; empty for a type that cannot be
// configured.
func (f field) takes() string {
	if len(f.oneof) > 0 {
		return "one of " + strings.Join(f.oneof, ", ")
	}
	switch {
	case f.typ == durationType:
		return "a duration, such as 90s, 15m or 1h30m"
	case f.elem != nil:
		return "a list of {" + strings.Join(keysOf(f.elem), ", ") + "}"
	}
	switch f.typ.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		switch f.typ.Elem().Kind() {
		case reflect.String:
			return "a list of texts"
		case reflect.Int:
			return "a list of whole numbers"
		}
	}
	return ""
}

func keysOf(fields []field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.key
	}
	return out
}

// wrong returns the error for a value of the wrong kind. The value of a secret is
// not shown.
func (f field) wrong(v any, why string) error {
	shown := "…"
	if !f.secret {
		shown = fmt.Sprint(v)
		if s, ok := v.(string); ok {
			shown = strconv.Quote(s)
		} else if v == nil {
			shown = "nothing"
		}
		if len(shown) > 80 {
			shown = strings.ToValidUTF8(shown[:80], "") + "…"
		}
	}
	if why != "" {
		why = "; " + why
	}
	return fmt.Errorf("%s: %s: accepts %s%s", f.key, shown, f.takes(), why)
}

func (f field) defaultValue() any {
	if f.deflt == "" {
		return f.zero()
	}
	v, err := f.parse(f.deflt)
	if err != nil {
		panic("config: default of " + err.Error())
	}
	return v
}

// zero returns the value of a field that has no default, in the form that parse
// returns.
func (f field) zero() any {
	if f.elem != nil {
		return []any{}
	}
	if f.isList() {
		return reflect.MakeSlice(f.typ, 0, 0).Interface()
	}
	return reflect.Zero(f.typ).Interface()
}

// parse turns what a source holds into the field's type. raw is a string from
// the environment and from flags, and what YAML makes of it from a file.
func (f field) parse(raw any) (any, error) {
	v, err := f.parseKind(raw)
	if err == nil && len(f.oneof) > 0 && !slices.Contains(f.oneof, v.(string)) {
		return nil, f.wrong(raw, "")
	}
	return v, err
}

func (f field) parseKind(raw any) (any, error) {
	if f.elem != nil {
		return f.parseTable(raw)
	}
	if f.isList() && f.typ.Elem().Kind() == reflect.Int {
		return f.parseNumbers(raw)
	}
	if f.isList() {
		return f.parseList(raw)
	}
	text, isText := raw.(string)
	text = strings.TrimSpace(text)
	switch {
	case f.typ == durationType:
		if d, err := time.ParseDuration(text); isText && err == nil {
			return d, nil
		}
	case f.typ.Kind() == reflect.String:
		if isText {
			return raw, nil
		}
		if raw != nil {
			return nil, f.wrong(raw, "put it in quotes")
		}
	case f.typ.Kind() == reflect.Bool:
		if b, ok := raw.(bool); ok {
			return b, nil
		}
		switch strings.ToLower(text) {
		case "true", "1", "yes", "on":
			return true, nil
		case "false", "0", "no", "off":
			return false, nil
		}
	case f.typ.Kind() == reflect.Int, f.typ.Kind() == reflect.Int64:
		if n, ok := raw.(int); ok {
			return n, nil
		}
		if n, ok := raw.(float64); ok && n == math.Trunc(n) && math.Abs(n) < 1<<53 { // JSON has no other numbers
			return int(n), nil
		}
		if n, err := strconv.Atoi(text); isText && err == nil {
			return n, nil
		}
	case f.typ.Kind() == reflect.Float64:
		switch n := raw.(type) {
		case float64:
			return n, nil
		case int:
			return float64(n), nil
		}
		if n, err := strconv.ParseFloat(text, 64); isText && err == nil {
			return n, nil
		}
	}
	return nil, f.wrong(raw, "")
}

// parseList reads a YAML sequence, whose elements may hold commas, or one text
// split at its commas.
func (f field) parseList(raw any) (any, error) {
	out := []string{}
	switch raw := raw.(type) {
	case string:
		if strings.TrimSpace(raw) == "" {
			return out, nil
		}
		for s := range strings.SplitSeq(raw, ",") {
			out = append(out, strings.TrimSpace(s))
		}
		return out, nil
	case []any:
		for _, e := range raw {
			s, ok := e.(string)
			if !ok {
				return nil, f.wrong(e, "put each of them in quotes")
			}
			out = append(out, s)
		}
		return out, nil
	}
	return nil, f.wrong(raw, "")
}

// parseNumbers reads a YAML sequence of whole numbers, or one text split at its
// commas.
func (f field) parseNumbers(raw any) (any, error) {
	out := []int{}
	if text, ok := raw.(string); ok {
		words := []any{}
		for s := range strings.SplitSeq(text, ",") {
			words = append(words, strings.TrimSpace(s))
		}
		if strings.TrimSpace(text) == "" {
			words = nil
		}
		raw = words
	}
	list, ok := raw.([]any)
	if !ok && raw != nil {
		return nil, f.wrong(raw, "")
	}
	for _, e := range list {
		n, ok := e.(int)
		if s, isText := e.(string); isText {
			var err error
			n, err = strconv.Atoi(s)
			ok = err == nil
		}
		if !ok {
			return nil, f.wrong(e, "")
		}
		out = append(out, n)
	}
	return out, nil
}

// parseTable reads a YAML sequence of mappings, or the same as JSON in a text.
func (f field) parseTable(raw any) (any, error) {
	if text, ok := raw.(string); ok {
		raw = []any{}
		if strings.TrimSpace(text) != "" {
			if err := json.Unmarshal([]byte(text), &raw); err != nil {
				return nil, f.wrong("…", "as a JSON array here")
			}
		}
	}
	rows, ok := raw.([]any)
	if !ok {
		return nil, f.wrong(raw, "")
	}
	out := []any{}
	for i, row := range rows {
		at := fmt.Sprintf("%s[%d]", f.key, i)
		cells, ok := row.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: accepts {%s}", at, strings.Join(keysOf(f.elem), ", "))
		}
		parsed := map[string]any{}
		for _, e := range f.elem {
			parsed[e.key] = e.defaultValue()
		}
		for _, key := range sortedKeys(cells) {
			j := slices.IndexFunc(f.elem, func(e field) bool { return e.key == key })
			if j < 0 {
				return nil, fmt.Errorf("unknown key %s.%s%s", at, key, suggestion(key, keysOf(f.elem)))
			}
			e := f.elem[j]
			e.key = at + "." + e.key
			v, err := e.parse(cells[key])
			if err != nil {
				return nil, err
			}
			parsed[key] = v
		}
		out = append(out, parsed)
	}
	return out, nil
}

func isEmptyMap(v any) bool {
	m, ok := v.(map[string]any)
	return ok && len(m) == 0
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
