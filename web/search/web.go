package search

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/fallback/reader"
	"github.com/browserd/browserd/protocol"
)

// web sends the requests of the providers.
type web struct {
	client *fetch.Client
	check  func(ctx context.Context, url string) (string, error)
}

// maxAnswer is the longest response of a provider, in bytes.
const maxAnswer = 4 << 20

// ask sends one request and returns the body of a 200. refused, if not nil, returns the
// error for statuses that the provider gives a meaning of its own.
func (w web) ask(ctx context.Context, name string, r fetch.Request, refused func(status int, body []byte) *protocol.Error) ([]byte, error) {
	r.Check, r.MaxBytes, r.MaxRedirects, r.Timeout = w.check, maxAnswer, -1, 15*time.Second
	resp, err := w.client.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	if resp.Status == http.StatusOK && !resp.Truncated {
		return resp.Body, nil
	}
	if refused != nil {
		if e := refused(resp.Status, resp.Body); e != nil {
			return nil, e
		}
	}
	switch resp.Status {
	case http.StatusOK:
		return nil, failed(name, "answer", "%s's answer breaks off", name)
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, failed(name, "key", "%s does not know the key", name)
	case http.StatusPaymentRequired:
		return nil, failed(name, "balance", "the key of %s has nothing left", name)
	case http.StatusTooManyRequests:
		return nil, busy(name, reader.RetryAfter(resp.Header, time.Now()))
	}
	return nil, failed(name, "status", "%s answers %s", name, resp.StatusText)
}

// read is ask with a JSON response.
func (w web) read(ctx context.Context, name string, r fetch.Request, into any, refused func(int, []byte) *protocol.Error) error {
	r.Header.Set("Accept", "application/json")
	body, err := w.ask(ctx, name, r, refused)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return failed(name, "answer", "%s's answer is not the JSON that it documents", name)
	}
	return nil
}

// posted returns a request with a JSON body.
func posted(url string, h http.Header, body map[string]any) fetch.Request {
	raw, _ := json.Marshal(body)
	h.Set("Content-Type", "application/json")
	return fetch.Request{Method: http.MethodPost, URL: url, Header: h, Body: raw}
}

func failed(name, reason, format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.NavigationFailed, format, args...).With("provider", name).With("reason", "search_"+reason)
}

func busy(name string, after int) *protocol.Error {
	return protocol.Errorf(protocol.RateLimited, "%s takes no more queries for %d s", name, after).With("provider", name).With("retry_after_s", after)
}

// plain returns text without the markup of matches, with single blanks, cut at n
// characters.
func plain(s string, n int) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			s = strings.Join(strings.Fields(b.String()), " ")
			if r := []rune(s); len(r) > n {
				s = string(r[:n-1]) + "…"
			}
			return strings.ToValidUTF8(s, "�")
		case html.TextToken:
			b.Write(z.Text())
		}
	}
}
