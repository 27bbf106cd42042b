package fallback

import (
	"context"
	"errors"
	"html"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// maxRefreshes is how many refreshes one navigation follows.
const maxRefreshes = 5

// maxURL is how many characters of the address of a failed request are told.
const maxURL = 500

// Open is OpenFrom with source auto.
func (p *Page) Open(ctx context.Context, url, wait string) (protocol.Effect, error) {
	return p.OpenFrom(ctx, "auto", url)
}

// OpenFrom loads url over direct HTTP (source http), from the reader (jina), or (auto)
// over HTTP first, and from the reader if the site refuses or its page is empty without
// script. It returns when the document is loaded. Errors: policy_denied,
// navigation_failed for a download, unsupported for a source that is switched off, and
// fetch_failed with details.attempts.
func (p *Page) OpenFrom(ctx context.Context, source, url string) (protocol.Effect, error) {
	p.source = source
	checked, err := p.o.Gate.CheckURL(ctx, url)
	if err != nil {
		return protocol.Effect{}, err
	}
	if checked == blank {
		p.leave()
		p.history.now = p.empty()
		p.setAttempts(nil)
		p.history.put(entry{visit: &visit{source: p.history.now.source, asked: request{method: "GET"}, text: true}}, appendEntry)
		p.show(p.history.now, address{})
		return protocol.Effect{Navigated: blank, Changed: true}, nil
	}
	to, ok := parseAddress(checked, "")
	if !ok {
		return protocol.Effect{}, protocol.Errorf(protocol.PolicyDenied, "only http, https and about:blank are opened").With("reason", "scheme")
	}
	return p.navigate(ctx, request{method: http.MethodGet, to: to}, source, appendEntry)
}

// navigate goes to r.to: within the document if only the fragment differs, else to a new
// document from one of the sources. It follows refreshes that happen at once. The
// document becomes the history entry at place. If navigate fails, the page stays on its
// document.
func (p *Page) navigate(ctx context.Context, r request, source string, place int) (protocol.Effect, error) {
	if d := p.history.now; d != nil && !r.reload && r.method == http.MethodGet && r.to.fragment != "" && r.to.request() == d.at.request() {
		h := &p.history
		if r.to == h.entries[h.at].at {
			place = h.at
		}
		h.put(entry{visit: h.entries[h.at].visit, at: r.to}, place)
		p.show(d, r.to)
		return protocol.Effect{Navigated: r.to.String()}, nil
	}
	for refreshes := 0; ; refreshes++ {
		got, err := p.fetchDocument(ctx, r, source)
		var saved *download
		switch {
		case errors.Is(err, errNoContent):
			return protocol.Effect{}, nil
		case errors.As(err, &saved):
			return protocol.Effect{Reports: protocol.Reports{DownloadsDenied: []protocol.DeniedDownload{{Name: saved.name, Why: noFiles}}}}, err
		case err != nil:
			return protocol.Effect{}, err
		}
		d, err := p.load(ctx, got)
		if err != nil {
			return protocol.Effect{}, err
		}
		p.leave()
		p.history.now = d
		p.history.put(entry{&visit{source: got, asked: r, text: true}, got.at}, place)
		p.show(d, got.at)
		to, ok := d.refresh()
		if !ok || to.request() == got.at.request() || refreshes == maxRefreshes {
			e := protocol.Effect{Navigated: got.at.String(), Changed: true}
			if got.status >= http.StatusBadRequest {
				e.RequestsFailed = []protocol.FailedRequest{{Method: r.method, URL: snapshot.Cut(protocol.MaskURL(got.at.request()), maxURL), Status: got.status}}
			}
			return e, nil
		}
		r, place = request{method: http.MethodGet, to: to, from: d.at, policy: d.policy}, p.history.at
	}
}

// follow is navigate for a click: a download is not an error, and the effect has the ref
// of the element clicked.
func (p *Page) follow(ctx context.Context, r request, hit string) (protocol.Effect, error) {
	e, err := p.navigate(ctx, r, p.source, appendEntry)
	e.Hit = hit
	if saved := (*download)(nil); errors.As(err, &saved) {
		return e, nil
	}
	return e, err
}

// fetchDocument returns the document of the first source that has it. Attempts returns
// each attempt.
func (p *Page) fetchDocument(ctx context.Context, r request, from string) (source, error) {
	tried := p.o.Tried
	p.o.Tried = nil
	defer func() { p.setAttempts(tried) }()
	order, err := p.o.Sources.order(from)
	if err != nil {
		return source{}, err
	}
	if r.method != http.MethodGet {
		order = []string{HTTP} // the reader sends no forms
	}
	var best error
	var second *source // an incomplete document, for when no source has a better one
	for i, name := range order {
		if name == Jina && len(order) > 1 && p.o.Gate.Public(ctx, r.to.request()) != nil {
			continue
		}
		begin := time.Now()
		got, err := p.fetchFrom(ctx, name, r, i+1 < len(order))
		a := protocol.Attempt{Source: name, MS: int(time.Since(begin).Milliseconds())}
		if err == nil {
			if why := got.incomplete(ctx); why != "" && i+1 < len(order) {
				a.Error, second = why, &got
				tried = append(tried, a)
				continue
			}
			tried = append(tried, a)
			return got, nil
		}
		a.Error = sentence(err)
		tried = append(tried, a)
		if ctx.Err() != nil || final(err) {
			return source{}, err
		}
		if best == nil {
			best = err // that of direct HTTP, which comes first and says most about the site
		}
	}
	if second != nil {
		return *second, nil
	}
	return source{}, failedAll(best, tried)
}

// fetchFrom returns a document from one source. If more sources come after it, it has
// half of the time that is left.
func (p *Page) fetchFrom(ctx context.Context, name string, r request, more bool) (source, error) {
	if end, ok := ctx.Deadline(); ok && more {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Until(end)/2, errSlow)
		defer cancel()
	}
	if name == HTTP {
		got, err := p.exchange(ctx, r)
		if err != nil {
			return source{}, err
		}
		if readPDF := p.o.Sources.ReadPDF; readPDF != nil && isPDF(got) {
			text, err := readPDF(ctx, got.body)
			return source{at: got.at, text: text, charset: "utf-8", status: got.status, name: HTTP, header: http.Header{}, pdf: true}, err
		}
		return documentOf(got)
	}
	text, url, err := p.o.Sources.read(ctx, p.o.Gate, r.to.request())
	if err != nil {
		return source{}, err
	}
	at := r.to
	checked, err := p.o.Gate.CheckURL(ctx, url)
	if err != nil {
		return source{}, err // the policy denies the URL that the reader was redirected to
	}
	if to, ok := parseAddress(checked, ""); ok {
		at = to
		at.fragment = r.to.fragment
	}
	return source{at: at, text: text, charset: "utf-8", status: http.StatusOK, name: Jina, header: http.Header{}}, nil
}

var errSlow = protocol.Errorf(protocol.Timeout, "it took too long; another source was tried")

// setAttempts records the attempts for Attempts.
func (p *Page) setAttempts(list []protocol.Attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attempts = list
}

// incomplete returns why another source may have a better document: the site refuses
// this one, or the page is empty without script. It returns "" if neither is so.
func (s *source) incomplete(ctx context.Context) string {
	switch s.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return "the site refuses: HTTP " + http.StatusText(s.status)
	}
	if isEmptyPage(ctx, s.text) {
		return "the page is an empty shell that needs script"
	}
	return ""
}

var errNoContent = errors.New("the answer has no content")

// download is the error of a response that is a file instead of a page.
type download struct {
	err  *protocol.Error // what the client gets
	name string
}

func (d *download) Error() string { return d.err.Error() }
func (d *download) Unwrap() error { return d.err }

// isPDF reports whether a response is a PDF.
func isPDF(got *answer) bool {
	media, _ := fetch.MediaType(got.header.Get("Content-Type"))
	if media == "" {
		media, _ = fetch.MediaType(http.DetectContentType(got.body))
	}
	return len(got.body) > 0 && (media == protocol.TypePDF || media == "application/x-pdf")
}

// documentOf returns the document that a browser would show of a response. Text and JSON
// are shown in a pre element.
func documentOf(got *answer) (source, error) {
	if got.status == http.StatusNoContent || got.status == http.StatusResetContent {
		return source{}, errNoContent
	}
	contentType := got.header.Get("Content-Type")
	media, _ := fetch.MediaType(contentType)
	if media == "" {
		media, _ = fetch.MediaType(http.DetectContentType(got.body))
	}
	disposition, params, _ := mime.ParseMediaType(got.header.Get("Content-Disposition"))
	s := source{at: got.at, status: got.status, name: HTTP, header: got.header}
	switch {
	case strings.EqualFold(disposition, "attachment"):
	case media == "text/html" || media == "application/xhtml+xml":
		s.text, s.charset = fetch.Text(got.body, contentType)
		return s, nil
	case strings.HasPrefix(media, "text/"), media == "application/json", media == "application/xml", media == "application/javascript",
		strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "+xml") && media != "image/svg+xml":
		s.text, s.charset = fetch.Text(got.body, contentType)
		s.text = "<!DOCTYPE html><html><head></head><body><pre>" + html.EscapeString(s.text) + "</pre></body></html>"
		return s, nil
	case len(got.body) == 0:
		s.charset = "utf-8"
		return s, nil
	}
	name := params["filename"]
	if name == "" {
		name = path.Base(got.at.path)
	}
	return source{}, &download{protocol.Errorf(protocol.NavigationFailed, "the address answered with a download (%s), not with a page", snapshot.Cut(media, 60)).
		With("reason", "download"), snapshot.Cut(name, 200)}
}

// final reports whether no other source is tried after this error.
func final(err error) bool {
	if errors.Is(err, errNoContent) {
		return true
	}
	if d := (*download)(nil); errors.As(err, &d) {
		return true
	}
	switch protocol.CodeOf(err) {
	case protocol.PolicyDenied, protocol.InvalidParams, protocol.Unsupported, protocol.Cancelled, protocol.ShuttingDown, protocol.SessionNotFound, protocol.Internal:
		return true
	}
	return false
}

// sentence returns the message of an error without its code.
func sentence(err error) string {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// failedAll returns the error for a document that no source has: the most useful one, with
// all attempts in its details.
func failedAll(best error, tried []protocol.Attempt) error {
	var e *protocol.Error
	if !errors.As(best, &e) {
		return best
	}
	all := protocol.Errorf(protocol.FetchFailed, "%s", e.Message).With("attempts", tried)
	all.Cause, all.Next = e, e.Next
	for k, v := range e.Details {
		all.With(k, v)
	}
	return all
}

// noFiles is why a download is denied.
const noFiles = "a session without Chromium keeps no files"
