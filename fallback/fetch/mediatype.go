package fetch

import "strings"

// MediaType parses a Content-Type as browsers do (MIME Sniffing 4.4, parse a MIME type;
// Chromium's net.HttpUtil), which accept more than RFC 9110: empty and repeated parameters,
// of which the first is used, single quotes, and what follows a blank or a comma. Both
// results are in lower case, and empty if header does not have them.
func MediaType(header string) (media, charset string) {
	media, parameters, _ := strings.Cut(strings.ToLower(header), ";")
	media = upTo(strings.TrimSpace(media), " \t,(")
	if kind, sub, _ := strings.Cut(media, "/"); kind == "" || sub == "" {
		media = ""
	}
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(p, "=")
		value = upTo(strings.Trim(value, " \t\"'"), " \t,\"'")
		if strings.TrimSpace(name) == "charset" && value != "" {
			return media, value
		}
	}
	return media, ""
}

// upTo returns the part of s before the first of the stops.
func upTo(s, stops string) string {
	if i := strings.IndexAny(s, stops); i >= 0 {
		return s[:i]
	}
	return s
}
