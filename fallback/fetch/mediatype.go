package fetch

import "strings"

// MediaType reads a Content-Type as browsers do, which take more than RFC 9110
// allows (MIME Sniffing 4.4, parse a MIME type; Chromium's net.HttpUtil): empty
// and repeated parameters, of which the first counts, single quotes, and what
// follows a blank or a comma. Both answers are in lower case, and empty where
// header does not say them.
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

// upTo is s before the first of the stops.
func upTo(s, stops string) string {
	if i := strings.IndexAny(s, stops); i >= 0 {
		return s[:i]
	}
	return s
}
