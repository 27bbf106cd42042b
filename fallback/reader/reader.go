// Package reader asks the Jina reader (r.jina.ai, or a server with the same protocol) to
// render a page and return it as HTML, Markdown or text. It owns that protocol: headers,
// responses and errors. It never gives the reader a URL with credentials, or one that does
// not lead to the public internet.
//
// A Reader has no state; any goroutine may use it.
package reader

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/protocol"
)

// Config configures Jina's services and the key. The keys are in the section fallback.
type Config struct {
	ReaderURL string `koanf:"jina_reader_url" default:"https://r.jina.ai/" doc:"the reader that renders pages where there is no Chromium; empty: none"`
	SearchURL string `koanf:"jina_search_url" default:"https://s.jina.ai/" doc:"Jina's search, which needs a key"`
	APIKey    string `koanf:"jina_api_key" secret:"true" doc:"key of both; without one the reader allows fewer requests a minute"`
	// TokenBudget is the header X-Token-Budget, in tokens.
	TokenBudget int `koanf:"jina_token_budget" default:"0" doc:"tokens that the reader may count against the key for one page, above which it refuses the page; 0: no limit"`
}

// Check returns an error that names the first invalid URL.
func (c Config) Check() error {
	for key, v := range map[string]string{"jina_reader_url": c.ReaderURL, "jina_search_url": c.SearchURL} {
		if u, err := url.Parse(v); v != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
			return fmt.Errorf("fallback.%s: %q: accepts an http or https URL", key, v)
		}
	}
	if c.TokenBudget < 0 {
		return fmt.Errorf("fallback.jina_token_budget: %d: accepts 0 or more", c.TokenBudget)
	}
	return nil
}

// Format is the format of a page (the header X-Return-Format).
type Format string

// The formats. HTML is the rendered document, Markdown all of it, Text its
// innerText.
const (
	HTML     Format = "html"
	Markdown Format = "markdown"
	Text     Format = "text"
)

// Options are the egress. All are required.
type Options struct {
	// Transport sends the requests to the reader (policy.Gate.Transport).
	Transport http.RoundTripper
	// Check returns the canonical form of the reader's own URL, or why it is denied.
	Check func(ctx context.Context, url string) (string, error)
	// Public returns an error for a URL that does not lead to the public internet.
	Public func(ctx context.Context, url string) error
}

// Reader is one reader service.
type Reader struct {
	cfg    Config
	o      Options
	client *fetch.Client
}

// New returns the reader of cfg, nil if cfg has none.
func New(cfg Config, o Options) *Reader {
	if cfg.ReaderURL == "" {
		return nil
	}
	return &Reader{cfg: cfg, o: o, client: &fetch.Client{Transport: o.Transport}}
}

// Page is a page that the reader rendered.
type Page struct {
	URL     string // of the document that was rendered, after redirects
	Title   string
	Content string // in the format that was asked for
	// Warning is what the reader found odd, such as "Target URL returned error
	// 404: Not Found"; Status is the status in it, 200 if there is none.
	Warning string
	Status  int
	Tokens  int // that the reader counts against the key
}

// The limits of one page.
const (
	maxBytes = 10 << 20
	// maxWait is the longest time that the protocol allows.
	maxWait = 180 * time.Second
)

// Rendered returns a page as HTML after its script has run, and its URL after redirects. The
// errors are Read's.
func (r *Reader) Rendered(ctx context.Context, url string) (html, finalURL string, err error) {
	p, err := r.Read(ctx, url, HTML)
	return p.Content, p.URL, err
}

// Read asks for a page in a format. The error is a *protocol.Error:
// PolicyDenied for a URL that the reader must not be given; RateLimited with
// details.retry_after_s; TooLarge for a page above the key's token budget;
// NavigationFailed otherwise, with details.reason (reader_key, reader_balance,
// reader_refused, reader_failed, reader_answer, or fetch's); or ctx's cause.
func (r *Reader) Read(ctx context.Context, target string, format Format) (Page, error) {
	if err := r.checkTarget(ctx, target); err != nil {
		return Page{}, err
	}
	resp, err := r.client.Do(ctx, r.request(ctx, target, format))
	if err != nil {
		return Page{}, err
	}
	if resp.Status != http.StatusOK {
		return Page{}, refusal(resp, r.cfg.APIKey != "")
	}
	var a answer
	if err := json.Unmarshal(resp.Body, &a); err != nil || a.Data == nil {
		if resp.Truncated {
			return Page{}, protocol.Errorf(protocol.TooLarge, "the reader's answer is above %d MiB", maxBytes>>20).With("limit", maxBytes)
		}
		return Page{}, failed("reader_answer", "the reader's answer is not the JSON that its protocol describes")
	}
	p := Page{URL: a.Data.URL, Title: a.Data.Title, Warning: a.Data.Warning, Tokens: a.Data.Usage.Tokens, Status: statusIn(a.Data.Warning)}
	switch format {
	case HTML:
		p.Content = a.Data.HTML
	case Text:
		p.Content = a.Data.Text
	}
	if p.Content == "" {
		p.Content = a.Data.Content
	}
	if p.URL == "" {
		p.URL = target
	}
	if p.Content == "" {
		return Page{}, failed("reader_answer", "the reader found nothing on the page").With("warning", short(p.Warning))
	}
	return p, nil
}

// request returns the documented call: the URL behind the reader's own, or, where it
// has a fragment, which is not sent, in the body of a POST.
func (r *Reader) request(ctx context.Context, target string, format Format) fetch.Request {
	wait := 30 * time.Second
	if end, ok := ctx.Deadline(); ok {
		wait = time.Until(end)
	}
	h := http.Header{
		"Accept":          {"application/json"},
		"X-Return-Format": {string(format)},
		"X-No-Cache":      {"true"},
		// The reader answers with what it has when its time is over: leave some for the way.
		"X-Timeout": {strconv.Itoa(max(1, int(min(wait*8/10, maxWait).Seconds())))},
	}
	if r.cfg.APIKey != "" {
		h.Set("Authorization", "Bearer "+r.cfg.APIKey)
	}
	if r.cfg.TokenBudget > 0 {
		h.Set("X-Token-Budget", strconv.Itoa(r.cfg.TokenBudget))
	}
	base := strings.TrimSuffix(r.cfg.ReaderURL, "/") + "/"
	q := fetch.Request{URL: base + target, Header: h, MaxBytes: maxBytes, Timeout: wait, MaxRedirects: -1, Check: r.o.Check}
	if strings.Contains(target, "#") {
		h.Set("Content-Type", "application/json")
		q.Method, q.URL = http.MethodPost, base
		q.Body, _ = json.Marshal(map[string]string{"url": target})
	}
	return q
}

// answer is the JSON form of an answer, of success and of failure.
type answer struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    *struct {
		Title   string `json:"title"`
		URL     string `json:"url"`
		Content string `json:"content"`
		HTML    string `json:"html"`
		Text    string `json:"text"`
		Warning string `json:"warning"`
		Usage   struct {
			Tokens int `json:"tokens"`
		} `json:"usage"`
	} `json:"data"`
	ReadableMessage string `json:"readableMessage"`
}

// statusIn returns the target's HTTP status as the reader words it in a warning.
func statusIn(warning string) int {
	_, rest, ok := strings.Cut(warning, "returned error ")
	if ok && len(rest) >= 3 {
		if n, err := strconv.Atoi(rest[:3]); err == nil && n >= 400 && n < 600 {
			return n
		}
	}
	return http.StatusOK
}

func short(s string) string { return protocol.Cut(s, 200) }
