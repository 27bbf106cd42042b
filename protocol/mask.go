package protocol

import (
	"net/url"
	"strings"
)

// Masked stands in the place of a secret.
const Masked = "***"

// Of names of headers, query parameters, form fields and JSON keys, in small
// letters and without '-' and '_': what they hold where they are secrets, and
// which are secrets as they are.
var (
	secretParts = []string{
		"token", "secret", "passw", "passphrase", "pwd", "credential", "cookie", "authoriz", "authoris", "apikey", "accesskey", "privatekey",
		"sessionid", "jwt", "signature", "cvv", "cvc", "csrf", "xsrf",
	}
	secretNames = map[string]bool{
		"sid": true, "jsessionid": true, "phpsessid": true, "otp": true, "sig": true, "code": true, "auth": true, "xauth": true, "key": true, "pin": true,
	}
	plain = strings.NewReplacer("-", "", "_", "")
)

// IsSecret reports whether what bears the name is taken for a secret.
func IsSecret(name string) bool {
	name = plain.Replace(strings.ToLower(name))
	if secretNames[name] {
		return true
	}
	for _, part := range secretParts {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// MaskHeader returns a header's value, or Masked where it is a secret.
func MaskHeader(name, value string) string {
	if value != "" && IsSecret(name) {
		return Masked
	}
	return value
}

// MaskURL returns an address without its user's name and password, and with
// the values of query parameters that are secrets masked, in the fragment too.
func MaskURL(address string) string {
	head, rest, hasQuery := strings.Cut(address, "?")
	fragment := ""
	if hasQuery {
		rest, fragment, _ = strings.Cut(rest, "#")
	} else {
		head, fragment, _ = strings.Cut(head, "#")
	}
	if scheme, after, ok := strings.Cut(head, "://"); ok {
		host, path, hasPath := strings.Cut(after, "/")
		if i := strings.LastIndexByte(host, '@'); i >= 0 {
			host = Masked + host[i:]
		}
		head = scheme + "://" + host
		if hasPath {
			head += "/" + path
		}
	}
	if hasQuery {
		head += "?" + maskPairs(rest)
	}
	if fragment != "" {
		head += "#" + maskPairs(fragment)
	}
	return head
}

// maskPairs masks the secrets of name=value&name=value.
func maskPairs(s string) string {
	if !strings.Contains(s, "=") {
		return s
	}
	pairs := strings.Split(s, "&")
	for i, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		if n, err := url.QueryUnescape(name); err == nil && value != "" && IsSecret(n) {
			pairs[i] = name + "=" + Masked
		}
	}
	return strings.Join(pairs, "&")
}

// longestName is how long a name may be that MaskText looks for.
const longestName = 64

// MaskText masks the secrets in a text that it recognises by their names: the
// values of JSON, of forms and queries, and what follows Bearer and Basic. It
// looks at each place of the text a few times at most, whatever the text is.
func MaskText(s string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); i++ {
		from, to := -1, 0
		switch s[i] {
		case '=':
			from, to = pairValue(s, i)
		case ':':
			from, to = jsonValue(s, i)
		case ' ':
			from, to = schemeValue(s, i)
		}
		if from < done || to <= from {
			continue
		}
		b.WriteString(s[done:from])
		if s[i] == ':' {
			b.WriteString(`"` + Masked + `"`)
		} else {
			b.WriteString(Masked)
		}
		done, i = to, to-1
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// pairValue is where the value of name=value lies, where it is a secret.
func pairValue(s string, eq int) (from, to int) {
	begin := eq
	for begin > 0 && eq-begin < longestName && isNameByte(s[begin-1]) {
		begin--
	}
	if begin == eq || !IsSecret(s[begin:eq]) {
		return -1, 0
	}
	end := strings.IndexAny(s[eq+1:], " \t\r\n&\"'<>;,")
	if end < 0 {
		return eq + 1, len(s)
	}
	return eq + 1, eq + 1 + end
}

// jsonValue is where the value of "name": value lies, a string or a number,
// where it is a secret.
func jsonValue(s string, colon int) (from, to int) {
	end := len(strings.TrimRight(s[max(0, colon-8):colon], " \t\r\n")) + max(0, colon-8)
	if end == 0 || s[end-1] != '"' {
		return -1, 0
	}
	begin := strings.LastIndexByte(s[max(0, end-1-longestName):end-1], '"')
	if begin < 0 || !IsSecret(s[max(0, end-1-longestName)+begin+1:end-1]) {
		return -1, 0
	}
	from = colon + 1
	for from < len(s) && strings.IndexByte(" \t\r\n", s[from]) >= 0 {
		from++
	}
	to = from
	if from < len(s) && s[from] == '"' {
		for to++; to < len(s) && s[to] != '"'; to++ {
			if s[to] == '\\' {
				to++
			}
		}
		return from, min(to+1, len(s))
	}
	for to < len(s) && strings.IndexByte("0123456789.eE+-", s[to]) >= 0 {
		to++
	}
	return from, to
}

// schemeValue is where the credentials of Bearer or Basic lie, behind the space.
func schemeValue(s string, space int) (from, to int) {
	word := strings.ToLower(s[max(0, space-6):space])
	if !strings.HasSuffix(word, "bearer") && !strings.HasSuffix(word, "basic") {
		return -1, 0
	}
	for to = space + 1; to < len(s) && (isNameByte(s[to]) || strings.IndexByte("+/=~", s[to]) >= 0); to++ {
	}
	if to-space-1 < 8 {
		return -1, 0
	}
	return space + 1, to
}

func isNameByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '.' || b == '-'
}
