package network

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	cdpnetwork "github.com/chromedp/cdproto/network"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// exchange is an entry of the network as it is put together from events.
type exchange struct {
	protocol.Exchange
	request cdpnetwork.RequestID
	cdp     *cdp.Session
	begun   float64 // monotonic seconds
	last    int     // the number of its newest event
	plain   bool    // answered without the network's own account of its headers
	moved   bool    // the answer was a redirect, and has no body that is kept
}

// Of the events of the network, what browserd needs.
type (
	netRequest struct {
		URL         string            `json:"url"`
		Method      string            `json:"method"`
		Headers     map[string]string `json:"headers"`
		PostData    string            `json:"postData"`
		HasPostData bool              `json:"hasPostData"`
	}
	netResponse struct {
		Status            int               `json:"status"`
		StatusText        string            `json:"statusText"`
		Headers           map[string]string `json:"headers"`
		MimeType          string            `json:"mimeType"`
		Protocol          string            `json:"protocol"`
		RemoteIPAddress   string            `json:"remoteIPAddress"`
		FromDiskCache     bool              `json:"fromDiskCache"`
		FromPrefetchCache bool              `json:"fromPrefetchCache"`
		EncodedDataLength float64           `json:"encodedDataLength"`
	}
	netParams struct {
		RequestID         cdpnetwork.RequestID `json:"requestId"`
		Timestamp         float64              `json:"timestamp"`
		WallTime          float64              `json:"wallTime"`
		Type              string               `json:"type"`
		Request           netRequest           `json:"request"`
		RedirectResponse  *netResponse         `json:"redirectResponse"`
		RedirectExtraInfo *bool                `json:"redirectHasExtraInfo"`
		HasExtraInfo      *bool                `json:"hasExtraInfo"`
		Response          *netResponse         `json:"response"`
		EncodedDataLength float64              `json:"encodedDataLength"`
		ErrorText         string               `json:"errorText"`
		BlockedReason     string               `json:"blockedReason"`
		Headers           map[string]string    `json:"headers"` // of the extra information
	}
)

// exchanges puts the kept events together, oldest request first. An answer
// whose request has been dropped is left out.
//
// What was really sent and received (requestWillBeSentExtraInfo,
// responseReceivedExtraInfo) comes from the network's process, before or after
// what the page's own says of the same request: its n-th account belongs to
// the n-th hop that has one.
func (l *Log) exchanges() (list []*exchange, _ int) {
	events, next := l.all()
	type key struct {
		tab string
		id  cdpnetwork.RequestID
	}
	type accounts struct {
		hops           []*exchange
		sent, received []netExtra
	}
	all := map[key]*accounts{}
	for _, e := range events {
		var p netParams
		if json.Unmarshal(e.params, &p) != nil {
			continue
		}
		k := key{e.tab, p.RequestID}
		a := all[k]
		if a == nil {
			a = &accounts{}
			all[k] = a
		}
		var x *exchange
		if n := len(a.hops); n > 0 {
			x = a.hops[n-1]
		}
		switch e.method {
		case "Network.requestWillBeSent":
			if x != nil && p.RedirectResponse != nil {
				x.answered(p.RedirectResponse, p.RedirectExtraInfo, p.Timestamp)
				x.Done, x.last, x.moved = true, e.number, true
			}
			x = &exchange{request: p.RequestID, cdp: e.cdp, begun: p.Timestamp}
			x.ID, x.Tab, x.Method, x.URL, x.Kind = e.number, e.tab, p.Request.Method, p.Request.URL, strings.ToLower(p.Type)
			x.Time = time.UnixMicro(int64(p.WallTime * 1e6)).UTC()
			x.RequestHeaders, x.RequestBody = pairs(p.Request.Headers), p.Request.PostData
			a.hops = append(a.hops, x)
			list = append(list, x)
		case "Network.requestWillBeSentExtraInfo":
			a.sent = append(a.sent, netExtra{e.number, p.Headers})
			continue
		case "Network.responseReceivedExtraInfo":
			a.received = append(a.received, netExtra{e.number, p.Headers})
			continue
		}
		if x == nil {
			continue
		}
		x.last = e.number
		switch e.method {
		case "Network.requestServedFromCache":
			x.Cached = true
		case "Network.responseReceived":
			x.Kind = strings.ToLower(p.Type)
			if p.Response != nil {
				x.answered(p.Response, p.HasExtraInfo, p.Timestamp)
			}
		case "Network.loadingFinished":
			x.Bytes, x.Done = int64(p.EncodedDataLength), true
			x.MS = milliseconds(p.Timestamp - x.begun)
		case "Network.loadingFailed":
			x.Done, x.Error = true, p.ErrorText
			if p.BlockedReason != "" {
				x.Error += " (" + p.BlockedReason + ")"
			}
			x.MS = milliseconds(p.Timestamp - x.begun)
		}
	}
	for _, a := range all {
		n := 0
		for _, x := range a.hops {
			if x.plain {
				continue
			}
			if n < len(a.sent) {
				x.RequestHeaders, x.last = pairs(a.sent[n].headers), max(x.last, a.sent[n].number)
			}
			if n < len(a.received) {
				x.ResponseHeaders, x.last = pairs(a.received[n].headers), max(x.last, a.received[n].number)
			}
			n++
		}
	}
	// The one request that is the daemon's own: no page made it.
	list = slices.DeleteFunc(list, func(x *exchange) bool { return strings.HasPrefix(x.URL, policy.ChallengeURL) })
	return list, next
}

// netExtra is what the network's process says of one hop.
type netExtra struct {
	number  int
	headers map[string]string
}

// answered takes what a response says; extra says whether there is a
// netExtra of it.
func (x *exchange) answered(r *netResponse, extra *bool, at float64) {
	x.plain = extra != nil && !*extra
	x.Status, x.StatusText, x.Type, x.Protocol, x.Address = r.Status, r.StatusText, r.MimeType, r.Protocol, r.RemoteIPAddress
	x.Cached = x.Cached || r.FromDiskCache || r.FromPrefetchCache
	x.ResponseHeaders = pairs(r.Headers)
	x.Bytes = int64(r.EncodedDataLength)
	x.WaitMS = milliseconds(at - x.begun)
	x.MS = x.WaitMS
}

// mask takes the secrets out, before anything leaves this package.
func (x *exchange) mask() {
	x.URL = protocol.MaskURL(x.URL)
	for _, headers := range [][][2]string{x.RequestHeaders, x.ResponseHeaders} {
		for i, h := range headers {
			headers[i][1] = protocol.MaskHeader(h[0], h[1])
			switch strings.ToLower(h[0]) {
			case "referer", "location", "content-location", "origin":
				headers[i][1] = protocol.MaskURL(h[1])
			}
		}
	}
	x.RequestBody = protocol.MaskText(x.RequestBody)
}

func milliseconds(seconds float64) float64 {
	return float64(time.Duration(max(seconds, 0)*1e9).Round(100*time.Microsecond)) / 1e6
}

// pairs are headers in the order of their names; lines of one are of one name.
func pairs(headers map[string]string) [][2]string {
	list := make([][2]string, 0, len(headers))
	for name, value := range headers {
		for line := range strings.SplitSeq(value, "\n") {
			list = append(list, [2]string{name, line})
		}
	}
	slices.SortStableFunc(list, func(a, b [2]string) int { return strings.Compare(strings.ToLower(a[0]), strings.ToLower(b[0])) })
	return list
}

// Requests returns the requests of the session's pages, oldest first, and the
// number to ask from next time. Any goroutine may call it. Errors:
// invalid_params where there is no entry of that id.
func (l *Log) Requests(ctx context.Context, q protocol.Watching) ([]protocol.Exchange, int, error) {
	all, next := l.exchanges()
	var found []*exchange
	for _, x := range all {
		switch {
		case q.ID != 0 && x.ID != q.ID, x.last <= q.Since, q.Kind != "" && q.Kind != x.Kind, !contains(x.URL, q.Filter):
			continue
		}
		found = append(found, x)
	}
	if q.ID != 0 && len(found) == 0 {
		return nil, next, protocol.Errorf(protocol.InvalidParams, "id %d: there is no such entry, or no more", q.ID).
			With("parameter", "id").Then("use the id of an entry of network")
	}
	found = newest(found, q.Limit)
	list := make([]protocol.Exchange, 0, len(found))
	for _, x := range found {
		x.mask()
		if q.Bodies {
			if err := x.fetchBody(ctx, q.Max); err != nil {
				return nil, next, err
			}
		} else {
			x.RequestBody = ""
		}
		if q.ID == 0 && !q.Full {
			x.StatusText, x.Protocol, x.Address, x.RequestHeaders, x.ResponseHeaders, x.RequestBody = "", "", "", nil, nil, ""
		}
		list = append(list, x.Exchange)
	}
	return list, next, nil
}

// fetchBody asks for the body of an answer (Network.getResponseBody): Chromium keeps
// it for as long as the document is there, within the limits of [throttle.Enable].
func (x *exchange) fetchBody(ctx context.Context, most int) error {
	x.RequestBody = snapshot.Cut(x.RequestBody, most)
	switch {
	case x.moved:
		x.BodyError = "it led to another address"
		return nil
	case !x.Done || x.Status == 0 || x.Error != "":
		x.BodyError = "there is no answer"
		return nil
	}
	var got struct {
		Body          string `json:"body"`
		Base64Encoded bool   `json:"base64Encoded"`
	}
	err := x.cdp.Call(ctx, cdpnetwork.GetResponseBody.Method, cdpnetwork.GetResponseBodyParams{RequestID: x.request}, &got)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		x.BodyError = "Chromium does not have it any more"
		return nil
	}
	text, encoding := got.Body, "text"
	if got.Base64Encoded {
		encoding = "base64"
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil && utf8.Valid(plain) && !slices.Contains(plain, 0) {
			text, encoding = string(plain), "text"
		}
	}
	switch {
	case encoding == "base64" && len(text) > most:
		text, x.Truncated = text[:most/4*4], true // whole groups decode by themselves
	case encoding == "text":
		// Cut before it is masked: looking for secrets is not free.
		whole := len(text)
		text = snapshot.Cut(text, most)
		x.Truncated = len(text) < whole
		// And again after: a mask may be longer than the secret.
		text = snapshot.Cut(protocol.MaskText(text), most)
	}
	x.Body, x.Encoding = &text, encoding
	return nil
}
