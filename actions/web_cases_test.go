package actions

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/internal/fakedns"
	"github.com/browserd/browserd/internal/fakeweb"
	"github.com/browserd/browserd/internal/ssrfcases"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// Every shared case of an agent's URL through web_fetch: the parameter, the
// redirects hop by hop, the policy's dialer. Nothing is dialled but the fake.
func TestSharedCasesThroughWebFetch(t *testing.T) {
	const daemon, proxy, own = "9333", "41234", "198.41.0.4"
	ran := 0
	for _, c := range ssrfcases.Load(t, "$DAEMON_PORT", daemon, "$PROXY_PORT", proxy, "$OWN_PUBLIC_IP", own) {
		if c.Stage != "navigate" || c.Reason == "no_packet" || c.Reason == "config_error" {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			dns := fakedns.Start(t)
			for name, answers := range c.DNS {
				dns.Set(name, answers...)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			fakeweb.Serve(t, c.Handler(), l)
			var mu sync.Mutex
			var dialled []string
			rules, err := policy.New(policy.Config{
				AllowHosts: c.AllowPrivate, AllowedDomains: c.Allowlist, Resolver: dns.Addr.String(),
				Interfaces: func() ([]netip.Addr, error) {
					return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr(own)}, nil
				},
				DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
					host, _, _ := net.SplitHostPort(address)
					mu.Lock()
					if !slices.Contains(dialled, host) {
						dialled = append(dialled, host)
					}
					mu.Unlock()
					return (&net.Dialer{}).DialContext(ctx, network, l.Addr().String())
				},
			}, netip.MustParseAddrPort("127.0.0.1:"+daemon), netip.MustParseAddrPort("127.3.4.5:"+proxy))
			if err != nil {
				t.Fatal(err)
			}
			gate, err := rules.Gate(policy.GateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			tr := gate.Transport()
			tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
			tr.DisableKeepAlives = true // each request is a connection, as the cases count them
			runtime := &command.Runtime{Commands: All, CheckURL: rules.CheckURLWithin, Web: &command.Web{Config: command.Config{StripThresholdKB: 200}, Transport: tr, Order: []string{"http"}}}
			word := ""
			for range max(c.Requests, 1) {
				_, err := do[WebFetchResult](t, runtime, "web_fetch", map[string]any{"url": c.URL, "source": "http"})
				if word = reasonOf(err); word != "ok" {
					break
				}
			}
			// A document that sends its reader on by itself: web_fetch shows it and stays.
			sends := len(c.Chain) > 0 && c.Chain[len(c.Chain)-1].Status == 200
			switch want := c.Word(); {
			case word == want, c.Either && word != "ok":
			case sends && word == "ok" && slices.Equal(dialled, []string{"93.184.216.34"}):
			case want == "too_many_redirects" && word == "redirect_loop":
			case want == "bad_url_or_local" && (word == "bad_url" || word == "name_local"):
			case want == "ok" && c.URL == "about:blank" && word == string(protocol.Unsupported): // nothing to fetch
			default:
				t.Errorf("%q: got %s, want %s", c.URL, word, want)
			}
			if c.Dialled != nil && !slices.Equal(dialled, c.Dialled) {
				t.Errorf("dialled %v, want %v", dialled, c.Dialled)
			}
		})
	}
	if ran < 220 {
		t.Errorf("only %d cases were run", ran)
	}
}

// reasonOf is the word of a verdict: ok, details.reason, or the code.
func reasonOf(err error) string {
	if err == nil {
		return "ok"
	}
	var e *protocol.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	if reason, ok := e.Details["reason"].(string); ok {
		return reason
	}
	return string(e.Code)
}
