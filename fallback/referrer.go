package fallback

import (
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
)

// The referrer policies (Referrer Policy 3).
const (
	noReferrer     = "no-referrer"
	sameOriginOnly = "same-origin"
	unsafeURL      = "unsafe-url"
	defaultPolicy  = "strict-origin-when-cross-origin"
)

var policies = []string{
	noReferrer, "no-referrer-when-downgrade", sameOriginOnly, "origin", "strict-origin", "origin-when-cross-origin", defaultPolicy, unsafeURL,
}

// referer returns the Referer header of a request to to that the document at from
// makes, empty for none (Referrer Policy 8.3).
func referer(policy string, from, to address) string {
	if from.scheme == "" {
		return ""
	}
	whole, origin := from.request(), from.origin()+"/"
	if len(whole) > 4096 {
		whole = origin
	}
	downgrade := from.scheme == "https" && to.scheme == "http" && !isLoopback(hostOf(to.authority))
	same := from.origin() == to.origin()
	switch policy {
	case noReferrer:
		return ""
	case unsafeURL:
		return whole
	case "origin":
		return origin
	case sameOriginOnly:
		if !same {
			return ""
		}
		return whole
	case "origin-when-cross-origin":
		if same {
			return whole
		}
		return origin
	}
	if downgrade {
		return ""
	}
	switch {
	case policy == "strict-origin", policy != "no-referrer-when-downgrade" && !same:
		return origin
	}
	return whole
}

// originHeader returns the Origin header of a request that is neither GET nor HEAD
// (Fetch 3.2, append a request Origin header).
func originHeader(policy string, from, to address) string {
	if from.scheme == "" || policy == noReferrer || policy == sameOriginOnly && from.origin() != to.origin() {
		return "null"
	}
	switch policy {
	case "origin", "origin-when-cross-origin", unsafeURL:
		return from.origin()
	}
	if from.scheme == "https" && to.scheme == "http" {
		return "null"
	}
	return from.origin()
}

// policyIn returns the last policy that a header names, or else otherwise.
func policyIn(h http.Header, otherwise string) string {
	for _, line := range h["Referrer-Policy"] {
		for word := range strings.SplitSeq(line, ",") {
			if word = strings.ToLower(strings.TrimSpace(word)); slices.Contains(policies, word) {
				otherwise = word
			}
		}
	}
	return otherwise
}

// policyOf returns a document's referrer policy: its meta element's, its header's,
// or the default (HTML 4.2.5.1).
func policyOf(root *html.Node, h http.Header) string {
	policy := policyIn(h, defaultPolicy)
	form.Elements(root, func(n *html.Node) bool {
		if name, _ := form.Attr(n, "name"); form.Is(n, "meta") && strings.EqualFold(name, "referrer") {
			policy = policyWord(n, "content", policy)
		}
		return true
	})
	return policy
}

// policyWord returns the policy that an attribute names, or else otherwise; the
// older words mean what they always did.
func policyWord(n *html.Node, attribute, otherwise string) string {
	word, _ := form.Attr(n, attribute)
	word = strings.ToLower(strings.TrimSpace(word))
	switch word {
	case "never":
		return noReferrer
	case "default":
		return defaultPolicy
	case "always":
		return unsafeURL
	case "origin-when-crossorigin":
		return "origin-when-cross-origin"
	}
	if slices.Contains(policies, word) {
		return word
	}
	return otherwise
}
