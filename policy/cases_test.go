package policy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/ssrfcases"
)

// maxRedirects is the limit of the cases for a direct fetch.
const maxRedirects = 10

// Every shared case through the path that a direct fetch takes: CheckURL for
// each hop, then the gate's transport, with real DNS packets, real HTTP, and
// nothing dialled but the fake.
func TestSharedCases(t *testing.T) {
	const daemon, proxy = "9333", "41234"
	cases := ssrfcases.Load(t, "$DAEMON_PORT", daemon, "$PROXY_PORT", proxy, "$OWN_PUBLIC_IP", ownPublic)
	ran := map[string]int{}
	for _, c := range cases {
		if c.Reason == "no_packet" {
			continue // WebRTC and its like: no URL is involved, the browser's flags and the jail stop them
		}
		ran[c.Stage]++
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			o := newOutside(t)
			o.Serve = c.Handler()
			for name, answers := range c.DNS {
				o.DNS.Set(name, answers...)
			}
			_, err := New(Config{AllowHosts: c.AllowPrivate, AllowedDomains: c.Allowlist})
			if c.Reason == "config_error" {
				if err == nil {
					t.Fatalf("allowed_domains %q is accepted", c.Allowlist)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p := o.policy(Config{AllowHosts: c.AllowPrivate, AllowedDomains: c.Allowlist},
				netip.MustParseAddrPort("127.0.0.1:"+daemon), netip.MustParseAddrPort("127.3.4.5:"+proxy))
			g, err := p.Gate(GateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, o, g, c)
			switch want := c.Word(); {
			case got == want, c.Either && got != "ok":
			case want == "bad_url_or_local" && (got == "bad_url" || got == "name_local"):
			default:
				t.Errorf("%s %q: got %s, want %s", c.Stage, c.URL, got, want)
			}
			dialled := o.hosts()
			if c.Dialled != nil && !slices.Equal(dialled, c.Dialled) {
				t.Errorf("dialled %v, want %v", dialled, c.Dialled)
			}
			for _, h := range dialled {
				a := netip.MustParseAddr(h)
				if reason, _, _ := classifyAddr(a); (reason != "" || h == ownPublic) && c.Expect == "block" {
					t.Errorf("%s was dialled", a)
				}
			}
		})
	}
	if ran["navigate"] < 230 || ran["subresource"] < 14 {
		t.Errorf("only %v cases were run", ran)
	}
}

// inPage finds the URLs that a line of page script or markup requests.
var inPage = regexp.MustCompile(`(?:https?|wss?)://[^\s'"<>)}]+|turn:[^'?]+|url=[^'"<>]+`)

// play runs a case and returns its verdict.
func play(t *testing.T, o *outside, g *Gate, c ssrfcases.Case) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if c.Stage == "subresource" {
		return playInPage(t, ctx, g, c)
	}
	for range max(1, c.Requests) {
		tr := o.transport(g)
		tr.DisableKeepAlives = true
		if got := fetch(t, ctx, g, tr, c); got != "ok" {
			return got
		}
	}
	return "ok"
}

// fetch is what a direct fetch does: each hop checked and dialled again.
func fetch(t *testing.T, ctx context.Context, g *Gate, tr http.RoundTripper, c ssrfcases.Case) string {
	t.Helper()
	at := c.URL
	for hop := 0; ; hop++ {
		if hop > maxRedirects {
			return "too_many_redirects"
		}
		canonical, err := g.CheckURL(ctx, at)
		if err != nil {
			return wordAt(t, err, c, hop)
		}
		u, err := url.Parse(canonical)
		if err != nil {
			t.Fatalf("%s: the canonical URL %q: %v", c.ID, canonical, err)
		}
		if hop == 0 && c.Host != "" && u.Hostname() != strings.Trim(c.Host, "[]") {
			t.Errorf("%s %q: the host is %s, want %s", c.ID, c.URL, u.Hostname(), c.Host)
		}
		req, err := http.NewRequestWithContext(ctx, "GET", canonical, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			return wordAt(t, err, c, hop)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		next := resp.Header.Get("Location")
		// What a browser would do with the page itself, after its own reading.
		refresh := resp.Header.Get("Refresh") + string(body)
		if m := regexp.MustCompile(`(?:url=|location=')([^'"<>]+)`).FindStringSubmatch(refresh); next == "" && m != nil {
			next = m[1]
		}
		if next == "" {
			return "ok"
		}
		to, err := u.Parse(strings.ReplaceAll(next, `\`, "/"))
		if err != nil {
			t.Fatalf("%s: on to %q: %v", c.ID, next, err)
		}
		at = to.String()
	}
}

func wordAt(t *testing.T, err error, c ssrfcases.Case, hop int) string {
	if c.BlockedAt != nil && hop != *c.BlockedAt {
		t.Errorf("%s: refused at hop %d, want %d", c.ID, hop, *c.BlockedAt)
	}
	return word(t, err)
}

// playInPage dials what the script would have the browser's proxy dial.
func playInPage(t *testing.T, ctx context.Context, g *Gate, c ssrfcases.Case) string {
	t.Helper()
	all := inPage.FindAllString(c.URL, -1)
	if len(all) == 0 {
		t.Fatalf("%s: no URL in %s", c.ID, c.URL)
	}
	to := all[len(all)-1]
	if i := strings.Index(to, "?to="); i >= 0 {
		to = to[i+len("?to="):]
	}
	to = regexp.MustCompile(`^(wss?://|turn:)`).ReplaceAllString(to, "http://")
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	conn, err := g.Dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err == nil {
		conn.Close()
		t.Errorf("%s: connected to %s", c.ID, to)
	}
	return word(t, err)
}
