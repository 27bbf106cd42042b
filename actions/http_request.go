package actions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/secret"
	"github.com/browserd/browserd/web/readable"
)

// HTTPRequest is the command http_request.
var HTTPRequest = command.Define(command.Row{
	Name: "http_request", Summary: "Sends one HTTP request and shows the answer. It follows a redirect only with follow.", Main: "url",
	Flags:   command.Static | command.NoSession | command.Offline,
	Price:   ledger.PerRequest,
	Prepare: prepareHTTPRequest,
	Examples: []command.Example{
		{For: "Posts JSON", Params: `{"url": "https://shop.example/api/orders", "method": "POST", "body": {"item": "bread"}}`},
		{For: "Follows up to three redirects, and shows what lies behind the first 1,000 characters", Params: `{"url": "https://shop.example/old-prices", "method": "get", "follow": 3, "offset": 1000}`},
	},
}, httpRequest)

// HTTPRequestParams are the parameters of http_request.
type HTTPRequestParams struct {
	URL         string            `json:"url" required:"true" doc:"an http or https URL"`
	Method      string            `json:"method" default:"GET" fold:"upper" enum:"GET,POST,PUT,PATCH,DELETE,HEAD" doc:"the method"`
	Headers     map[string]string `json:"headers" doc:"sent as they are, and to no other origin where a redirect leads to one; those of the connection, Host and Proxy-* are refused"`
	Body        json.RawMessage   `json:"body" takes:"string,object,array,number,boolean" doc:"a string is sent as it is, anything else as JSON"`
	Follow      int               `json:"follow" default:"0" min:"0" max:"20" doc:"how many redirects to follow; each address is checked as url is, and 0 shows the redirect itself"`
	Offset      int               `json:"offset" default:"0" min:"0" doc:"characters of content to begin after: the next_offset of the last answer"`
	TimeoutSecs int               `json:"timeout_secs" default:"30" min:"1" max:"120" doc:"seconds for the whole exchange; timeout_ms grows with it, and a smaller timeout_ms alone holds"`
	Extract     string            `json:"extract" doc:"what you want to know of a long answer, in words: a small model reads it for you"`
	MaxChars    int               `json:"max_chars" default:"1000000" min:"1" max:"1048576" doc:"characters of content"`
}

// HTTPRequestResult is the answer of http_request. 3xx, 4xx and 5xx are
// answers too.
type HTTPRequestResult struct {
	OK bool `json:"ok"` // 2xx
	// URL is where the answer came from, where redirects were followed.
	URL        string         `json:"url,omitempty"`
	Redirects  []HTTPRedirect `json:"redirects,omitempty"` // those that were followed, in order
	Status     int            `json:"status"`
	StatusLine string         `json:"status_line"`
	// Headers are the first 20, those that say most before the others.
	Headers        map[string]string `json:"headers"`
	HeadersOmitted int               `json:"headers_omitted,omitempty"`
	Content        string            `json:"content"`
	ContentType    string            `json:"content_type,omitempty"`
	Bytes          int               `json:"bytes"` // of the body, as far as it was read
	Truncated      bool              `json:"truncated"`
	NextOffset     int               `json:"next_offset,omitempty"`
	Extracted      bool              `json:"extracted,omitempty"` // content is a model's answer
	Note           string            `json:"note,omitempty"`
}

// HTTPRedirect is one redirect: the address that answered with it, and its status.
type HTTPRedirect struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
}

func (r HTTPRequestResult) Audit(e *ledger.Entry) {
	e.Status, e.Source, e.Bytes = r.Status, fallback.HTTP, int64(len(r.Content))
}

// maxBody is how much of an answer is read.
const maxBody = 1 << 20

// prepareHTTPRequest lets timeout_secs reach as far as it says.
func prepareHTTPRequest(c *command.Call) error {
	p := c.Params.(*HTTPRequestParams)
	if standard := int(command.DefaultTimeout.Seconds()); p.TimeoutSecs == standard && c.Common.TimeoutMS < standard*1000 {
		return c.LimitDomains() // only timeout_ms was given: it holds
	}
	c.Common.TimeoutMS = min(max(c.Common.TimeoutMS, p.TimeoutSecs*1000+1000), int(command.MaxTimeout.Milliseconds()))
	return c.LimitDomains()
}

func httpRequest(ctx context.Context, c *command.Call, p *HTTPRequestParams) (HTTPRequestResult, error) {
	w, err := c.Web()
	if err != nil {
		return HTTPRequestResult{}, err
	}
	headers, given, secrets, err := revealed(ctx, c, p)
	if err != nil {
		return HTTPRequestResult{}, err
	}
	h, err := command.RequestHeader(headers, command.ConnectionHeaders)
	if err != nil {
		return HTTPRequestResult{}, err
	}
	check := sameHostIfAsked(c, p.URL, w.CheckURL)
	if secrets {
		check = sameOriginOnly(p.URL, check)
	}
	client, err := w.Client()
	if err != nil {
		return HTTPRequestResult{}, err
	}
	resp, err := client.Do(ctx, fetch.Request{
		Method: p.Method, URL: p.URL, Header: h, Body: requestBody(given, h), Check: check,
		MaxBytes: maxBody, MaxRedirects: cmp.Or(p.Follow, -1), Timeout: time.Duration(p.TimeoutSecs) * time.Second,
	})
	if err != nil {
		return HTTPRequestResult{}, err
	}
	r := HTTPRequestResult{
		OK: resp.Status >= 200 && resp.Status < 300, Status: resp.Status, StatusLine: resp.Proto + " " + resp.StatusText,
		ContentType: resp.Header.Get("Content-Type"), Bytes: len(resp.Body), Truncated: resp.Truncated, Note: command.CutNote(resp),
	}
	for _, hop := range resp.Hops {
		r.URL = resp.URL
		r.Redirects = append(r.Redirects, HTTPRedirect{hop.URL, hop.Status})
	}
	r.Headers, r.HeadersOmitted = firstHeaders(resp.Header, func(value string) string { return c.Runtime.Secrets.RedactText(c.Caller.Agent, value) })
	if len(resp.Body) == 0 {
		return r, nil
	}
	kind := command.KindOf(resp.Body, r.ContentType)
	if kind == command.KindBinary || kind == command.KindPDF {
		r.Content, _ = part(command.DescribeBinary(resp), 0, p.MaxChars)
		return r, nil
	}
	text, _ := fetch.Text(resp.Body, r.ContentType)
	if kind == command.KindHTML && w.Config.StripThresholdKB > 0 {
		text = readable.Strip(ctx, text)
		if err := ctx.Err(); err != nil {
			return HTTPRequestResult{}, err
		}
	}
	f, err := w.Truncate(ctx, after(c.Runtime.Secrets.RedactCut(c.Caller.Agent, text, resp.Truncated), p.Offset), kind != command.KindHTML, p.Extract)
	if err != nil {
		return HTTPRequestResult{}, err
	}
	shown := 0
	if r.Content, shown = part(f.Text, 0, p.MaxChars); shown == 0 && f.Cut {
		shown = utf8.RuneCountInString(f.Text)
	}
	if shown != 0 && !f.Model {
		r.NextOffset = p.Offset + shown
	}
	r.Truncated = r.Truncated || shown != 0
	r.Extracted = f.Model
	r.Note = joined(r.Note, f.Note)
	return r, nil
}

// sameHostIfAsked is check, and where an operator is asked about the request it lets no
// redirect lead to another host than the one of which he was told.
func sameHostIfAsked(c *command.Call, first string, check func(context.Context, string) (string, error)) func(context.Context, string) (string, error) {
	if !command.Supervised(c) {
		return check
	}
	return func(ctx context.Context, url string) (string, error) {
		if policy.Origin(url) != policy.Origin(first) {
			return "", protocol.Errorf(protocol.ConfirmationDenied, "%s was allowed for %s, and is redirected to %s", c.Command.Name, policy.Origin(first), policy.Origin(url)).
				With("reason", "moved").With("command", c.Command.Name).Then("send a request of its own to that address")
		}
		return check(ctx, url)
	}
}

// revealed returns the request's headers and body with the values of the secrets that they name,
// and whether there are any. They are given to the origin of the request's address.
func revealed(ctx context.Context, c *command.Call, p *HTTPRequestParams) (headers map[string]string, body json.RawMessage, secrets bool, err error) {
	names := secret.Names(string(p.Body))
	for _, value := range p.Headers {
		names = append(names, secret.Names(value)...)
	}
	if len(names) == 0 {
		return p.Headers, p.Body, false, nil
	}
	values, err := c.Runtime.Secrets.Give(ctx, c.Caller.Agent, policy.Origin(p.URL), names)
	if err != nil {
		return nil, nil, false, err
	}
	headers = map[string]string{}
	for name, value := range p.Headers {
		headers[name] = secret.Substitute(value, values)
	}
	inJSON := map[string]string{}
	for name, value := range values {
		quoted, err := json.Marshal(value)
		if err != nil {
			return nil, nil, false, err
		}
		inJSON[name] = string(quoted[1 : len(quoted)-1])
	}
	return headers, json.RawMessage(secret.Substitute(string(p.Body), inJSON)), true, nil
}

// sameOriginOnly is check, and refuses a redirect of a request with secrets to another origin.
func sameOriginOnly(first string, check func(context.Context, string) (string, error)) func(context.Context, string) (string, error) {
	return func(ctx context.Context, url string) (string, error) {
		if policy.Origin(url) != policy.Origin(first) {
			return "", protocol.Errorf(protocol.SecretDenied, "the request has a secret for %s, and is redirected to %s", policy.Origin(first), policy.Origin(url)).
				With("reason", "origin").With("origin", policy.Origin(url)).Then("send a request of its own to that address, without the secret")
		}
		return check(ctx, url)
	}
}

// requestBody returns the body as it is sent; its type is said where h says none.
func requestBody(raw json.RawMessage, h http.Header) []byte {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	var text string
	body, kind := []byte(raw), "application/json"
	if json.Unmarshal(raw, &text) == nil {
		body, kind = []byte(text), "text/plain; charset=utf-8"
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", kind)
	}
	return body
}

// maxHeaders are how many headers of an answer are shown, and telling those
// that are shown whatever there is beside them.
const maxHeaders = 20

var telling = []string{"Location", "Content-Type", "Content-Length", "Content-Encoding", "Retry-After", "Www-Authenticate", "Allow", "Etag", "Last-Modified", "Link", "Date", "Server"}

// maxHeaderValue is the longest value that is shown, in characters.
const maxHeaderValue = 2000

func firstHeaders(h http.Header, redact func(string) string) (map[string]string, int) {
	names := []string{}
	for name := range h {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		ia, ib := slices.Index(telling, a), slices.Index(telling, b)
		if ia >= 0 && ib >= 0 {
			return ia - ib
		}
		if ia != ib {
			return ib - ia // one of them is telling, the other -1
		}
		return strings.Compare(a, b)
	})
	shown := map[string]string{}
	for _, name := range names[:min(len(names), maxHeaders)] {
		shown[name] = protocol.Cut(redact(strings.ToValidUTF8(strings.Join(h[name], ", "), "�")), maxHeaderValue)
	}
	return shown, max(0, len(names)-maxHeaders)
}
