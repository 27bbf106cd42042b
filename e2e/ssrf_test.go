//go:build linux

package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/netns"
	"github.com/browserd/browserd/internal/ssrfcases"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// ownPublicIP is the public address of the machine that the cases run on.
const ownPublicIP = "198.41.0.4"

// way is one path that leaves the machine: a row of the table that every shared
// case is played through.
type way struct {
	name string
	// command is what the daemon must know for it, if that is not the name of
	// the way.
	command string
	// takes says which cases mean something on this path.
	takes func(c ssrfcases.Case) bool
	// play returns the word of the verdict: ok, details.reason of a refusal, or
	// the error's code where it carries no reason.
	play func(v *visitor, c ssrfcases.Case) string
	// want lists the words that are right: the case's own for most.
	want func(c ssrfcases.Case) []string
}

var ways = []way{
	{name: "open", takes: navigates, play: (*visitor).open, want: wantOpen},
	{name: "page", command: "eval", takes: requests, play: (*visitor).fetch, want: wantFetch},
	{name: "markup", command: "eval", takes: func(c ssrfcases.Case) bool { return c.Stage == "subresource" }, play: (*visitor).embed, want: wantEmbedded},
	{name: "web_fetch", takes: navigates, play: direct("web_fetch", params{"format": "raw"}), want: wantDirect},
	{name: "http_request", takes: navigates, play: direct("http_request", params{"method": "GET"}), want: wantRequest},
}

// Every shared case, through every way out that the built daemon has, with real
// Chromium and a DNS server on loopback, in a network where all addresses lead
// to one fake web server that notes by which it was reached.
func TestSSRFCases(t *testing.T) {
	t.Parallel()
	if !netns.Inside(t, untested.InCI()) {
		return
	}
	w := newWorld(t)
	played := map[string]int{} // cases, by the name of the way
	for _, setting := range w.settings() {
		if setting.refused {
			w.mustNotStart(t, setting)
			continue
		}
		d := w.start(t, setting)
		v := &visitor{world: w, agent: newAgent(t, d), daemon: d}
		for _, way := range ways {
			if !v.knows(cmp.Or(way.command, way.name)) {
				t.Errorf("%s: this daemon has no such command", way.name)
				continue
			}
			before := played[way.name]
			for _, c := range setting.cases {
				if way.takes(c) {
					played[way.name]++
					w.play(t, v, way, w.filled(c, d))
				}
			}
			t.Logf("%s: %d cases with %s", way.name, played[way.name]-before, setting.name)
		}
		d.Stop()
	}
	for _, way := range ways {
		if played[way.name] == 0 {
			t.Errorf("no case was played with %s", way.name)
		}
	}
}

func (w *world) play(t *testing.T, v *visitor, way way, c ssrfcases.Case) {
	for name, answers := range c.DNS {
		w.dns.Set(name, answers...)
	}
	w.serve(c)
	v.t = t
	v.forget()
	got := way.play(v, c)
	want := way.want(c)
	if !slices.Contains(want, got) && !(c.Either && got != "ok") {
		t.Errorf("%s %s %.120q: got %s, want %s", way.name, c.ID, c.URL, got, strings.Join(want, " or "))
	}
	reached := w.reached()
	for _, a := range reached {
		if special(a.Addr()) && !slices.Contains(c.AllowPrivate, cidrOf(c, a.Addr())) {
			t.Errorf("%s %s %.120q: %s was reached", way.name, c.ID, c.URL, a)
		}
	}
	for _, p := range w.strayPackets() {
		t.Errorf("%s %s %.120q: %s", way.name, c.ID, c.URL, p)
	}
	if got == "ok" && c.Expect == "allow" && len(reached) == 0 {
		t.Errorf("%s %s %.120q: nothing was reached", way.name, c.ID, c.URL)
	}
	if c.Dialled != nil && fmt.Sprint(hostsOf(reached)) != fmt.Sprint(c.Dialled) {
		t.Errorf("%s %s: reached %v, want %v", way.name, c.ID, hostsOf(reached), c.Dialled)
	}
}

// special is an address that none of the cases may reach unless an operator
// opened it; the policy's own table is not asked.
func special(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast() || a.String() == ownPublicIP ||
		netip.MustParsePrefix("100.64.0.0/10").Contains(a) || a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a)
}

func cidrOf(c ssrfcases.Case, a netip.Addr) string {
	for _, s := range c.AllowPrivate {
		if p, err := netip.ParsePrefix(s); err == nil && p.Contains(a.Unmap()) {
			return s
		}
	}
	return ""
}

func hostsOf(reached []netip.AddrPort) []string {
	hosts := []string{}
	for _, a := range reached {
		if h := a.Addr().String(); !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// visitor plays cases in one session of a daemon.
type visitor struct {
	*agent
	world    *world
	daemon   *testdaemon.Daemon
	embedded int // cases
}

// knows reports whether the daemon has the command.
func (v *visitor) knows(command string) bool {
	_, err := v.try("help", params{"command": command})
	return err == nil
}

func wordOf(err error) string {
	var e *protocol.Error
	switch {
	case err == nil:
		return "ok"
	case !errors.As(err, &e):
		return err.Error()
	}
	if reason, ok := e.Details["reason"].(string); ok && reason != "" {
		return reason
	}
	return string(e.Code)
}

// The agent's own URL.

func navigates(c ssrfcases.Case) bool { return c.Stage == "navigate" }

func (v *visitor) open(c ssrfcases.Case) string {
	for range max(1, c.Requests) {
		_, err := v.try("open", params{"url": c.URL, "snapshot": "none", "wait_until": "domcontentloaded", "timeout_ms": 15000})
		if err != nil {
			return wordOf(err)
		}
	}
	if browserOnly(c) {
		// The page goes on by itself; what becomes of that is an event.
		return v.refusal(c, 5*time.Second)
	}
	return "ok"
}

// turnsPublic is a name whose bad answer is followed by a good one.
func turnsPublic(c ssrfcases.Case) bool {
	for _, answers := range c.DNS {
		if last := answers[len(answers)-1]; c.Category == "rebind" && c.Expect == "block" && len(answers) > 1 && slices.Equal(last.A, []string{"93.184.216.34"}) {
			return true
		}
	}
	return false
}

// browserOnly is a chain of which the page itself takes the refused step.
func browserOnly(c ssrfcases.Case) bool {
	return c.BlockedAt != nil && len(c.Chain) == 1 && c.Chain[0].Status == http.StatusOK
}

func wantOpen(c ssrfcases.Case) []string {
	switch {
	case c.Word() == "dns_error":
		return []string{"dns_error", "navigation_failed"}
	case c.Word() == "too_many_redirects": // Chromium's own limit
		return []string{"net::ERR_TOO_MANY_REDIRECTS"}
	case c.Word() == "bad_url_or_local":
		return []string{"bad_url", "name_local"}
	case c.Category == "redirect" && c.Word() == "scheme": // Chromium's own refusal
		return []string{"net::ERR_UNSAFE_REDIRECT", "net::ERR_ABORTED"}
	case c.Category == "redirect" && c.Word() == "userinfo": // Chromium follows, and sends no credentials
		return []string{"userinfo", "ok"}
	case turnsPublic(c): // full Chromium asks again by itself, and is let through to what passes
		return []string{c.Word(), "ok"}
	}
	return []string{c.Word()}
}

// refusal waits for the policy_denied event that the case asks for; where none
// comes, it lists those that did.
func (v *visitor) refusal(c ssrfcases.Case, within time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var others []string
	for {
		e, err := v.c.Event(ctx, client.OfType(protocol.EventPolicyDenied))
		if err != nil {
			return fmt.Sprintf("no event but %v", others)
		}
		reason, _ := e.Fields["reason"].(string)
		if reason == c.Word() {
			return reason
		}
		others = append(others, reason)
	}
}

// forget drops the events of the cases before.
func (v *visitor) forget() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		if _, err := v.c.Event(ctx, client.OfType(protocol.EventPolicyDenied)); err != nil {
			return
		}
	}
}

// What the daemon fetches itself.

func direct(command string, with params) func(*visitor, ssrfcases.Case) string {
	return func(v *visitor, c ssrfcases.Case) string {
		for range max(1, c.Requests) {
			p := params{"url": c.URL}
			maps.Copy(p, with)
			if _, err := v.try(command, p); err != nil {
				return wordOf(err)
			}
		}
		return "ok"
	}
}

func wantDirect(c ssrfcases.Case) []string {
	switch {
	case c.Word() == "dns_error", c.Word() == "too_many_redirects":
		return []string{c.Word(), "fetch_failed"}
	case c.Word() == "bad_url_or_local":
		return []string{"bad_url", "name_local"}
	case browserOnly(c): // a fetch follows no page
		return []string{"ok"}
	}
	return []string{c.Word()}
}

// wantRequest is wantDirect for a command that shows a redirect and goes no
// further.
func wantRequest(c ssrfcases.Case) []string {
	if c.Chain != nil {
		return []string{"ok"}
	}
	return wantDirect(c)
}

// A page's own request.

// requests are the cases whose URL a page can ask for: http and https.
func requests(c ssrfcases.Case) bool {
	return c.Stage == "navigate" && strings.HasPrefix(strings.ToLower(strings.TrimSpace(c.URL)), "http") && c.Category != "scheme"
}

// fetch asks for the URL from a page of no origin, without reading the answer.
func (v *visitor) fetch(c ssrfcases.Case) string {
	v.open(ssrfcases.Case{URL: "about:blank"})
	quoted, err := json.Marshal(c.URL)
	if err != nil {
		return err.Error()
	}
	got := "ok"
	for range max(1, c.Requests) {
		r, err := v.try("eval", params{"timeout_ms": 15000, "expression": fmt.Sprintf(
			`fetch(%s, {mode: "no-cors", cache: "no-store"}).then(() => "ok", () => "failed")`, quoted)})
		if err != nil {
			return wordOf(err)
		}
		if got, _ = r.Value.(string); got != "ok" {
			return got
		}
	}
	return got
}

func wantFetch(c ssrfcases.Case) []string {
	switch {
	case c.Expect == "block" && c.Reason == "bad_url" && len(c.URL) > 1000:
		return []string{"failed", "ok"} // a long path is a page's own affair
	case browserOnly(c):
		return []string{"ok"} // what would go on is a page, and this is not one
	case c.Expect == "block" && c.Category == "redirect" && c.Word() == "userinfo":
		return []string{"failed", "ok"}
	case c.Expect == "block":
		return []string{"failed"}
	}
	return []string{"ok"}
}

// A page's markup and script.

// embed opens the case's page with the line in it, and looks for an event.
func (v *visitor) embed(c ssrfcases.Case) string {
	v.world.embed(c)
	if v.embedded%20 == 0 {
		// A context tells 50 events in a second, and here every case is to be told.
		v.do("session_close", params{})
		v.do("session_open", params{})
	}
	v.embedded++
	if _, err := v.try("open", params{"url": c.Page, "snapshot": "none", "wait_until": "load", "timeout_ms": 15000}); err != nil {
		return wordOf(err)
	}
	if !peer(c) {
		return v.refusal(c, 5*time.Second)
	}
	if _, err := v.try("eval", params{"expression": "window.done?.then(() => true)", "timeout_ms": 10000}); err != nil {
		return wordOf(err)
	}
	if c.Reason != "no_packet" {
		return v.refusal(c, 0)
	}
	if slices.Contains(v.world.dns.Names(), "secret.attacker.com") {
		return "secret.attacker.com was looked up"
	}
	return "no_packet"
}

// peer is a case about what bypasses proxies: it waits for its page to be done.
func peer(c ssrfcases.Case) bool {
	return c.Reason == "no_packet" || strings.Contains(c.URL, "RTCPeerConnection")
}

func wantEmbedded(c ssrfcases.Case) []string {
	if peer(c) && c.Reason != "no_packet" {
		// In a network namespace of its own, WebRTC finds no network over which
		// to ask for TURN, and with the flags alone the proxy refuses it.
		return []string{c.Word(), "no event but []"}
	}
	if strings.HasPrefix(c.URL, "window.open") {
		// The whole browser opens no window without a click.
		return []string{c.Word(), "no event but []"}
	}
	return []string{c.Word()}
}
