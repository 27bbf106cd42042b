// Package search asks web search services for results. It tries one Provider per service,
// in the operator's order, until one answers. It owns their protocols, and pauses a
// provider for as long as that provider asks (Retry-After). It sends requests only through
// the transport that it is given.
//
// Any goroutine may use a Search.
package search

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/fallback/reader"
	"github.com/browserd/browserd/protocol"
)

// Config configures the providers, their order and their keys. A provider whose key or URL
// is not set is skipped.
type Config struct {
	Providers     []string `koanf:"providers" default:"jina,brave,serper,tavily,searxng,duckduckgo" doc:"search providers in the order in which they are tried; those without their key or URL are passed over"`
	BraveAPIKey   string   `koanf:"brave_api_key" secret:"true" doc:"key of Brave Search"`
	SerperAPIKey  string   `koanf:"serper_api_key" secret:"true" doc:"key of Serper (Google's results)"`
	TavilyAPIKey  string   `koanf:"tavily_api_key" secret:"true" doc:"key of Tavily"`
	SearxngURL    string   `koanf:"searxng_url" doc:"a SearXNG instance whose settings allow format json"`
	BraveURL      string   `koanf:"brave_url" default:"https://api.search.brave.com/res/v1/web/search" doc:"where Brave Search is"`
	SerperURL     string   `koanf:"serper_url" default:"https://google.serper.dev/search" doc:"where Serper is"`
	TavilyURL     string   `koanf:"tavily_url" default:"https://api.tavily.com/search" doc:"where Tavily is"`
	DuckDuckGoURL string   `koanf:"duckduckgo_url" default:"https://html.duckduckgo.com/html/" doc:"DuckDuckGo's page without script, which needs no key and blocks those who ask often"`
}

// names are the names of all providers.
var names = []string{"jina", "brave", "serper", "tavily", "searxng", "duckduckgo"}

// Check returns an error that names the first unknown provider or invalid URL.
func (c Config) Check() error {
	for i, p := range c.Providers {
		if !slices.Contains(names, p) {
			return fmt.Errorf("search.providers: %q: accepts %s", p, strings.Join(names, ", "))
		}
		if slices.Contains(c.Providers[:i], p) {
			return fmt.Errorf("search.providers: %q: stands there twice", p)
		}
	}
	for key, v := range map[string]string{"searxng_url": c.SearxngURL, "brave_url": c.BraveURL, "serper_url": c.SerperURL, "tavily_url": c.TavilyURL, "duckduckgo_url": c.DuckDuckGoURL} {
		if u, err := url.Parse(v); v != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
			return fmt.Errorf("search.%s: %q: accepts an http or https URL", key, v)
		}
	}
	return nil
}

// Result is one result.
type Result struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

// Provider is one search service.
type Provider interface {
	Name() string
	// Search returns at most n results. No results is not an error. The error is a
	// *protocol.Error or ctx's cause.
	Search(ctx context.Context, query string, n int) ([]Result, error)
}

// Options are the egress. Both are required.
type Options struct {
	Transport http.RoundTripper // policy.Gate.Transport
	Check     func(ctx context.Context, url string) (string, error)
}

// Search has the configured providers, in their order.
type Search struct {
	providers []Provider

	mu     sync.Mutex
	pauses map[string]time.Time // by provider: the end of its pause
}

// New returns a Search with the providers of cfg. jina has the key of Jina's search.
func New(cfg Config, jina reader.Config, o Options) *Search {
	w := web{&fetch.Client{Transport: o.Transport}, o.Check}
	s := &Search{pauses: map[string]time.Time{}}
	for _, name := range cfg.Providers {
		switch {
		case name == "jina" && jina.APIKey != "" && jina.SearchURL != "":
			s.providers = append(s.providers, jinaSearch{api{w, name, jina.SearchURL, jina.APIKey}})
		case name == "brave" && cfg.BraveAPIKey != "":
			s.providers = append(s.providers, brave{api{w, name, cfg.BraveURL, cfg.BraveAPIKey}})
		case name == "serper" && cfg.SerperAPIKey != "":
			s.providers = append(s.providers, serper{api{w, name, cfg.SerperURL, cfg.SerperAPIKey}})
		case name == "tavily" && cfg.TavilyAPIKey != "":
			s.providers = append(s.providers, tavily{api{w, name, cfg.TavilyURL, cfg.TavilyAPIKey}})
		case name == "searxng" && cfg.SearxngURL != "":
			s.providers = append(s.providers, searxng{api{w, name, cfg.SearxngURL, ""}})
		case name == "duckduckgo" && cfg.DuckDuckGoURL != "":
			s.providers = append(s.providers, duckduckgo{w, cfg.DuckDuckGoURL})
		}
	}
	return s
}

// setUp is the next step of the error if no provider works.
const setUp = "ask the operator to set search.brave_api_key, search.serper_api_key, search.tavily_api_key, fallback.jina_api_key or search.searxng_url"

// Search asks one provider after the other until one answers. It returns at most n results
// and the provider's name. Each provider but the last has half of the time that is left.
// The error is ctx's cause, or fetch_failed with details.attempts, a next step that says
// how to configure a provider, and details.asked, which is false if all providers are
// paused.
func (s *Search) Search(ctx context.Context, query string, n int) ([]Result, string, error) {
	attempts, asked := []protocol.Attempt{}, false
	for i, p := range s.providers {
		begun := time.Now()
		err := s.paused(p.Name())
		var results []Result
		if err == nil {
			asked = true
			results, err = timed(ctx, p, query, n, len(s.providers)-1-i)
		}
		if err == nil {
			return clean(results, n), p.Name(), nil
		}
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		s.pause(p.Name(), err)
		attempts = append(attempts, protocol.Attempt{Source: p.Name(), Error: message(err), MS: int(time.Since(begun).Milliseconds())})
	}
	if len(attempts) == 0 {
		return nil, "", protocol.Errorf(protocol.FetchFailed, "no search provider is set up").Then(setUp)
	}
	return nil, "", protocol.Errorf(protocol.FetchFailed, "no search provider answered: %s", attempts[0].Source+": "+attempts[0].Error).
		With("attempts", attempts).With("asked", asked).Then(setUp)
}

// timed calls p.Search with its part of the time.
func timed(ctx context.Context, p Provider, query string, n, others int) ([]Result, error) {
	if end, ok := ctx.Deadline(); ok && others > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	results, err := p.Search(ctx, query, n)
	if errors.Is(err, context.DeadlineExceeded) {
		err = protocol.Errorf(protocol.Timeout, "%s did not answer in its share of the time", p.Name())
	}
	return results, err
}

// paused returns the error of a provider that is paused now, nil for any other.
func (s *Search) paused(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if wait := time.Until(s.pauses[name]); wait > 0 {
		return protocol.Errorf(protocol.RateLimited, "it asked for a pause: it is not asked again for %d s", int(wait.Seconds())+1)
	}
	return nil
}

// pause records the pause that a provider asked for.
func (s *Search) pause(name string, err error) {
	var e *protocol.Error
	if !errors.As(err, &e) {
		return
	}
	if after, ok := e.Details["retry_after_s"].(int); ok {
		s.mu.Lock()
		s.pauses[name] = time.Now().Add(time.Duration(after) * time.Second)
		s.mu.Unlock()
	}
}

func message(err error) string {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// The longest title and snippet, in characters.
const (
	maxTitle   = 200
	maxSnippet = 500
)

// clean drops results without a web URL and repeated ones, and shortens the others.
func clean(results []Result, n int) []Result {
	list, seen := []Result{}, map[string]bool{}
	for _, r := range results {
		u, err := url.Parse(r.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || seen[r.URL] || len(list) == n {
			continue
		}
		seen[r.URL] = true
		list = append(list, Result{plain(r.Title, maxTitle), r.URL, plain(r.Snippet, maxSnippet)})
	}
	return list
}
