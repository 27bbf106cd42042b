package e2e_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/fakedns"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// What an operator opens for once, or for a session, is open where it was asked for: to the pages of that session, and to
// the web tools that are called in it. Other sessions and agents find it shut as before, also behind a name that looks
// public, and while connections to it are open.
func TestWhatAnOperatorOpensIsOpenToWhoAskedAlone(t *testing.T) {
	aboutOneProcess(t, "an addition for once holds at the node that was asked")
	t.Parallel()
	const eve = "eve-token-0123456789abcdef" // another agent
	address := serveAt(t, "127.0.0.2", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, page("inside", "<h1>Inside</h1><p>"+strings.Repeat("It is warm in here. ", 20)))
	})
	_, port, _ := net.SplitHostPort(address)
	dns := fakedns.Start(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_AUTH__TOKENS":           fmt.Sprintf(`[{"agent":"ann","token":%q},{"agent":"eve","token":%q},{"agent":"olga","token":%q,"role":"operator"}]`, ann, eve, olga),
		"BROWSERD_POLICY__ALLOW_HOSTS":    "127.0.0.1",
		"BROWSERD_POLICY__PORTS":          port,
		"BROWSERD_POLICY__RESOLVER":       dns.Addr.String(),
		"BROWSERD_SESSION__MAX":           "40",
		"BROWSERD_SESSION__MAX_PER_AGENT": "20",
	}})
	o := as(t, d, olga)
	agents := map[string]*agent{}
	for name, token := range map[string]string{"ann": ann, "eve": eve} {
		agents[name] = as(t, d, token)
		for _, session := range []string{"one", "two"} {
			agents[name].do("session_open", params{"name": session})
		}
	}
	type way struct {
		method, source string
	}
	ways := []way{{"open", ""}, {"http_request", ""}, {"web_fetch", "http"}, {"web_fetch", "chromium"}}
	try := func(a *agent, session, url string, by way) error {
		p := params{"url": url}
		if by.source != "" {
			p["source"] = by.source
		}
		if by.method == "open" {
			p["snapshot"] = "none"
		}
		if session != "" {
			p["session"] = session
		}
		_, err := a.try(by.method, p)
		return err
	}
	// finds asks in each way whether the address is open.
	finds := func(when string, a *agent, session, url string, open bool) {
		t.Helper()
		for _, by := range ways {
			if session == "" && by.method == "open" {
				continue
			}
			if err := try(a, session, url, by); open && err != nil || !open && protocol.CodeOf(err) != protocol.PolicyDenied {
				t.Errorf("%s: %s %s in session %q, open: %t: %v", when, by.method, by.source, session, open, err)
			}
		}
	}
	allows := func(a *agent, session, url string, by way, remember string) {
		t.Helper()
		p := params{"url": url}
		if session != "" {
			p["session"] = session
		}
		refused := a.refused(by.method, p, protocol.PolicyDenied)
		o.do("confirm", params{"id": refused.Details["confirmation"], "allow": true, "remember": remember})
	}
	names := 0
	inside := func() string { // shut, and asked about by nobody yet
		names++
		name := fmt.Sprintf("n%d.example.com", names)
		dns.Set(name, fakedns.Answer{A: []string{"127.0.0.2"}})
		return "http://" + name + ":" + port + "/"
	}
	for _, remember := range []string{"no", "session"} {
		for _, by := range ways[:3] {
			when, url := by.method+" "+by.source+", "+remember, inside()
			allows(agents["ann"], "one", url, by, remember)
			finds(when, agents["ann"], "one", url, true)
			finds(when, agents["ann"], "two", url, false)
			finds(when, agents["eve"], "one", url, false)
			finds(when, as(t, d, ann), "", url, false)
		}
	}
	// An address that is written as such is opened in the same way.
	url := "http://" + address + "/"
	allows(agents["ann"], "two", url, way{"open", ""}, "session")
	finds("an address", agents["ann"], "two", url, true)
	finds("an address", agents["ann"], "one", url, false)
	finds("an address", agents["eve"], "two", url, false)
	agents["ann"].do("session_close", params{"session": "two"})
	agents["ann"].do("session_open", params{"name": "two"})
	finds("the session is another one", agents["ann"], "two", url, false)

	// Without a session, or where the command opens another one when it is sent again, it is open to the agent, and to no other one.
	url = inside()
	allows(as(t, d, ann), "", url, way{"http_request", ""}, "no")
	finds("without a session", as(t, d, ann), "", url, true)
	finds("without a session", agents["ann"], "one", url, true)
	finds("without a session", agents["eve"], "one", url, false)
	url = inside()
	refused := postOnce(t, d.Addr, ann, "open", params{"url": url, "snapshot": "none"}, nil)
	if refused == nil || refused.Code != protocol.PolicyDenied {
		t.Fatalf("a request of its own: %v", refused)
	}
	o.do("confirm", params{"id": refused.Details["confirmation"], "allow": true})
	if err := postOnce(t, d.Addr, ann, "open", params{"url": url, "snapshot": "none"}, nil); err != nil {
		t.Errorf("a request of its own, which makes its session: %v", err)
	}
	finds("a request of its own", agents["eve"], "two", url, false)

	// A connection keeps the session that its first command made, so it is open to that session alone.
	url = inside()
	own := as(t, d, ann)
	allows(own, "", url, way{"open", ""}, "no")
	if err := try(own, "", url, way{"open", ""}); err != nil {
		t.Errorf("open, in the session that the refused one made: %v", err)
	}
	finds("a session that stays after the refusal", agents["ann"], "one", url, false)
	finds("a session that stays after the refusal", as(t, d, ann), "", url, false)

	// For good it is open to all.
	url = inside()
	allows(agents["ann"], "one", url, way{"open", ""}, "always")
	for _, a := range agents {
		finds("for good", a, "two", url, true)
	}
}
