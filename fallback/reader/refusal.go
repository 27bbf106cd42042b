package reader

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/protocol"
)

// refusal returns the error for the reader's HTTP status. keyed is set if a key was sent.
func refusal(resp *fetch.Response, keyed bool) error {
	var a answer
	_ = json.Unmarshal(resp.Body, &a)
	why := a.ReadableMessage
	if why == "" {
		why = a.Message
	}
	switch resp.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		if !keyed {
			return failed("reader_key", "the reader answers only those with a key").Then("ask the operator to set fallback.jina_api_key, or use source http")
		}
		return failed("reader_key", "the reader does not know the key in fallback.jina_api_key").Then("ask the operator to set fallback.jina_api_key to a valid key")
	case http.StatusPaymentRequired:
		return failed("reader_balance", "the reader's key has no tokens left").Then("ask the operator to fill up the key in fallback.jina_api_key, or use source http")
	case http.StatusConflict:
		return protocol.Errorf(protocol.TooLarge, "the page is above the reader's token budget").With("message", short(why))
	case http.StatusTooManyRequests:
		after := RetryAfter(resp.Header, time.Now())
		e := protocol.Errorf(protocol.RateLimited, "the reader takes no more requests for %d s", after).With("retry_after_s", after)
		if !keyed {
			e.Then("wait details.retry_after_s seconds, or ask the operator to set fallback.jina_api_key, which is allowed more")
		}
		return e
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnavailableForLegalReasons:
		return failed("reader_refused", "the reader cannot read this page").With("status", resp.Status).With("message", short(why))
	}
	return failed("reader_failed", "the reader answers %s", resp.StatusText).With("status", resp.Status).With("message", short(why))
}

// RetryAfter reads Retry-After, seconds or a date (RFC 9110 10.2.3), as whole
// seconds: a minute where it says nothing usable, an hour at most.
func RetryAfter(h http.Header, now time.Time) int {
	v := h.Get("Retry-After")
	n, err := strconv.Atoi(v)
	if at, terr := http.ParseTime(v); err != nil && terr == nil {
		n, err = int(at.Sub(now).Seconds())+1, nil
	}
	if err != nil || n < 0 {
		n = 60
	}
	return min(max(n, 1), 3600)
}

func failed(reason, format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.NavigationFailed, format, args...).With("reason", reason)
}
