package actions

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/fallback/reader"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/web/readable"
)

// document is what a source has of a URL.
type document struct {
	url, source, contentType string
	status                   int
	kind                     string // html, json, text or binary
	text                     string // decoded; of a binary body what is said of it
	title                    string // where the source says it
	note                     string // why it is not all there, "" where it is
	warning                  string // what the reader found odd
}

// climb fetches url from the source that is asked for, or, for auto, from one
// after the other: direct HTTP, and Chromium where the page is an empty shell
// or the site refuses; without a Chromium the sources of fallback.order. Every
// try is recorded. Where no source does better, a shell or a refusal is the
// document all the same.
func (w *webCall) climb(ctx context.Context, url, source, format string) (document, []protocol.Attempt, error) {
	steps := w.steps(source, format)
	var attempts []protocol.Attempt
	var best *document
	var worst error
	for i, step := range steps {
		begun := time.Now()
		d, err := w.timed(ctx, step, url, format, len(steps)-1-i)
		a := protocol.Attempt{Source: step, MS: int(time.Since(begun).Milliseconds())}
		if err != nil {
			if ctx.Err() != nil {
				return document{}, nil, context.Cause(ctx)
			}
			a.Error = sentence(err)
			if protocol.CodeOf(err) == protocol.PolicyDenied && step == fallback.HTTP {
				return document{}, nil, err // a redirect that leads where nobody may go
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

// exhausted is the error of a climb that led nowhere: the source's own where one
// was asked for by name.
func exhausted(source string, attempts []protocol.Attempt, err error) error {
	var e *protocol.Error
	if source != session.SourceAuto && errors.As(err, &e) {
		return e.With("attempts", attempts)
	}
	f := protocol.Errorf(protocol.FetchFailed, "no source could fetch it: %s", sentence(err)).With("attempts", attempts)
	if errors.As(err, &e) && e.Next != "" {
		f.Next = e.Next
	}
	return f
}

// steps are the sources to try, in their order.
func (w *Web) steps(source, format string) []string {
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
	case d.source == fallback.HTTP && d.kind == kindHTML && readable.NeedsScript(ctx, d.text):
		return "the page is empty without its script"
	}
	return ""
}

// timed is from with its share of the time that is left: half of it where
// others follow, so that they have some too.
func (w *webCall) timed(ctx context.Context, source, url, format string, others int) (document, error) {
	if end, ok := ctx.Deadline(); ok && others > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	d, err := w.from(ctx, source, url, format)
	if err != nil && errors.Is(err, context.DeadlineExceeded) {
		err = protocol.Errorf(protocol.Timeout, "%s did not answer in its share of the time", source)
	}
	return d, err
}

// from fetches url from one source.
func (w *webCall) from(ctx context.Context, source, url, format string) (document, error) {
	switch source {
	case session.SourceChromium:
		return w.rendered(ctx, url)
	case fallback.Jina:
		return w.read(ctx, url, format)
	}
	return w.direct(ctx, url)
}

// direct is plain HTTP, with its redirects.
func (w *webCall) direct(ctx context.Context, url string) (document, error) {
	r, err := w.client().Do(ctx, fetch.Request{URL: url, Check: w.checkURL, Timeout: MaxTimeout, Header: http.Header{
		"Accept":          {"text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8"},
		"Accept-Language": {"en-US,en;q=0.9"},
	}})
	if err != nil {
		return document{}, err
	}
	d := document{url: r.URL, source: fallback.HTTP, status: r.Status, contentType: r.Header.Get("Content-Type"), note: cutNote(r)}
	d.kind = kindOf(r.Body, d.contentType)
	if d.contentType == "" && len(r.Body) > 0 {
		d.contentType = http.DetectContentType(r.Body)
	}
	if d.kind == kindBinary {
		d.text = binary(r)
		return d, nil
	}
	d.text, _ = fetch.Text(r.Body, r.Header.Get("Content-Type"))
	return d, nil
}

// rendered is the page as Chromium has it when its script has run.
func (w *webCall) rendered(ctx context.Context, url string) (document, error) {
	if w.Render == nil {
		return document{}, protocol.Errorf(protocol.ChromiumUnavailable, "there is no Chromium to render the page")
	}
	p, err := w.Render(ctx, w.domains, url)
	if err != nil {
		return document{}, err
	}
	return document{url: p.URL, source: session.SourceChromium, status: p.Status, contentType: "text/html", kind: kindHTML, text: p.HTML}, nil
}

// read is the page as the reader has it: as HTML, or, where that is what is
// wanted, in the reader's own words, which are fewer.
func (w *webCall) read(ctx context.Context, url, format string) (document, error) {
	if w.Reader == nil {
		return document{}, protocol.Errorf(protocol.Unsupported, "source jina: no reader is configured").With("source", fallback.Jina).Then("use source auto")
	}
	if !slices.Contains(w.Order, fallback.Jina) {
		return document{}, protocol.Errorf(protocol.Unsupported, "source jina is switched off by fallback.order").
			With("source", fallback.Jina).Then("use source auto, or add jina to fallback.order")
	}
	as, media, kind := reader.HTML, "text/html", kindHTML
	switch format {
	case "text":
		as, media, kind = reader.Text, "text/plain", kindText
	case "markdown":
		as, media, kind = reader.Markdown, "text/markdown", kindText
	}
	var p reader.Page
	err := w.Rest.Guard(ctx, func() (err error) {
		p, err = w.Reader.Read(ctx, url, as)
		return err
	})
	if err != nil {
		return document{}, err
	}
	if _, err := w.checkURL(ctx, p.URL); err != nil {
		return document{}, err // where the reader was led to
	}
	warning := ""
	if p.Warning != "" {
		warning = "the reader says: " + cut(strings.ToValidUTF8(p.Warning, "�"), 200)
	}
	return document{url: p.URL, warning: warning, source: fallback.Jina, status: p.Status, contentType: media, kind: kind, text: strings.ToValidUTF8(p.Content, "�"), title: p.Title}, nil
}
