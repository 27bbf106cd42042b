package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"
)

// challengeWithin is how long the proxy's challenge may take; it takes milliseconds.
const challengeWithin = 10 * time.Second

// AnswerChallenge has a browser context learn the credentials of its egress proxy: the
// page requests url, which the proxy itself answers, and the one challenge is answered by
// CDP (Fetch.authRequired). From then on Chromium sends the credentials by itself with
// every new connection of the whole context: of its other pages, workers and service
// workers too. Call it before the page is a session's, and let nobody else continue its
// requests meanwhile: told to go on a second time while a request waits for the
// credentials, Chromium accepts none for it any more.
func AnswerChallenge(ctx context.Context, s *cdp.Session, url, user, secret string) error {
	ctx, cancel := context.WithTimeout(ctx, challengeWithin)
	defer cancel()
	yes := true
	paused, stop := s.Subscribe("Fetch.requestPaused")
	defer stop()
	asked, stop := s.Subscribe("Fetch.authRequired")
	defer stop()
	s.Send(fetch.Enable.Method, fetch.EnableParams{
		Patterns: []*fetch.RequestPattern{{URLPattern: url + "*"}}, HandleAuthRequests: &yes,
	})
	defer s.Send("Fetch.disable", cdproto.Empty{})
	loaded := s.Send(runtime.Evaluate.Method, runtime.EvaluateParams{
		Expression: fmt.Sprintf("fetch(%q,{cache:'no-store'}).then(r=>r.status)", url), AwaitPromise: &yes, ReturnByValue: &yes,
	})
	done := make(chan error, 1) // one send
	var got struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		ExceptionDetails json.RawMessage `json:"exceptionDetails"`
	}
	go func() { done <- loaded.Wait(ctx, &got) }()
	for challenges := 0; ; {
		var e struct {
			RequestID fetch.RequestID `json:"requestId"`
		}
		select {
		case v := <-paused:
			if json.Unmarshal(v, &e) == nil {
				s.Send(fetch.ContinueRequest.Method, fetch.ContinueRequestParams{RequestID: e.RequestID})
			}
		case v := <-asked:
			if json.Unmarshal(v, &e) != nil {
				continue
			}
			answer := fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: user, Password: secret}
			if challenges++; challenges > 1 {
				answer = fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
			}
			s.Send(fetch.ContinueWithAuth.Method, fetch.ContinueWithAuthParams{RequestID: e.RequestID, AuthChallengeResponse: &answer})
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
