package network

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/google/go-cmp/cmp"
)

// Chromium's network process tells of the headers on its own, before or after
// the page tells of the request: they come to the hop that they belong to.
func TestHeadersComeInAnyOrder(t *testing.T) {
	const (
		first    = `Network.requestWillBeSent {"requestId":"1","request":{"url":"http://a/","method":"GET","headers":{"X":"planned"}}}`
		sent1    = `Network.requestWillBeSentExtraInfo {"requestId":"1","headers":{"X":"sent 1"}}`
		got1     = `Network.responseReceivedExtraInfo {"requestId":"1","headers":{"Y":"got 1"}}`
		second   = `Network.requestWillBeSent {"requestId":"1","request":{"url":"http://a/2","method":"GET","headers":{}},"redirectHasExtraInfo":true,"redirectResponse":{"status":302,"headers":{}}}`
		sent2    = `Network.requestWillBeSentExtraInfo {"requestId":"1","headers":{"X":"sent 2"}}`
		got2     = `Network.responseReceivedExtraInfo {"requestId":"1","headers":{"Y":"got 2"}}`
		answered = `Network.responseReceived {"requestId":"1","hasExtraInfo":true,"response":{"status":200,"headers":{"Y":"shown"}}}`
		cached   = `Network.responseReceived {"requestId":"1","hasExtraInfo":false,"response":{"status":200,"headers":{"Y":"kept"}}}`
	)
	type row struct{ URL, Sent, Got string }
	both := []row{{"http://a/", "sent 1", "got 1"}, {"http://a/2", "sent 2", "got 2"}}
	for name, c := range map[string]struct {
		events []string
		want   []row
	}{
		"as they happened":      {[]string{first, sent1, got1, second, sent2, got2, answered}, both},
		"the accounts first":    {[]string{sent1, got1, sent2, got2, first, second, answered}, both},
		"the accounts last":     {[]string{first, second, answered, sent1, got1, sent2, got2}, both},
		"one way ahead":         {[]string{sent1, first, sent2, got1, second, got2, answered}, both},
		"the second from cache": {[]string{first, sent1, got1, second, cached}, []row{{"http://a/", "sent 1", "got 1"}, {"http://a/2", "", "kept"}}},
		"not answered":          {[]string{first, sent1}, []row{{"http://a/", "sent 1", ""}}},
		"nothing but its plan":  {[]string{first}, []row{{"http://a/", "planned", ""}}},
		"no request":            {[]string{sent1, got1, answered}, []row{}},
	} {
		t.Run(name, func(t *testing.T) {
			log := &Log{}
			for _, e := range c.events {
				method, params, _ := strings.Cut(e, " ")
				log.Record("t1", nil, method, jsonv2.Value(params))
			}
			list, _ := log.exchanges()
			rows := []row{}
			for _, x := range list {
				value := func(headers [][2]string) string {
					if len(headers) == 0 {
						return ""
					}
					return headers[0][1]
				}
				rows = append(rows, row{x.URL, value(x.RequestHeaders), value(x.ResponseHeaders)})
			}
			if diff := cmp.Diff(rows, c.want); diff != "" {
				t.Errorf("got before want:\n%s", diff)
			}
		})
	}
}
