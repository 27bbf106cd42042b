package actions

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
	"github.com/browserd/browserd/web/readable"
)

// WebFetchParams are the parameters of web_fetch.
type WebFetchParams struct {
	URL      string `json:"url" required:"true" doc:"an http or https URL"`
	Format   string `json:"format" default:"text" enum:"text,markdown,html,json,raw" doc:"text and markdown: what is to be read; html: the document; json: JSON as it is, or a page's title, text and links; raw: the body as it came"`
	MaxChars int    `json:"max_chars" default:"10000" min:"1" max:"1048576" doc:"characters of content"`
	Offset   int    `json:"offset" default:"0" min:"0" doc:"characters to begin after: the next_offset of the last answer"`
	Extract  string `json:"extract" doc:"what you want to know of a long page, in words: a small model reads it for you"`
	Source   string `json:"source" default:"auto" enum:"auto,chromium,http,jina" doc:"who fetches it; auto: direct HTTP, and Chromium where the page is empty without its script"`
}

// WebFetchResult is the answer of web_fetch.
type WebFetchResult struct {
	URL         string             `json:"url"` // after redirects
	Title       string             `json:"title,omitempty"`
	Content     string             `json:"content"`
	Status      int                `json:"status"`
	ContentType string             `json:"content_type"`
	Source      string             `json:"source"`
	Attempts    []protocol.Attempt `json:"attempts"`
	Truncated   bool               `json:"truncated"`
	NextOffset  int                `json:"next_offset,omitempty"`
	Extracted   bool               `json:"extracted,omitempty"` // content is a model's answer
	Note        string             `json:"note,omitempty"`
}

func (r WebFetchResult) book(e *ledger.Entry) {
	e.URL, e.Status, e.Source, e.Bytes = r.URL, r.Status, r.Source, int64(len(r.Content))
}

func webFetch(ctx context.Context, c *Call, p *WebFetchParams) (WebFetchResult, error) {
	w, err := c.web()
	if err != nil {
		return WebFetchResult{}, err
	}
	target, err := w.checkURL(ctx, p.URL)
	if err != nil {
		return WebFetchResult{}, err
	}
	d, attempts, err := w.climb(ctx, target, p.Source, p.Format)
	if err != nil {
		return WebFetchResult{}, err
	}
	r := WebFetchResult{URL: d.url, Status: d.status, ContentType: d.contentType, Source: d.source, Attempts: attempts}
	var text string
	text, r.Title = d.as(ctx, p.Format)
	if err := ctx.Err(); err != nil {
		return WebFetchResult{}, err
	}
	r.Title = snapshot.Cut(r.Title, maxTitle)
	rest := after(text, p.Offset)
	f := fitted{text: rest}
	if d.kind != kindBinary && p.Format != "raw" {
		if f, err = w.fit(ctx, rest, d.kind != kindHTML, p.Extract); err != nil {
			return WebFetchResult{}, err
		}
	}
	var shown int
	if r.Content, shown = part(f.text, 0, p.MaxChars); shown == 0 && f.cut {
		shown = utf8.RuneCountInString(f.text)
	}
	if shown != 0 && !f.model {
		r.NextOffset = p.Offset + shown
	}
	r.Truncated = shown != 0 || d.note != ""
	r.Extracted = f.model
	r.Note = joined(d.note, d.warning, f.note)
	return r, nil
}

// after is what follows the first n characters of s.
func after(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[i:]
		}
		n--
	}
	return ""
}

// joined puts notes after one another.
func joined(notes ...string) string {
	var said []string
	for _, n := range notes {
		if n != "" {
			said = append(said, n)
		}
	}
	return strings.Join(said, "; ")
}

// maxTitle is the longest title that is told beside the content, in characters.
const maxTitle = 500

// maxLinks are how many links of a page format json lists.
const maxLinks = 100

// as is the document in a format, and its title where it is a page.
func (d document) as(ctx context.Context, format string) (text, title string) {
	if d.kind != kindHTML || format == "raw" {
		return d.text, d.title
	}
	if format == "html" {
		return d.text, readable.Title(d.text)
	}
	base, _ := url.Parse(d.url)
	page := readable.Parse(ctx, d.text, base)
	switch format {
	case "markdown":
		return page.Markdown(ctx), page.Title
	case "json":
		links := page.Links(maxLinks)
		raw, _ := json.Marshal(map[string]any{"url": d.url, "title": page.Title, "text": page.Text(), "links": links})
		return string(raw), page.Title
	}
	return page.Text(), page.Title
}
