// Package ssrfcases reads the shared cases of ssrf_cases.json for the tests
// that play them: one table for every path that leaves the machine.
package ssrfcases

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/fakedns"
	"github.com/browserd/browserd/internal/untested"
)

// Case is one URL, or one chain of redirects, or one line of page script, and
// the verdict on it.
type Case struct {
	ID, Category, Note string
	// Stage is navigate for an agent's URL, subresource for what a page does.
	Stage string
	// URL is the agent's URL, or, in a subresource case, the page's script or markup.
	URL string
	// Expect is block or allow, Reason the word for it in the cases' own
	// language (see Word); Either says that both verdicts are safe.
	Expect, Reason string
	Either         bool
	// Host is the host as a browser reads it, where the case names it.
	Host string `json:"canonical_host"`
	// DNS holds the successive answers for each name.
	DNS map[string][]fakedns.Answer
	// Page is the page that holds a subresource case.
	Page string
	// Chain are the scripted responses, BlockedAt the index of the refused hop.
	Chain     []Hop
	BlockedAt *int `json:"blocked_at"`
	// Allowlist is policy.allowed_domains, AllowPrivate policy.allow_hosts.
	Allowlist    []string
	AllowPrivate []string `json:"allow_private"`
	// Requests is how many connections are made; the verdict is of the last.
	Requests int
	// Dialled are the only addresses that may be dialled, where the case says.
	Dialled []string `json:"assert_dialled"`
}

// Hop is one scripted response.
type Hop struct {
	URL      string
	Status   int
	Location string
	Headers  map[string]string
	Body     string
}

// Word returns the case's reason as the protocol spells it; ok for what is allowed.
func (c Case) Word() string {
	if c.Reason == "ip_linklocal" {
		return "ip_link_local"
	}
	return c.Reason
}

// Load reads the cases, with the placeholders filled in: the strings of
// replace are pairs of a placeholder and its value. The test is skipped where
// the cases are not beside the module.
func Load(tb testing.TB, replace ...string) []Case {
	tb.Helper()
	file := filepath.Join("..", "..", "shared", "cases", "ssrf_cases.json")
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		untested.Skip(tb, "the shared cases are not here: no %s", file)
	}
	if err != nil {
		tb.Fatal(err)
	}
	var set struct{ Cases []Case }
	text := strings.NewReplacer(replace...).Replace(string(data))
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		tb.Fatal(err)
	}
	if len(set.Cases) < 200 {
		tb.Fatalf("%s holds %d cases only", file, len(set.Cases))
	}
	return set.Cases
}
