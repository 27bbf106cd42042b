package command

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// question describes the call to an operator: what, where, and why. The caller
// holds the turn of the call's session, where the command queues.
func (c *Call) question(why string) policy.Question {
	q := policy.Question{
		Agent: c.Caller.Agent, Asker: policy.Asker{ID: c.Caller.TokenID, Operator: c.Caller.Role == RoleOperator}, Command: c.Command.Name, Params: c.summary(), Why: why,
	}
	if c.script != nil {
		q.Script = c.script.forQuestion()
	}
	if c.Session != nil {
		q.Session = c.Session.Name()
		if p := c.Session.Page(); p != nil {
			q.URL = shorten(maskURL(p.State().URL), maxURL)
			q.Host = hostOf(p.State().URL)
		}
	}
	if c.Command.Is(SessionWide) {
		q.Host = ""
	}
	q.Place = q.Host
	for _, f := range fieldsOf(reflect.ValueOf(c.Params).Elem()) {
		switch {
		case f.v.Kind() != reflect.String || f.v.String() == "":
		case f.name == "url" && !c.Command.Is(URLPattern):
			// Use the origin as it will be opened: other URL parsers may find another host, or none.
			q.Place = policy.Origin(f.v.String())
			q.Host, q.Once = hostOf(q.Place), q.Place == ""
		case f.name == "proxy": // a proxy can answer for every site without TLS
			q.Host = hostOf(f.v.String())
			q.Place, q.Once = "proxy "+q.Host, q.Host == ""
		case f.name == "pattern": // the addresses that a route is for
			q.Host, q.Place = f.v.String(), "pattern "+f.v.String()
		case f.name == "ref" && c.turn != nil:
			q.Ref = f.v.String()
			if e, err := c.Session.Refs().Lookup(q.Ref); err == nil {
				q.Ref, q.Role, q.Name = e.Ref(), e.Role, protocol.Cut(e.Name, maxShown)
			}
		}
	}
	if kept := storedTarget(c); kept != "" {
		q.Host, q.Place = kept, kept
	}
	return q
}

// storedTarget returns Row.StoredTarget of the call's parameters; empty: none.
func storedTarget(c *Call) string {
	if c.Command.StoredTarget == nil {
		return ""
	}
	return c.Command.StoredTarget(c.Params)
}

// hasParam reports whether the parameter has a value other than its zero value.
func (c *Call) hasParam(parameter string) bool {
	for _, f := range fieldsOf(reflect.ValueOf(c.Params).Elem()) {
		if f.name == parameter {
			return !f.v.IsZero()
		}
	}
	return false
}

// maxShown is how many characters of a value are shown to an operator. maxScript is the limit for a value with
// the tag code: the operator has to read all of it, or see that it is longer.
const (
	maxShown  = 200
	maxURL    = 1000
	maxScript = 4000
)

// summary returns the call's parameters for an operator. Of values that are typed into pages or may be secrets
// it has only the length, and long values are truncated.
func (c *Call) summary() map[string]any {
	all := map[string]any{}
	for _, f := range fieldsOf(reflect.ValueOf(c.Params).Elem()) {
		if f.v.IsZero() || f.name == "ref" || f.name == "snapshot" {
			continue
		}
		text, err := json.Marshal(f.v.Interface())
		if err != nil {
			continue
		}
		var value any
		switch {
		case f.tag.Get("code") == "true": // the operator decides on it
			all[f.name] = shorten(f.v.String(), maxScript)
		case json.Unmarshal(text, &value) == nil:
			all[f.name] = shownValue(f.name, value)
		}
	}
	return all
}

func shownValue(name string, value any) any {
	if isSensitive(name) {
		return redactedLength(value)
	}
	switch v := value.(type) {
	case string:
		switch {
		case name == "url":
			return shorten(maskURL(v), maxURL)
		case name == "proxy":
			u, err := url.Parse(v)
			if err != nil {
				return redactedLength(v)
			}
			return shorten(u.Redacted(), maxURL)
		case name == "key" && utf8.RuneCountInString(v) == 1:
			return redactedLength(v) // it may be one of a password's
		case name == "body":
			var parsed any
			if json.Unmarshal([]byte(v), &parsed) == nil {
				return shownValue("", parsed)
			}
			return shorten(maskPairs(v), maxShown)
		}
		return shorten(v, maxShown)
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[shorten(k, maxShown)] = shownValue(k, e)
		}
		return out
	case []any:
		out := []any{}
		for i, e := range v {
			if i == 20 {
				return append(out, fmt.Sprintf("… and %d more", len(v)-i))
			}
			out = append(out, shownValue(name, e))
		}
		return out
	}
	return value
}

// isSensitive reports whether values of that name are hidden from operators: what is typed into a page,
// contents, and whatever has the name of a secret (protocol.IsSecret). The parameter key of press is not,
// except for a single character (shownValue).
func isSensitive(name string) bool {
	switch strings.ToLower(name) {
	case "text", "value", "base64", "session", "private":
		return true
	case "key", "cookies": // of cookies, their values
		return false
	}
	return protocol.IsSecret(strings.ReplaceAll(name, " ", ""))
}

// redactedLength returns the length of a value as text, in place of the value.
func redactedLength(value any) string {
	if s, ok := value.(string); ok {
		return fmt.Sprintf("(%d characters)", utf8.RuneCountInString(s))
	}
	return "(not shown)"
}

func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return fmt.Sprintf("%s… (%d more characters)", string(r[:n]), len(r)-n)
}

// maskURL hides the values in a URL's query and fragment that are named like
// secrets.
func maskURL(raw string) string {
	raw, fragment, hasFragment := strings.Cut(raw, "#")
	raw, query, hasQuery := strings.Cut(raw, "?")
	if hasQuery {
		raw += "?" + maskPairs(query)
	}
	if hasFragment {
		raw += "#" + maskPairs(fragment)
	}
	return raw
}

// maskPairs hides such values of text in the form key=value&key=value.
func maskPairs(text string) string {
	parts := strings.Split(text, "&")
	for i, p := range parts {
		key, value, ok := strings.Cut(p, "=")
		if name, err := url.QueryUnescape(key); ok && (err != nil || isSensitive(name) || protocol.IsSecret(name)) {
			parts[i] = key + "=" + redactedLength(value)
		}
	}
	return strings.Join(parts, "&")
}

// hostOf returns a URL's host with its port, where it names one; "" for what has none.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
