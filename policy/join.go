package policy

import "strings"

// Join is the URL that ref means on the page at base, as a browser resolves it
// (URL 4.4, relative state): what a redirect's Location or a link leads to.
// base is what CheckURL returned. Join decides nothing: what it returns is
// still to be given to CheckURL, which refuses what is no URL.
func Join(base, ref string) string {
	b, err := parseURL(base)
	if err != nil || b.blank {
		return ref
	}
	ref = strings.TrimFunc(ref, func(r rune) bool { return r <= ' ' })
	ref = strings.ReplaceAll(ref, "\t", "")
	if scheme, after, ok := cutScheme(ref); ok {
		// Special relative or authority state: without two slashes, a URL of
		// base's own scheme is relative.
		if scheme != b.scheme || strings.HasPrefix(after, "//") {
			return ref
		}
		ref = after
	}
	root := b
	root.rest = ""
	path, query, _ := cutRest(b.rest)
	slashes := len(ref) - len(strings.TrimLeft(ref, `/\`))
	switch {
	case slashes >= 2:
		return b.scheme + ":" + ref
	case slashes == 1:
		return root.String() + ref
	case ref == "" || ref[0] == '#':
		return root.String() + path + query + ref
	case ref[0] == '?':
		return root.String() + path + ref
	}
	return root.String() + path[:strings.LastIndexByte(path, '/')+1] + ref
}

// cutRest splits what follows the host; query and fragment keep their marks.
func cutRest(rest string) (path, query, fragment string) {
	if i := strings.IndexByte(rest, '#'); i >= 0 {
		rest, fragment = rest[:i], rest[i:]
	}
	if i := strings.IndexByte(rest, '?'); i >= 0 {
		rest, query = rest[:i], rest[i:]
	}
	return rest, query, fragment
}

// removeDots takes the dot segments out of a path that begins with a slash
// (URL 4.4, path state; 1.3 says what is one).
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
