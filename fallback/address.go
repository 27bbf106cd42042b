package fallback

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/browserd/browserd/fallback/form"
)

// address is an http: or https: URL in its parts, as the URL standard reads
// and writes it. Nothing is decoded: what a server is asked for must be what
// a browser would ask for, to the byte.
type address struct {
	scheme    string // http or https
	authority string // as written: the policy reads it, and writes it canonically
	path      string // begins with a slash
	query     string // with its question mark; empty: none
	fragment  string // with its number sign; empty: none
}

func (a address) String() string { return a.request() + a.fragment }

// request returns the URL without its fragment: what names a document.
func (a address) request() string {
	return a.scheme + "://" + a.authority + a.path + a.query
}

// origin returns what two URLs of one site share (HTML 7.1.1); the authority is
// canonical where the URL comes from the policy.
func (a address) origin() string { return a.scheme + "://" + a.authority }

// site returns what the origins of one owner share (HTML 7.1.1.1, schemeful): the
// scheme and what is registered of the host.
func (a address) site() string {
	host := hostOf(a.authority)
	if _, err := netip.ParseAddr(host); err != nil {
		if registered, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
			host = registered
		}
	}
	return a.scheme + "://" + host
}

// parseAddress reads a whole URL of scheme http or https; charset is that of
// the document that holds it.
func parseAddress(raw, charset string) (address, bool) {
	scheme, rest := schemeOf(clean(raw))
	if scheme != "http" && scheme != "https" {
		return address{}, false
	}
	a := address{scheme: scheme}
	a.setAuthority(strings.TrimLeft(rest, `/\`), charset)
	return a, a.authority != ""
}

// resolve reads a reference against its base (URL 4.4, basic URL parser). other
// is the scheme of a reference that is neither http nor https: no address.
func (a address) resolve(ref, charset string) (to address, other string) {
	ref = clean(ref)
	scheme, rest := schemeOf(ref)
	switch scheme {
	case "":
		rest = ref
	case "http", "https":
		// With the base's own scheme it is relative all the same (special relative
		// or authority state), a host where two slashes follow.
		if scheme != a.scheme {
			to = address{scheme: scheme}
			to.setAuthority(strings.TrimLeft(rest, `/\`), charset)
			return to, ""
		}
	default:
		return address{}, scheme
	}
	slash := func(i int) bool { return len(rest) > i && (rest[i] == '/' || rest[i] == '\\') }
	to = a
	to.fragment = ""
	switch {
	case rest == "":
		return to, ""
	case slash(0) && slash(1):
		to = address{scheme: a.scheme}
		to.setAuthority(strings.TrimLeft(rest, `/\`), charset)
		return to, ""
	case slash(0):
		to.setRest(rest, charset)
	case rest[0] == '#':
		to.fragment = escape(rest, fragmentSet)
	case rest[0] == '?':
		path := to.path
		to.setRest(rest, charset)
		to.path = path
	default:
		to.setRest(a.path[:strings.LastIndexByte(a.path, '/')+1]+rest, charset)
	}
	return to, ""
}

// clean drops what the parser drops: controls and blanks around, tabs and line
// breaks within.
func clean(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
}

// schemeOf returns the scheme in lower case and the rest; "" if there is no scheme.
func schemeOf(s string) (scheme, rest string) {
	before, after, ok := strings.Cut(s, ":")
	if !ok || before == "" {
		return "", s
	}
	for i, c := range strings.ToLower(before) {
		if !('a' <= c && c <= 'z' || i > 0 && strings.ContainsRune("0123456789+-.", c)) {
			return "", s
		}
	}
	return strings.ToLower(before), after
}

func (a *address) setAuthority(s, charset string) {
	end := strings.IndexAny(s, `/\?#`)
	if end < 0 {
		end = len(s)
	}
	a.authority = s[:end]
	a.setRest(s[end:], charset)
}

// setRest reads path, query and fragment.
func (a *address) setRest(rest, charset string) {
	rest, fragment, hasFragment := strings.Cut(rest, "#")
	path, query, hasQuery := strings.Cut(rest, "?")
	a.query, a.fragment = "", ""
	if hasQuery {
		a.query = "?" + escape(form.EncodeQuery(query, charset), querySet)
	}
	if hasFragment {
		a.fragment = "#" + escape(fragment, fragmentSet)
	}
	a.path = dotless(escape(strings.ReplaceAll(path, `\`, "/"), pathSet))
}

// The percent-encode sets of URL 1.3, beyond controls, blanks and what is not ASCII.
const (
	pathSet     = "\"<>^`{|}" // with the bar, which Chromium escapes too
	querySet    = "\"<>'"
	fragmentSet = "\"<>`"
)

func escape(s, set string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(set, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// dotless removes the dot segments of a path (URL 4.4, path state).
func dotless(path string) string {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var kept []string
	for i, s := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(s), "%2e", ".") {
		case ".":
			if last {
				kept = append(kept, "")
			}
		case "..":
			kept = kept[:max(len(kept)-1, 0)]
			if last {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, s)
		}
	}
	return "/" + strings.Join(kept, "/")
}
