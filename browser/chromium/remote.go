package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/browser"

	"github.com/browserd/browserd/browser/cdp"
)

// dialLimit bounds finding and connecting to a Chromium that runs elsewhere.
const dialLimit = 15 * time.Second

// dial connects to the Chromium at cfg.Endpoint.
func dial(ctx context.Context, cfg Config) (*cdp.Conn, browser.GetVersionResult, error) {
	var none browser.GetVersionResult
	if cfg.Disabled {
		_, err := Find(cfg)
		return nil, none, err
	}
	if !cfg.EndpointUnprotected && !cfg.Advertised {
		return nil, none, unavailable("set policy.proxy_advertise, or browser.endpoint_unprotected to true", "browser.endpoint: that Chromium would reach its network without browserd's checks")
	}
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	address, err := debuggerURL(ctx, cfg.Endpoint)
	if err != nil {
		return nil, none, unavailable("start that Chromium, or set browser.endpoint to where it listens", "browser.endpoint: nothing answers at %s: %w", redacted(cfg.Endpoint), withoutURL(err))
	}
	t, err := cdp.Dial(ctx, address)
	if err != nil {
		return nil, none, unavailable("start that Chromium, or set browser.endpoint to where it listens", "browser.endpoint: connecting to %s: %w", redacted(cfg.Endpoint), withoutURL(err))
	}
	conn := cfg.connect(t)
	v, err := version(ctx, conn)
	if err != nil {
		conn.Close()
		return nil, none, unavailable("check that browser.endpoint is a Chromium", "browser.endpoint: %s does not answer as Chromium does: %w", redacted(cfg.Endpoint), err)
	}
	return conn, v, nil
}

// debuggerURL returns the websocket address of the browser at an endpoint: the
// endpoint itself if it has a path, otherwise the address in its /json/version, with
// the host and port that the operator gave (those of the answer may be of the inside
// of a container).
func debuggerURL(ctx context.Context, endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	secure := u.Scheme == "https" || u.Scheme == "wss"
	websocket := u.Scheme == "ws" || u.Scheme == "wss"
	if websocket && strings.Trim(u.Path, "/") != "" {
		return endpoint, nil
	}
	ask := *u
	ask.Scheme, ask.Path = "http", "/json/version"
	if secure {
		ask.Scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ask.String(), nil)
	if err != nil {
		return "", err
	}
	// No proxy, no keep-alive: one question to the operator's own machine.
	t := &http.Transport{DisableKeepAlives: true}
	res, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var answer struct {
		URL string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, res.Body, 1<<20)).Decode(&answer); err != nil || res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("/json/version answered %s", res.Status)
	}
	ws, err := url.Parse(answer.URL)
	if err != nil || ws.Path == "" {
		return "", fmt.Errorf("/json/version names no webSocketDebuggerUrl")
	}
	ws.Scheme, ws.Host, ws.User = "ws", u.Host, u.User
	if secure {
		ws.Scheme = "wss"
	}
	if ws.RawQuery == "" {
		ws.RawQuery = u.RawQuery // a hosted browser's token
	}
	return ws.String(), nil
}

// withoutURL returns an error without the URL of the request, whose query may contain a token.
func withoutURL(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// redacted returns an endpoint without user info, path and query, which may be secret.
func redacted(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "the endpoint"
	}
	return u.Scheme + "://" + u.Host
}
