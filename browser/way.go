package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// Way is a context's egress: its session's own proxy (policy.SessionProxy). Its
// methods may be called by any goroutine and do not wait.
type Way interface {
	// ProxyServer is the address that Chromium is given for the context.
	ProxyServer() string
	// Credentials answer the proxy's challenge.
	Credentials() (user, secret string)
	// Failure says why the last connection to host:port since then came to
	// nothing; nil where none failed.
	Failure(hostPort string, since time.Time) error
	// Refused counts the connections that were not made.
	Refused() int
	// Bind makes it a session's: until then nothing passes but the challenge.
	Bind(gate policy.Dialer, name string, onRefused func(policy.Refusal))
	Close()
}

// refused counts what the egress proxy has refused the context so far.
func (c *Context) refused() int {
	if c.way == nil {
		return 0
	}
	return c.way.Refused()
}

// primeWithin is how long the proxy's challenge may take; it takes milliseconds.
const primeWithin = 10 * time.Second

// prime lets the context learn its proxy's secret: the page asks for one
// address that the proxy itself answers, and the one challenge is answered by
// CDP (Fetch.authRequired). From then on Chromium sends the secret by itself
// with every new connection of the whole context: of its other pages, workers
// and service workers too. It is done before the page is anybody's.
func (t *tab) prime(ctx context.Context, w Way) error {
	ctx, cancel := context.WithTimeout(ctx, primeWithin)
	defer cancel()
	// The request is continued here alone: told to go on a second time while it
	// waits for the secret, Chromium takes no secret for it any more.
	t.priming.Store(true)
	defer t.priming.Store(false)
	paused, stop := t.cdp.Subscribe("Fetch.requestPaused")
	defer stop()
	asked, stop := t.cdp.Subscribe("Fetch.authRequired")
	defer stop()
	t.cdp.Send(fetch.Enable.Method, fetch.EnableParams{
		Patterns: []*fetch.RequestPattern{{URLPattern: policy.PrimeURL + "*"}}, HandleAuthRequests: ptr(true),
	})
	defer t.cdp.Send("Fetch.disable", cdproto.Empty{})
	loaded := t.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{
		Expression: fmt.Sprintf("fetch(%q,{cache:'no-store'}).then(r=>r.status)", policy.PrimeURL), AwaitPromise: ptr(true), ReturnByValue: ptr(true),
	})
	done := make(chan error, 1) // one send
	var got evaluated
	go func() { done <- loaded.Wait(ctx, &got) }()
	user, secret := w.Credentials()
	for challenges := 0; ; {
		var e struct {
			RequestID fetch.RequestID `json:"requestId"`
		}
		select {
		case v := <-paused:
			if json.Unmarshal(v, &e) == nil {
				t.cdp.Send(fetch.ContinueRequest.Method, fetch.ContinueRequestParams{RequestID: e.RequestID})
			}
		case v := <-asked:
			if json.Unmarshal(v, &e) != nil {
				continue
			}
			answer := fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: user, Password: secret}
			if challenges++; challenges > 1 {
				answer = fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
			}
			t.cdp.Send(fetch.ContinueWithAuth.Method, fetch.ContinueWithAuthParams{RequestID: e.RequestID, AuthChallengeResponse: &answer})
		case err := <-done:
			switch {
			case err != nil:
				return fmt.Errorf("the egress proxy's challenge: %w", err)
			case got.ExceptionDetails != nil || string(got.Result.Value) != "204":
				return errors.New("the egress proxy did not take the session's secret")
			}
			return nil
		}
	}
}

// notLoaded is the error of a navigation that Chromium says has failed for that
// reason: where the egress proxy did not make the connection, the proxy's own
// error, which knows more.
func (n *navigation) notLoaded(reason string, since time.Time) *protocol.Error {
	c := n.t.c
	c.mu.Lock()
	going := n.going
	c.mu.Unlock()
	u, err := url.Parse(going)
	if c.way == nil || err != nil {
		return navigationFailed(reason)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	var refused *protocol.Error
	if errors.As(c.way.Failure(net.JoinHostPort(u.Hostname(), port), since), &refused) {
		e := *refused
		e.Details = maps.Clone(refused.Details) // the proxy keeps its own
		return &e
	}
	return navigationFailed(reason)
}
