package actions

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/browserd/browserd/protocol"

	"github.com/browserd/browserd/actions/command"
)

// answersWith tells whether a call of route answers requests with that header, which
// then acts on the session in the name of the site that was asked.
func answersWith(header string) func(params any) bool {
	return func(params any) bool {
		p := params.(*RouteParams)
		for name := range p.Headers {
			if p.Action == "answer" && strings.EqualFold(name, header) {
				return true
			}
		}
		return false
	}
}

// checkTargets refuses an answer whose headers lead pages where open would be refused:
// a redirect, a refresh, what is loaded ahead, and where reports go. A relative address
// stays at the host of the request, which the policy has let through. The egress proxy
// checks each request all the same: this says so before a page waits for it.
func checkTargets(ctx context.Context, c *command.Call, headers map[string]string) error {
	for name, value := range headers {
		for _, target := range targetsIn(name, value) {
			for _, url := range absolute(target) {
				if _, err := c.CheckURL(ctx, url); err != nil {
					var e *protocol.Error
					if errors.As(err, &e) {
						e.Message = "headers: " + protocol.Cut(name, 60) + ": " + e.Message
						e.With("parameter", "headers")
					}
					return err
				}
			}
		}
	}
	return nil
}

var (
	inAngles = regexp.MustCompile(`<([^>]*)>`)
	inQuotes = regexp.MustCompile(`"([^"]*)"`)
	refresh  = regexp.MustCompile(`(?is)^\s*[0-9.]*\s*[;,]?\s*(?:url\s*=)?\s*(.*)$`)
)

// targetsIn are the addresses that a response's header has its page go to or ask.
func targetsIn(name, value string) []string {
	var targets []string
	switch strings.ToLower(name) {
	case "location":
		return []string{value}
	case "refresh": // HTML, 7.3.4.4 (shared declarative refresh steps)
		return []string{strings.Trim(refresh.FindStringSubmatch(value)[1], `"' `)}
	case "link": // RFC 8288, 3
		for _, found := range inAngles.FindAllStringSubmatch(value, -1) {
			targets = append(targets, found[1])
		}
	case "report-to", "reporting-endpoints", "speculation-rules":
		for _, found := range inQuotes.FindAllStringSubmatch(value, -1) {
			if strings.ContainsAny(found[1], `/\`) { // the rest are keys and names
				targets = append(targets, found[1])
			}
		}
	case "content-security-policy", "content-security-policy-report-only":
		for directive := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ';' || r == ',' }) {
			if words := strings.Fields(directive); len(words) > 1 && strings.EqualFold(words[0], "report-uri") {
				targets = append(targets, words[1:]...)
			}
		}
	}
	return targets
}

// absolute is a target as the URLs that it may stand for at a host that is not known
// yet; none where it stays there.
func absolute(target string) []string {
	target = strings.ReplaceAll(strings.TrimFunc(target, func(r rune) bool { return r <= ' ' }), "\t", "")
	scheme, _, found := strings.Cut(target, ":")
	switch {
	case len(target) > 1 && strings.ContainsRune(`/\`, rune(target[0])) && strings.ContainsRune(`/\`, rune(target[1])):
		return []string{"https:" + target, "http:" + target}
	case found && scheme != "" && !strings.ContainsAny(scheme, `/\?#`):
		return []string{target}
	}
	return nil
}
