package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/server/live"
)

// viewLink asks for a link over HTTP and returns its ticket's path.
func (d *daemon) viewLink(t testing.TB, token, params string) string {
	t.Helper()
	status, _, body := d.do(t, "POST", "/v1/view", params, "Authorization", "Bearer "+token)
	var link struct{ URL string }
	if err := json.Unmarshal([]byte(body), &link); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	path, ok := strings.CutPrefix(link.URL, "http://"+d.addr)
	if !ok {
		t.Fatalf("the link is %s, want one at http://%s", link.URL, d.addr)
	}
	return path
}

// viewer is a browser that has opened a link. It sends what browsers send.
type viewer struct {
	d      *daemon
	path   string // of the view
	cookie string
}

// navigated are the headers of a request with which a person opens an address.
var navigated = []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}

// ask sends a request as it is, and follows nothing.
func (d *daemon) ask(t testing.TB, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+d.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Add(header[i], header[i+1])
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a, string(text)
}

// opens follows a ticket as a person does.
func (d *daemon) opens(t testing.TB, ticket string) *viewer {
	t.Helper()
	a, body := d.ask(t, "GET", ticket, "", navigated...)
	cookies := a.Cookies()
	if a.StatusCode != http.StatusSeeOther || len(cookies) != 1 {
		t.Fatalf("%d %v %s", a.StatusCode, a.Header, body)
	}
	return &viewer{d, a.Header.Get("Location"), cookies[0].Name + "=" + cookies[0].Value}
}

// get asks for a page of the view, as its own page does.
func (v *viewer) get(t testing.TB, page string, header ...string) (*http.Response, string) {
	t.Helper()
	return v.d.ask(t, "GET", v.path+page, "", append([]string{"Cookie", v.cookie, "Sec-Fetch-Site", "same-origin"}, header...)...)
}

func (v *viewer) sees(t testing.TB) (int, string) {
	t.Helper()
	a, body := v.get(t, "")
	return a.StatusCode, body
}

// An operator's link shows every session; an agent's shows one of its own, whose link it
// may ask for and no other's.
func TestWhatALinkShows(t *testing.T) {
	d := start(t, nil)
	d.post(t, "session_open", `{"name":"shop"}`)
	d.post(t, "session_open", `{"name":"bank"}`)
	bob := d.connectAs(t, bobToken)
	bob.call(1, "session_open", `{"name":"bobs"}`)
	for _, test := range []struct {
		token, params string
		shows         []string
	}{
		{bobToken, `{}`, []string{"shop", "bank", "bobs"}},
		{bobToken, `{"session":"bobs"}`, []string{"bobs"}},
		{aliceToken, `{"session":"shop"}`, []string{"shop"}},
	} {
		status, page := d.opens(t, d.viewLink(t, test.token, test.params)).sees(t)
		if status != http.StatusOK {
			t.Errorf("%s: %d", test.params, status)
		}
		for _, name := range []string{"shop", "bank", "bobs"} {
			want := strings.Contains(strings.Join(test.shows, " "), name)
			if got := strings.Contains(page, name); got != want {
				t.Errorf("%s of %s: shows %s: %t, want %t", test.params, test.token, name, got, want)
			}
		}
	}
	for _, params := range []string{`{"session":"bobs"}`, `{"session":"none"}`, `{}`} {
		if status, body := d.post(t, "view", params); status != http.StatusNotFound || !strings.Contains(body, "session_not_found") {
			t.Errorf("an agent asks for %s: %d %s", params, status, body)
		}
	}
}

// A link carries what whoever asked for it may do: an agent that an operator answers for
// could open the link itself.
func TestALinkGivesNoMoreThanItsMakerMayDo(t *testing.T) {
	tokens := []Token{
		{Agent: "full", Token: "full-0123456789abcdef"}, {Agent: "supervised", Token: "supervised-0123456789abcdef", Autonomy: "supervised"},
		{Agent: "reads", Token: "reads-0123456789abcdef", Autonomy: "read_only"}, {Agent: "bob", Token: bobToken, Role: RoleOperator},
	}
	got := map[string]command.Viewing{}
	d := startWith(t, nil, io.Discard, tokens, func(*command.Runtime) {})
	d.runtime.View = func(v command.Viewing) (string, time.Time) {
		v.Session, v.Token, v.TokenID = nil, 0, ""
		got[v.Agent] = v
		return "http://view", time.Time{}
	}
	for _, token := range tokens {
		_, header, _ := d.do(t, "POST", "/v1/open", `{"url":"https://site.test/"}`, "Authorization", "Bearer "+token.Token)
		d.do(t, "POST", "/v1/view", fmt.Sprintf(`{"session":%q}`, header.Get("Browserd-Session")), "Authorization", "Bearer "+token.Token)
	}
	want := map[string]command.Viewing{
		"full":       {Agent: "full", Owner: "full", Drives: true},
		"supervised": {Agent: "supervised", Owner: "supervised"},
		"reads":      {Agent: "reads", Owner: "reads"},
		"bob":        {Agent: "bob", Owner: "bob", Drives: true, Operator: true}, // of one session: it answers for no other
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// The cookie is for this view alone, for no script, for no other site; the answer that sets
// it leaves no ticket in the history.
func TestTicketBecomesACookie(t *testing.T) {
	for name, test := range map[string]struct {
		public string
		secure bool
	}{"plain": {"", false}, "behind a proxy that speaks TLS": {"https://browserd.example", true}} {
		t.Run(name, func(t *testing.T) {
			d := start(t, func(c *Config) { c.PublicURL = test.public })
			status, _, body := d.do(t, "POST", "/v1/view", "{}", "Authorization", "Bearer "+bobToken)
			base := test.public
			if base == "" {
				base = "http://" + d.addr
			}
			ticket := regexp.MustCompile(`^\{"url":"` + regexp.QuoteMeta(base) + `(/view/[A-Z2-7]{26})","expires":"[^"]+","drives":true\}$`).FindStringSubmatch(body)
			if status != 200 || ticket == nil {
				t.Fatalf("%d %s", status, body)
			}
			host := []string{}
			if test.public != "" {
				host = []string{"Host", "browserd.example"}
			}
			a, _ := d.ask(t, "GET", ticket[1], "", append(host, navigated...)...)
			c := a.Cookies()
			if a.StatusCode != http.StatusSeeOther || len(c) != 1 {
				t.Fatalf("%d %v", a.StatusCode, a.Header)
			}
			at := a.Header.Get("Location")
			if !regexp.MustCompile(`^/view/[A-Z2-7]{26}/$`).MatchString(at) || strings.Contains(at, ticket[1]) {
				t.Errorf("it redirects to %q", at)
			}
			if !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode || c[0].Path != at || c[0].Domain != "" || c[0].Secure != test.secure {
				t.Errorf("the cookie is %s", c[0])
			}
			if left := time.Until(c[0].Expires); left < 7*time.Hour || left > 9*time.Hour {
				t.Errorf("the cookie expires in %v", left)
			}
			for key, want := range map[string]string{"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Frame-Options": "DENY"} {
				if got := a.Header.Get(key); got != want {
					t.Errorf("%s: %q", key, got)
				}
			}
		})
	}
}

// What only looks at a link, or opens it from another site, does not use it up: there is a
// button then.
func TestLooksDoNotUseALinkUp(t *testing.T) {
	d := start(t, nil)
	ticket := d.viewLink(t, bobToken, `{}`)
	for name, header := range map[string][]string{
		"a program":     nil,
		"a prefetch":    append([]string{"Sec-Purpose", "prefetch"}, navigated...),
		"a link":        {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
		"a frame":       {"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
		"another page":  {"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"},
		"the same site": {"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
	} {
		a, page := d.ask(t, "GET", ticket, "", header...)
		if a.StatusCode != http.StatusOK || len(a.Cookies()) > 0 || !strings.Contains(page, `<form method="post"><button autofocus>Open</button></form>`) || strings.Contains(page, ticket) {
			t.Errorf("%s: %d %v %s", name, a.StatusCode, a.Header, page)
		}
	}
	for name, origin := range map[string]string{"another site": "https://evil.test", "another port": "http://127.0.0.1:1", "a configured origin": "https://app.example", "none": ""} {
		header := []string{}
		if origin != "" {
			header = []string{"Origin", origin}
		}
		if a, _ := d.ask(t, "POST", ticket, "", header...); a.StatusCode != http.StatusForbidden || len(a.Cookies()) > 0 {
			t.Errorf("POST of %s: %d", name, a.StatusCode)
		}
	}
	if a, _ := d.ask(t, "POST", ticket, "", "Origin", "http://"+d.addr, "Sec-Fetch-Site", "same-origin"); a.StatusCode != http.StatusSeeOther || len(a.Cookies()) != 1 {
		t.Errorf("the button: %d %v", a.StatusCode, a.Header)
	}
}

// Tickets that are replayed, guessed or late open nothing; a replay soon after the use ends
// the view, since nobody knows who was first.
func TestTicketsWorkOnce(t *testing.T) {
	d := start(t, nil)
	ticket := d.viewLink(t, bobToken, `{}`)
	v := d.opens(t, ticket)
	if status, _ := v.sees(t); status != http.StatusOK {
		t.Fatal(status)
	}
	for _, path := range []string{ticket, "/view/" + strings.Repeat("A", 26), "/view/", "/view/" + strings.ToLower(ticket[6:])} {
		if a, _ := d.ask(t, "GET", path, "", navigated...); a.StatusCode != http.StatusUnauthorized || len(a.Cookies()) > 0 {
			t.Errorf("GET %s: %d", path, a.StatusCode)
		}
	}
	if status, _ := v.sees(t); status != http.StatusUnauthorized {
		t.Errorf("after a replay the view answers %d", status)
	}
	again := d.viewLink(t, bobToken, `{}`)
	for i := range maxGuesses + 10 {
		d.ask(t, "GET", fmt.Sprintf("/view/%026d", i), "", navigated...)
	}
	if a, _ := d.ask(t, "GET", "/view/"+strings.Repeat("B", 26), "", navigated...); a.StatusCode != http.StatusTooManyRequests {
		t.Errorf("who guesses is answered %d", a.StatusCode)
	}
	if status, _ := d.opens(t, again).sees(t); status != http.StatusOK {
		t.Errorf("the right ticket, while another guesses: %d", status)
	}

	// At once: one of many has the view.
	var wg sync.WaitGroup
	opened := make(chan bool, 20) // one for each
	access := live.NewAccess("")
	text, _ := access.Ticket(command.Viewing{}, time.Now())
	for range cap(opened) {
		wg.Go(func() { v, _ := access.Redeem(text, time.Now()); opened <- v != nil })
	}
	wg.Wait()
	close(opened)
	n := 0
	for ok := range opened {
		if ok {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of %d at once have a view", n, cap(opened))
	}
}

// Tickets and views end, and have no more room than they need.
func TestTicketsAndViewsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		access := live.NewAccess("")
		late, expires := access.Ticket(command.Viewing{Token: 1}, time.Now())
		time.Sleep(time.Until(expires))
		if v, _ := access.Redeem(late, time.Now()); v != nil || access.IsRedeemable(late, time.Now()) {
			t.Error("a ticket works when its time is over")
		}
		text, _ := access.Ticket(command.Viewing{Token: 1}, time.Now())
		v, cookie := access.Redeem(text, time.Now())
		if access.View(v.ID, cookie, time.Now()) != v || access.View(v.ID, cookie+"A", time.Now()) != nil || access.View(v.ID, "", time.Now()) != nil || access.View("", cookie, time.Now()) != nil {
			t.Error("a view is for its cookie alone")
		}
		other, _ := access.Ticket(command.Viewing{Token: 2}, time.Now())
		strangers, strange := access.Redeem(other, time.Now())
		if access.View(v.ID, strange, time.Now()) != nil || access.View(strangers.ID, cookie, time.Now()) != nil {
			t.Error("one view's cookie opens another")
		}
		time.Sleep(time.Until(v.Expires) - time.Second)
		if access.View(v.ID, cookie, time.Now()) == nil {
			t.Error("a view ends early")
		}
		time.Sleep(time.Second)
		if access.View(v.ID, cookie, time.Now()) != nil {
			t.Error("a view works when its time is over")
		}

		first, _ := access.Ticket(command.Viewing{Token: 1}, time.Now())
		kept, _ := access.Ticket(command.Viewing{Token: 2}, time.Now())
		for range 40 {
			time.Sleep(time.Second)
			access.Ticket(command.Viewing{Token: 1}, time.Now())
		}
		if access.IsRedeemable(first, time.Now()) || !access.IsRedeemable(kept, time.Now()) {
			t.Error("one token's tickets: the oldest is still there, or another's is gone")
		}
	})
}

// A view that is opened from another one, at whichever node, expires with it, and no view lasts longer than a view may. Who
// waits for a view's end is told of it, whatever ended it.
func TestAViewOfAnotherViewExpiresWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		access := live.NewAccess("")
		ticket, _ := access.Ticket(command.Viewing{Token: 1}, time.Now())
		first, _ := access.Redeem(ticket, time.Now())
		time.Sleep(time.Until(first.Expires) - time.Hour)
		second, _ := access.Open(command.Viewing{Token: 1}, first.Expires, time.Now())
		if !second.Expires.Equal(first.Expires) {
			t.Errorf("it expires %v later", second.Expires.Sub(first.Expires))
		}
		for name, expires := range map[string]time.Time{"not known": {}, "too late": time.Now().Add(100 * time.Hour)} {
			if v, _ := access.Open(command.Viewing{Token: 2}, expires, time.Now()); time.Until(v.Expires) != 8*time.Hour {
				t.Errorf("%s: it lasts %v", name, time.Until(v.Expires))
			}
		}
		now, cancel := context.WithCancel(t.Context())
		cancel()
		if access.AwaitEnd(now, first.ID) || !access.AwaitEnd(now, "none") {
			t.Error("a view has ended, or one that is not there has not")
		}
		ends := func(v *live.View) chan bool {
			told := make(chan bool, 1)
			go func() { told <- access.AwaitEnd(t.Context(), v.ID) }()
			synctest.Wait()
			return told
		}
		replay, _ := access.Ticket(command.Viewing{Token: 3}, time.Now())
		twice, _ := access.Redeem(replay, time.Now())
		told := ends(twice)
		access.Redeem(replay, time.Now())
		if synctest.Wait(); len(told) != 1 || !<-told || !access.AwaitEnd(now, twice.ID) {
			t.Error("the end of a view whose ticket was shown twice is not told")
		}
		oldest, _ := access.Open(command.Viewing{Token: 4}, time.Time{}, time.Now())
		told = ends(oldest)
		for range 32 {
			time.Sleep(time.Second)
			access.Open(command.Viewing{Token: 4}, time.Time{}, time.Now())
		}
		if synctest.Wait(); len(told) != 1 || !<-told {
			t.Error("the end of a view that was replaced is not told")
		}
		told = ends(first)
		if time.Sleep(time.Until(first.Expires)); !<-told {
			t.Error("the end of a view's time is not told")
		}
		if v, _ := access.Open(command.Viewing{Token: 1}, first.Expires, time.Now()); v != nil {
			t.Error("a view is opened from one that has expired")
		}
	})
}

// A view of one session is over with it: another session of the name is another's.
func TestAViewEndsWithItsSession(t *testing.T) {
	d := start(t, nil)
	d.post(t, "session_open", `{"name":"shop"}`)
	unused, v := d.viewLink(t, aliceToken, `{"session":"shop"}`), d.opens(t, d.viewLink(t, aliceToken, `{"session":"shop"}`))
	d.post(t, "session_close", `{"session":"shop"}`)
	d.post(t, "session_open", `{"name":"shop"}`)
	if status, body := v.sees(t); status != http.StatusUnauthorized || strings.Contains(body, "shop") {
		t.Errorf("the view of a closed session: %d", status)
	}
	if a, _ := d.ask(t, "GET", unused, "", navigated...); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("a ticket for a closed session: %d", a.StatusCode)
	}
}

// The cookie opens the view's pages and nothing else, and only to the view's own pages.
func TestTheCookieOpensTheViewAlone(t *testing.T) {
	d := start(t, nil)
	d.post(t, "session_open", `{"name":"shop"}`)
	v, other := d.opens(t, d.viewLink(t, aliceToken, `{"session":"shop"}`)), d.opens(t, d.viewLink(t, bobToken, `{}`))
	id := strings.Trim(strings.TrimPrefix(v.path, "/view/"), "/")
	for name, test := range map[string]struct {
		method, path string
		header       []string
		status       int
	}{
		"its own page":                {"GET", v.path, []string{"Sec-Fetch-Site", "same-origin"}, 200},
		"typed":                       {"GET", v.path, navigated, 200},
		"an old browser":              {"GET", v.path, nil, 200},
		"a command":                   {"POST", "/v1/session_list", nil, 401},
		"the WebSocket":               {"GET", "/v1/ws", nil, 401},
		"MCP":                         {"POST", "/mcp", nil, 401},
		"metrics":                     {"GET", "/metrics", nil, 401},
		"the list":                    {"GET", "/", nil, 401},
		"control":                     {"POST", "/control/stop", nil, 401},
		"another view":                {"GET", other.path, nil, 401},
		"another site":                {"GET", v.path, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"another port":                {"GET", v.path, []string{"Sec-Fetch-Site", "same-site"}, 403},
		"an Origin":                   {"GET", v.path, []string{"Origin", "https://evil.test"}, 403},
		"a configured Origin":         {"GET", v.path, []string{"Origin", "https://app.example"}, 403},
		"two Origins":                 {"GET", v.path, []string{"Origin", "http://" + d.addr, "Origin", "http://" + d.addr}, 403},
		"an opaque Origin":            {"GET", v.path, []string{"Origin", "null"}, 403},
		"a frame":                     {"GET", v.path, []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "iframe"}, 403},
		"an object":                   {"GET", v.path, []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "object"}, 403},
		"a foreign Host":              {"GET", v.path, []string{"Host", "evil.test"}, 403},
		"POST":                        {"POST", v.path, []string{"Origin", "http://" + d.addr}, 405},
		"another page":                {"GET", v.path + "x", nil, 404},
		"dots":                        {"GET", v.path + "../" + id + "/", nil, 404},
		"escaped dots":                {"GET", v.path + "%2e%2e/", nil, 404},
		"an escaped slash":            {"GET", "/view/" + id + "%2f", nil, 404},
		"two slashes":                 {"GET", v.path + "/", nil, 404},
		"slashes before":              {"GET", "//view/" + id + "/", nil, 401},
		"the API below it":            {"POST", v.path + "v1/session_list", []string{"Origin", "http://" + d.addr}, 404},
		"the API by dots":             {"POST", v.path + "../../v1/session_list", []string{"Origin", "http://" + d.addr}, 404},
		"a view's page through / ...": {"GET", "/x/.." + v.path, nil, 401},
	} {
		a, body := d.ask(t, test.method, test.path, "", append([]string{"Cookie", v.cookie}, test.header...)...)
		if a.StatusCode != test.status {
			t.Errorf("%s: %d, want %d: %s", name, a.StatusCode, test.status, body)
		}
		if test.status != 200 && strings.Contains(body, "shop") {
			t.Errorf("%s: it shows the session: %s", name, body)
		}
	}
	for name, cookie := range map[string]string{
		"none": "", "empty": "browserd_view=", "forged": "browserd_view=" + strings.Repeat("A", 26), "another view's": other.cookie,
		"two of others": other.cookie + "; browserd_view=" + strings.Repeat("A", 26), "the token": "browserd_view=" + aliceToken, "its ID": "browserd_view=" + id,
	} {
		if a, _ := d.ask(t, "GET", v.path, "", "Cookie", cookie); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("the cookie is %s: %d", name, a.StatusCode)
		}
	}
	if a, _ := d.ask(t, "GET", v.path, "", "Authorization", "Bearer "+bobToken); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token in place of the cookie: %d", a.StatusCode)
	}
}

// The page of a view runs its own script and no other, whatever it shows.
func TestAViewRunsItsOwnScriptAlone(t *testing.T) {
	d := start(t, nil)
	const title = `</script><script>alert(1)</script><!-- <script> {{.CSRF}}`
	d.post(t, "session_open", `{"name":"shop"}`)
	d.post(t, "open", `{"session":"shop","url":"https://site.test/?title=`+url.QueryEscape(title)+`"}`)
	a, page := d.opens(t, d.viewLink(t, aliceToken, `{"session":"shop"}`)).get(t, "")
	var texts [3]string // the style, what there is to see, the script
	for i, tag := range []string{"<style>", `<script type="application/json" id="state">`, `<script type="module">`} {
		_, text, _ := strings.Cut(page, tag)
		texts[i], _, _ = strings.Cut(text, "</"+tag[1:len("style")+1])
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
		"Content-Security-Policy": "default-src 'none'; script-src 'sha256-" + sum(texts[2]) + "'; style-src 'sha256-" + sum(texts[0]) + "'; connect-src 'self'; media-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	var own strings.Builder
	for _, file := range []string{"live/app.js", "live/grants.js"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		own.Write(text)
	}
	if texts[2] != own.String() {
		t.Errorf("the script was sent as\n%.300s", texts[2])
	}
	if n := strings.Count(strings.ToLower(page), "<script"); n != 2 {
		t.Errorf("the page has %d scripts, want its state and its script", n)
	}
	var state live.State
	if err := json.Unmarshal([]byte(texts[1]), &state); err != nil || len(state.Sessions) != 1 || len(state.Sessions[0].Tabs) != 1 || state.Sessions[0].Tabs[0].Title != title {
		t.Errorf("it shows %v: %s", err, texts[1])
	}
}

// No log has a ticket, a cookie, or a view's path.
func TestNoLogHasATicket(t *testing.T) {
	var log lockedBuffer
	d := startLogging(t, nil, &log)
	ticket := d.viewLink(t, bobToken, `{}`)
	v := d.opens(t, ticket)
	v.sees(t)
	d.ask(t, "GET", ticket, "", navigated...)
	d.ask(t, "GET", v.path+"x", "", "Cookie", v.cookie)
	d.ask(t, "GET", v.path, "", "Cookie", v.cookie+"x")
	text := log.String()
	if !strings.Contains(text, "a live view was opened") {
		t.Errorf("the log does not say that a view was opened:\n%s", text)
	}
	for name, secret := range map[string]string{"ticket": ticket[6:], "cookie": strings.TrimPrefix(v.cookie, "browserd_view="), "view": v.path[6:]} {
		if strings.Contains(text, strings.Trim(secret, "/")) {
			t.Errorf("the log has the %s:\n%s", name, text)
		}
	}
}
