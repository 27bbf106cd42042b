package policy

import (
	"fmt"
	"strings"
)

// escapePath writes path, query and fragment as the serializer does: forward
// slashes and no dot segments in the path, and what is not allowed there
// percent-encoded (URL 1.3).
func escapePath(rest string) string {
	var b strings.Builder
	if !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, `\`) {
		b.WriteByte('/')
	}
	const path, query, fragment = "\"<>`{}^", "\"<>'", "\"<>`"
	part := path
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		switch {
		case part == path && c == '\\':
			c = '/'
		case part == path && c == '?':
			part = query
		case part != fragment && c == '#':
			part = fragment
		case c <= ' ' || c >= 0x7f || strings.IndexByte(part, c) >= 0:
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	p, q, f := splitPath(b.String())
	return removeDots(p) + q + f
}

// splitPath splits what follows the host; query and fragment keep their marks.
func splitPath(rest string) (path, query, fragment string) {
	if i := strings.IndexByte(rest, '#'); i >= 0 {
		rest, fragment = rest[:i], rest[i:]
	}
	if i := strings.IndexByte(rest, '?'); i >= 0 {
		rest, query = rest[:i], rest[i:]
	}
	return rest, query, fragment
}

// removeDots takes the dot segments out of a path that begins with a slash
// (URL 4.4, path state; 1.3 defines them).
func removeDots(path string) string {
	if !strings.Contains(path, ".") && !strings.Contains(path, "%2") {
		return path
	}
	var kept []string
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(s), "%2e", ".") {
		case ".":
		case "..":
			if len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
		default:
			kept = append(kept, s)
			continue
		}
		if last {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}
