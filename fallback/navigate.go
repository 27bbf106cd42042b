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

// maxRefreshes is how many refreshes in a row are followed.
const maxRefreshes = 5

// Open is OpenFrom auto.
func (p *Page) Open(ctx context.Context, url, wait string) (protocol.Effect, error) {
	return p.OpenFrom(ctx, "auto", url)
}

// OpenFrom loads url: over direct HTTP (http), from the reader (jina), or, for
// auto, over HTTP, and from the reader where the site refuses or its page is an
// empty shell. There is nothing to wait for beyond the document. Errors:
// policy_denied, navigation_failed for a download, unsupported for a source
// that is switched off, and fetch_failed with details.attempts.
func (p *Page) OpenFrom(ctx context.Context, source, url string) (protocol.Effect, error) {
	p.source = source
	checked, err := p.o.Gate.CheckURL(ctx, url)
	if err != nil {
		return protocol.Effect{}, err
	}
	if checked == blank {
		p.leave()
		p.history.now = p.empty()
		p.tried(nil)
		p.history.remember(entry{visit: &visit{source: p.history.now.source, asked: request{method: "GET"}, text: true}}, onwards)
		p.show(p.history.now, address{})
		return protocol.Effect{Navigated: blank, Changed: true}, nil
	}
	to, ok := parseAddress(checked, "")
	if !ok {
		return protocol.Effect{}, protocol.Errorf(protocol.PolicyDenied, "only http, https and about:blank are opened").With("reason", "scheme")
	}
	return p.navigate(ctx, request{method: http.MethodGet, to: to}, source, onwards)
}

// navigate goes where r says: within the document where only the fragment
// differs, else to the document that the sources give; refreshes that follow at
// once belong to it. It becomes the step of the history at place. The page stays
// where it is when that fails.
func (p *Page) navigate(ctx context.Context, r request, source string, place int) (protocol.Effect, error) {
	if d := p.history.now; d != nil && !r.rereads && r.method == http.MethodGet && r.to.fragment != "" && r.to.request() == d.at.request() {
		h := &p.history
		if r.to == h.entries[h.at].at {
			place = h.at
		}
		h.remember(entry{visit: h.entries[h.at].visit, at: r.to}, place)
		p.show(d, r.to)
		return protocol.Effect{Navigated: r.to.String()}, nil
	}
	for refreshes := 0; ; refreshes++ {
		got, err := p.climb(ctx, r, source)
		var saved *download
		switch {
		case errors.Is(err, errNoContent):
			return protocol.Effect{}, nil
		case errors.As(err, &saved):
			return protocol.Effect{Downloads: []string{saved.name}}, err
		case err != nil:
			return protocol.Effect{}, err
		}
		d, err := p.load(ctx, got)
		if err != nil {
			return protocol.Effect{}, err
		}
		p.leave()
		p.history.now = d
		p.history.remember(entry{&visit{source: got, asked: r, text: true}, got.at}, place)
		p.show(d, got.at)
		to, ok := d.refresh()
		if !ok || to.request() == got.at.request() || refreshes == maxRefreshes {
			return protocol.Effect{Navigated: got.at.String(), Changed: true}, nil
		}
		r, place = request{method: http.MethodGet, to: to, from: d.at, policy: d.policy}, p.history.at
	}
}

// follow is navigate for what a person clicked: a download is no failure, and
// the element that was hit is told.
func (p *Page) follow(ctx context.Context, r request, hit string) (protocol.Effect, error) {
	e, err := p.navigate(ctx, r, p.source, onwards)
	e.Hit = hit
	if saved := (*download)(nil); errors.As(err, &saved) {
		return e, nil
	}
	return e, err
}

// climb gets a document from the first source that has it. Each attempt is kept.
func (p *Page) climb(ctx context.Context, r request, from string) (source, error) {
	tried := p.o.Tried
	p.o.Tried = nil
	defer func() { p.tried(tried) }()
	steps, err := p.o.Ladder.steps(from)
	if err != nil {
		return source{}, err
	}
	if r.method != http.MethodGet {
		steps = []string{HTTP} // the reader sends no forms
	}
	var best error
	var second *source // what came of a source that there may be a better one for
	for i, step := range steps {
		if step == Jina && len(steps) > 1 && p.o.Gate.Public(ctx, r.to.request()) != nil {
			continue
		}
		begin := time.Now()
		got, err := p.step(ctx, step, r, i+1 < len(steps))
		a := protocol.Attempt{Source: step, MS: int(time.Since(begin).Milliseconds())}
		if err == nil {
			if why := got.wanting(ctx); why != "" && i+1 < len(steps) {
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
			best = err // direct HTTP comes first, and says most about the site
		}
	}
	if second != nil {
		return *second, nil
	}
	return source{}, failedAll(best, tried)
}

// step gets a document from one source. Where others come after it, it may take
// half of the time that is left.
func (p *Page) step(ctx context.Context, step string, r request, more bool) (source, error) {
	if end, ok := ctx.Deadline(); ok && more {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Until(end)/2, errSlow)
		defer cancel()
	}
	if step == HTTP {
		got, err := p.exchange(ctx, r)
		if err != nil {
			return source{}, err
		}
		return documentOf(got)
	}
	text, url, err := p.o.Ladder.read(ctx, p.o.Gate, r.to.request())
	if err != nil {
		return source{}, err
	}
	at := r.to
	checked, err := p.o.Gate.CheckURL(ctx, url)
	if err != nil {
		return source{}, err // where the reader was led to
	}
	if to, ok := parseAddress(checked, ""); ok {
		at = to
		at.fragment = r.to.fragment
	}
	return source{at: at, text: text, charset: "utf-8", status: http.StatusOK, name: Jina, header: http.Header{}}, nil
}

var errSlow = protocol.Errorf(protocol.Timeout, "it took too long, and another source was tried")

// tried keeps the attempts for the answer.
func (p *Page) tried(list []protocol.Attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attempts = list
}

// wanting says why another source may do better: the site refuses this one, or
// the page is an empty shell.
func (s *source) wanting(ctx context.Context) string {
	switch s.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return "the site refuses: HTTP " + http.StatusText(s.status)
	}
	if isShell(ctx, s.text) {
		return "the page is an empty shell that needs script"
	}
	return ""
}

var errNoContent = errors.New("the answer has no content")

// download is the error of an answer that is a file and no page.
type download struct {
	err  *protocol.Error // as it leaves the daemon
	name string
}

func (d *download) Error() string { return d.err.Error() }
func (d *download) Unwrap() error { return d.err }

// documentOf makes the document that a browser would show of an answer.
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

// final says whether an error is the answer, whatever other sources there are.
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

func sentence(err error) string {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// failedAll is the error of a document that no source gave: the best one, with
// all attempts.
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
