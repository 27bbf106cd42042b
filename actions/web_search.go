package actions

import (
	"context"
	"strings"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/web/search"
)

// WebSearch is the command web_search.
var WebSearch = command.Define(command.Row{
	Name: "web_search", Summary: "Searches the web.", Next: "Then web_fetch or open.", Main: "query",
	Flags:   command.Static | command.NoSession | command.Offline | command.ReadOnly | command.Unconfirmed | command.MCPDefault | command.MCPReadOnly,
	Price:   ledger.PerSearch,
	Prepare: (*command.Call).LimitDomains,
	Examples: []command.Example{
		{For: "Finds three pages", Params: `{"query": "bread recipe", "max_results": 3}`},
	},
}, webSearch)

// WebSearchParams are the parameters of web_search.
type WebSearchParams struct {
	Query      string `json:"query" required:"true" doc:"what to search for"`
	MaxResults int    `json:"max_results" seldom:"true" default:"5" min:"1" max:"20" doc:"results at most"`
}

// WebSearchResult is the answer of web_search.
type WebSearchResult struct {
	Results  []search.Result `json:"results"`
	Provider string          `json:"provider"`
}

func (r WebSearchResult) Audit(e *ledger.Entry) {
	e.Source = r.Provider
	for _, f := range r.Results {
		e.Bytes += int64(len(f.Title) + len(f.URL) + len(f.Snippet))
	}
}

// maxQuery is the longest query, in characters.
const maxQuery = 2000

func webSearch(ctx context.Context, c *command.Call, p *WebSearchParams) (WebSearchResult, error) {
	w, err := c.Web()
	if err != nil {
		return WebSearchResult{}, err
	}
	query := strings.TrimSpace(p.Query)
	if n := len([]rune(query)); n == 0 || n > maxQuery {
		return WebSearchResult{}, protocol.Errorf(protocol.InvalidParams, "query: accepts 1 to %d characters, not %d", maxQuery, n).With("parameter", "query")
	}
	results, provider, err := w.Search.Search(ctx, query, p.MaxResults)
	if err != nil {
		return WebSearchResult{}, err
	}
	return WebSearchResult{results, provider}, nil
}
