package actions

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/fallback/reader"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
	"github.com/browserd/browserd/web/pdf"
	"github.com/browserd/browserd/web/readable"
)

// WebFetch is the command web_fetch.
var WebFetch = command.Define(command.Row{
	Name: "web_fetch", Summary: "Fetches a page and returns its readable text.", Next: "To act on a page, open it.", Main: "url",
	Flags:   command.Static | command.NoSession | command.Offline | command.ReadOnly | command.Unconfirmed | command.MCPDefault | command.MCPReadOnly,
	Price:   ledger.PerFetch,
	Prepare: (*command.Call).LimitDomains,
	Examples: []command.Example{
		{For: "Reads a page as Markdown", Params: `{"url": "https://shop.example/", "format": "markdown"}`},
	},
}, webFetch)

// WebFetchParams are the parameters of web_fetch.
type WebFetchParams struct {
	URL      string `json:"url" required:"true" doc:"an http or https URL"`
	Format   string `json:"format" default:"text" enum:"text,markdown,html,json,raw" doc:"text and markdown: what is to be read; html: the document; json: JSON as it is, or a page's title, text and links; raw: the body as it came, of a PDF in base64. Of a PDF text, markdown and html are the text of its pages, each behind [page N]"`
	MaxChars int    `json:"max_chars" seldom:"true" default:"10000" min:"1" max:"1048576" doc:"characters of content"`
	Offset   int    `json:"offset" seldom:"true" default:"0" min:"0" doc:"characters to begin after: the next_offset of the last answer"`
	Pages    string `json:"pages" seldom:"true" doc:"of a PDF: one page or a range of them, such as 3, 3-5 or 7-"`
	Extract  string `json:"extract" seldom:"true" doc:"what you want to know of a long page, in words: a small model reads it for you"`
	Source   string `json:"source" seldom:"true" default:"auto" enum:"auto,chromium,http,jina" doc:"who fetches it; auto: direct HTTP, and Chromium where the page is empty without its script"`
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
	Encoding    string             `json:"encoding,omitempty"`  // base64 where content is bytes
	Note        string             `json:"note,omitempty"`
}

func (r WebFetchResult) Audit(e *ledger.Entry) {
	e.URL, e.Status, e.Source, e.Bytes = r.URL, r.Status, r.Source, int64(len(r.Content))
}

func webFetch(ctx context.Context, c *command.Call, p *WebFetchParams) (WebFetchResult, error) {
	w, err := c.Web()
	if err != nil {
		return WebFetchResult{}, err
	}
	target, err := w.CheckURL(ctx, p.URL)
	if err != nil {
		return WebFetchResult{}, err
	}
	d, attempts, err := fetchFrom(ctx, w, target, p.Source, p.Format)
	if err != nil {
		return WebFetchResult{}, err
	}
	r := WebFetchResult{URL: d.url, Status: d.status, ContentType: d.contentType, Source: d.source, Attempts: attempts}
	var text string
	text, r.Title = d.as(ctx, p.Format)
	if d.pdf != nil && p.Format == "raw" {
		r.Encoding = "base64"
	}
	if p.Pages != "" {
		if d.pdf == nil || p.Format != "text" && p.Format != "markdown" {
			return WebFetchResult{}, protocol.Errorf(protocol.InvalidParams, "pages: is for the text of a PDF").With("parameter", "pages").Then("leave pages out, or use format text")
		}
		if text, err = pdf.Range(text, p.Pages); err != nil {
			return WebFetchResult{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return WebFetchResult{}, err
	}
	r.Title = snapshot.Cut(r.Title, maxTitle)
	rest := after(c.Runtime.Secrets.RedactText(c.Caller.Agent, text), p.Offset)
	f := command.Truncated{Text: rest}
	if d.kind != command.KindBinary && p.Format != "raw" {
		if f, err = w.Truncate(ctx, rest, d.kind != command.KindHTML, p.Extract); err != nil {
			return WebFetchResult{}, err
		}
	}
	var shown int
	if r.Content, shown = part(f.Text, 0, p.MaxChars); shown == 0 && f.Cut {
		shown = utf8.RuneCountInString(f.Text)
	}
	if shown != 0 && !f.Model {
		r.NextOffset = p.Offset + shown
	}
	r.Truncated = shown != 0 || d.note != ""
	r.Extracted = f.Model
	r.Note = joined(d.note, d.warning, f.Note)
	if r.Content == "" && r.Note == "" {
		r.Note = d.nothing(text)
	}
	return r, nil
}

// after returns what follows the first n characters of s.
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

// as returns the document in a format, and its title where it is a page.
func (d document) as(ctx context.Context, format string) (text, title string) {
	if d.pdf != nil {
		switch format {
		case "raw":
			return base64.StdEncoding.EncodeToString(d.body), d.pdf.Title
		case "html":
			return d.pdf.HTML(), d.pdf.Title
		case "json":
			raw, _ := json.Marshal(map[string]any{"url": d.url, "title": d.pdf.Title, "pages": d.pdf.Pages, "count": d.pdf.Count})
			return string(raw), d.pdf.Title
		}
		return d.pdf.Text(), d.pdf.Title
	}
	if d.kind != command.KindHTML || format == "raw" {
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

// document is what a source has of a URL.
type document struct {
	url, source, contentType string
	status                   int
	kind                     string        // html, json, text or binary
	text                     string        // decoded; of a binary body what is said of it
	title                    string        // where the source says it
	note                     string        // why it is not all there, "" where it is
	warning                  string        // what the reader found odd
	pdf                      *pdf.Document // what a PDF holds; nil: it is none
	body                     []byte        // of a PDF
}

// fetchFrom fetches url from the source that is asked for, or, for auto, from one
// after the other: direct HTTP, and Chromium where the page is an empty shell
// or the site refuses; without a Chromium the sources of fallback.order. Every
// try is recorded. Where no source does better, a shell or a refusal is the
// document all the same.
func fetchFrom(ctx context.Context, w *command.WebCall, url, source, format string) (document, []protocol.Attempt, error) {
	steps := sourceChain(w.Web, source, format)
	var attempts []protocol.Attempt
	var best *document
	var worst error
	for i, step := range steps {
		begun := time.Now()
		d, err := withinShare(ctx, w, step, url, format, len(steps)-1-i)
		a := protocol.Attempt{Source: step, MS: int(time.Since(begun).Milliseconds())}
		if err != nil {
			if ctx.Err() != nil {
				return document{}, nil, context.Cause(ctx)
			}
			a.Error = command.Sentence(err)
			if step == fallback.HTTP && (protocol.CodeOf(err) == protocol.PolicyDenied || pdf.Unreadable(err)) {
				return document{}, nil, err // a redirect that leads where nobody may go, or a PDF that nobody reads
			}
		} else if source == session.SourceAuto && i < len(steps)-1 {
			a.Error = d.lacks(ctx)
		}
		attempts = append(attempts, a)
		switch {
		case err == nil && a.Error == "":
			return d, attempts, nil
		case err == nil && best == nil:
			best = &d
		case err != nil && (worst == nil || step == fallback.HTTP):
			worst = err // direct HTTP knows best what is wrong with an address
		}
	}
	if best != nil {
		return *best, attempts, nil
	}
	return document{}, nil, exhausted(source, attempts, worst)
}

// exhausted returns the error when no source has the page: the source's own error where the
// call named one source.
func exhausted(source string, attempts []protocol.Attempt, err error) error {
	var e *protocol.Error
	if source != session.SourceAuto && errors.As(err, &e) {
		return e.With("attempts", attempts)
	}
	f := protocol.Errorf(protocol.FetchFailed, "no source could fetch it: %s", command.Sentence(err)).With("attempts", attempts)
	if errors.As(err, &e) && e.Next != "" {
		f.Next = e.Next
	}
	return f
}

// steps are the sources to try, in their order.
func sourceChain(w *command.Web, source, format string) []string {
	if source != session.SourceAuto {
		return []string{source}
	}
	live := w.Render != nil && w.HasChromium()
	switch {
	case format == "raw" || format == "json" && !live:
		return []string{fallback.HTTP} // nobody else has the body as it came
	case live && slices.Contains(w.Order, fallback.Jina) && w.Reader != nil:
		return []string{fallback.HTTP, session.SourceChromium, fallback.Jina}
	case live:
		return []string{fallback.HTTP, session.SourceChromium}
	}
	steps := slices.DeleteFunc(slices.Clone(w.Order), func(s string) bool { return s == fallback.Jina && w.Reader == nil })
	if len(steps) == 0 {
		return []string{fallback.HTTP}
	}
	return steps
}

// lacks says why another source may have more of the document, "" where none
// will.
func (d document) lacks(ctx context.Context) string {
	switch {
	case d.status == http.StatusForbidden || d.status == http.StatusTooManyRequests || d.status == http.StatusServiceUnavailable:
		return fmt.Sprintf("the site answers %d %s", d.status, http.StatusText(d.status))
	case d.source == fallback.HTTP && d.kind == command.KindHTML && readable.NeedsScript(ctx, d.text):
		return "the page is empty without its script"
	case d.source == fallback.HTTP && d.kind == command.KindHTML && !readable.HasText(ctx, d.text):
		return "the document has no text"
	}
	return ""
}

// nothing says why an answer has no content; text is all that the document has in its format.
func (d document) nothing(text string) string {
	switch {
	case text != "":
		return "the content ends before this offset"
	case d.text == "":
		return fmt.Sprintf("the answer (status %d) has no body", d.status)
	case d.source == session.SourceChromium:
		return "the page shows no text, though its script has run"
	}
	return "the document has no text; open it in a session to see what its script makes of it"
}

// withinShare is from with its share of the time that is left: half of it where
// others follow, so that they have some too.
func withinShare(ctx context.Context, w *command.WebCall, source, url, format string, others int) (document, error) {
	if end, ok := ctx.Deadline(); ok && others > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	d, err := fetchOne(ctx, w, source, url, format)
	if err != nil && errors.Is(err, context.DeadlineExceeded) {
		err = protocol.Errorf(protocol.Timeout, "%s did not answer in its share of the time", source)
	}
	return d, err
}

// fetchOne fetches url from one source.
func fetchOne(ctx context.Context, w *command.WebCall, source, url, format string) (document, error) {
	switch source {
	case session.SourceChromium:
		return viaChromium(ctx, w, url)
	case fallback.Jina:
		return viaReader(ctx, w, url, format)
	}
	return viaHTTP(ctx, w, url, format)
}

// viaHTTP is plain HTTP, with its redirects.
func viaHTTP(ctx context.Context, w *command.WebCall, url, format string) (document, error) {
	client, err := w.Client()
	if err != nil {
		return document{}, err
	}
	r, err := client.Do(ctx, fetch.Request{URL: url, Check: w.CheckURL, Timeout: command.MaxTimeout, Own: http.Header{
		"Accept":          {"text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8"},
		"Accept-Language": {"en-US,en;q=0.9"},
	}})
	if err != nil {
		return document{}, err
	}
	d := document{url: r.URL, source: fallback.HTTP, status: r.Status, contentType: r.Header.Get("Content-Type"), note: command.CutNote(r)}
	d.kind = command.KindOf(r.Body, d.contentType)
	if d.contentType == "" && len(r.Body) > 0 {
		d.contentType = http.DetectContentType(r.Body)
	}
	if d.kind == command.KindPDF && w.PDF != nil && format == "raw" {
		d.pdf, d.body = &pdf.Document{}, r.Body
		return d, nil
	}
	if d.kind == command.KindPDF && w.PDF != nil {
		read, err := w.PDF.Read(ctx, r.Body)
		if err != nil {
			return document{}, err
		}
		d.pdf, d.note, d.text = &read, joined(d.note, read.Note()), read.Text()
		return d, nil
	}
	if d.kind == command.KindBinary || d.kind == command.KindPDF {
		d.kind, d.text = command.KindBinary, command.DescribeBinary(r)
		return d, nil
	}
	d.text, _ = fetch.Text(r.Body, r.Header.Get("Content-Type"))
	return d, nil
}

// viaChromium returns the page as Chromium has it when its script has run.
func viaChromium(ctx context.Context, w *command.WebCall, url string) (document, error) {
	if w.Render == nil {
		return document{}, protocol.Errorf(protocol.ChromiumUnavailable, "there is no Chromium to render the page")
	}
	p, err := w.Render(ctx, w.Within, url)
	if err != nil {
		return document{}, err
	}
	d := document{url: p.URL, source: session.SourceChromium, status: p.Status, contentType: "text/html", kind: command.KindHTML, text: p.HTML}
	if p.PDF != "" {
		d.contentType, d.kind, d.text = protocol.TypePDF, command.KindText, p.PDF
	}
	return d, nil
}

// viaReader returns the page as the reader has it: as HTML, or, where that is what is
// wanted, in the reader's own words, which are fewer.
func viaReader(ctx context.Context, w *command.WebCall, url, format string) (document, error) {
	if w.Reader == nil {
		return document{}, protocol.Errorf(protocol.Unsupported, "source jina: no reader is configured").With("source", fallback.Jina).Then("use source auto")
	}
	if !slices.Contains(w.Order, fallback.Jina) {
		return document{}, protocol.Errorf(protocol.Unsupported, "source jina is switched off by fallback.order").
			With("source", fallback.Jina).Then("use source auto, or add jina to fallback.order")
	}
	as, media, kind := reader.HTML, "text/html", command.KindHTML
	switch format {
	case "text":
		as, media, kind = reader.Text, "text/plain", command.KindText
	case "markdown":
		as, media, kind = reader.Markdown, "text/markdown", command.KindText
	}
	var p reader.Page
	err := w.Rest.Guard(ctx, func() (err error) {
		p, err = w.Reader.Read(ctx, url, as)
		return err
	})
	if err != nil {
		return document{}, err
	}
	if _, err := w.CheckURL(ctx, p.URL); err != nil {
		return document{}, err // where the reader was led to
	}
	warning := ""
	if p.Warning != "" {
		warning = "the reader says: " + protocol.Cut(strings.ToValidUTF8(p.Warning, "�"), 200)
	}
	return document{url: p.URL, warning: warning, source: fallback.Jina, status: p.Status, contentType: media, kind: kind, text: strings.ToValidUTF8(p.Content, "�"), title: p.Title}, nil
}
