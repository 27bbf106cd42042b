package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

// Who may connect: names and origins with their near misses, over both transports and
// at the one that needs no token. P is the daemon's port, Q another.
func TestHostAndOrigin(t *testing.T) {
	d := start(t, nil)
	const fine, refused = 0, 403
	for _, test := range []struct {
		host   string
		origin []string
		want   int
	}{
		{"127.0.0.1:P", nil, fine},
		{"localhost:P", nil, fine},
		{"[::1]:P", nil, fine},
		{"LocalHost:P", nil, fine}, // RFC 9110 section 4.2.3
		{"browserd.example", nil, fine},
		{"browserd.example:P", nil, fine},
		{"browserd.example:Q", nil, fine},
		{"BROWSERD.example", nil, fine},

		{"127.0.0.1", nil, refused}, // that is port 80
		{"localhost", nil, refused},
		{"[::1]", nil, refused},
		{"127.0.0.1:Q", nil, refused},
		{"localhost:Q", nil, refused},
		{"[::1]:Q", nil, refused},
		{"127.0.0.1:0P", nil, refused},
		{"127.0.0.1.:P", nil, refused},
		{"localhost.:P", nil, refused},
		{"127.0.0.1.evil.test:P", nil, refused},
		{"localhost.evil.test:P", nil, refused},
		{"evil-localhost:P", nil, refused},
		{"foo.localhost:P", nil, refused},
		{"127.0.0.2:P", nil, refused},
		{"127.1:P", nil, refused},
		{"2130706433:P", nil, refused},
		{"0x7f000001:P", nil, refused},
		{"0.0.0.0:P", nil, refused},
		{"[0:0:0:0:0:0:0:1]:P", nil, refused},
		{"[::ffff:127.0.0.1]:P", nil, refused},
		{"[localhost]:P", nil, refused},
		{"::1:P", nil, refused},
		{"evil.test", nil, refused},
		{"evil.test:P", nil, refused},
		{"browserd.example.evil.test", nil, refused},
		{"notbrowserd.example", nil, refused},
		{"browserd.example.", nil, refused},
		{"browserd.example:", nil, refused},

		{"127.0.0.1:P", []string{"https://app.example"}, fine},
		{"127.0.0.1:P", []string{"http://app.example"}, refused},
		{"127.0.0.1:P", []string{"https://app.example:443"}, refused},
		{"127.0.0.1:P", []string{"https://app.example:8443"}, refused},
		{"127.0.0.1:P", []string{"https://app.example/"}, refused},
		{"127.0.0.1:P", []string{"https://app.example."}, refused},
		{"127.0.0.1:P", []string{"https://app.example.evil.test"}, refused},
		{"127.0.0.1:P", []string{"https://sub.app.example"}, refused},
		{"127.0.0.1:P", []string{"https://evilapp.example"}, refused},
		{"127.0.0.1:P", []string{"https://app.example https://evil.test"}, refused},
		{"127.0.0.1:P", []string{"https://app.example", "https://evil.test"}, refused},
		{"127.0.0.1:P", []string{""}, refused},
		{"127.0.0.1:P", []string{"null"}, refused},
		{"127.0.0.1:P", []string{"*"}, refused},
		{"127.0.0.1:P", []string{"file://"}, refused},
		{"127.0.0.1:P", []string{"chrome-extension://abcdefghijklmnop"}, refused},
		{"127.0.0.1:P", []string{"https://evil.test"}, refused},
		{"127.0.0.1:P", []string{"http://localhost:3000"}, refused},
		{"127.0.0.1:P", []string{"http://127.0.0.1:Q"}, refused},
		{"127.0.0.1:P", []string{"http://127.0.0.1"}, refused},
		{"127.0.0.1:P", []string{"http://127.0.0.1:P"}, refused}, // not configured either
		{"evil.test:P", []string{"https://app.example"}, refused},
	} {
		port := strings.NewReplacer("P", d.port(), "Q", "1")
		host := port.Replace(test.host)
		header := http.Header{"Authorization": {"Bearer " + aliceToken}}
		for _, o := range test.origin {
			header["Origin"] = append(header["Origin"], port.Replace(o))
		}
		name := fmt.Sprintf("Host %q, Origin %q", test.host, test.origin)

		for path, want := range map[string]int{"/v1/ping": http.StatusOK, "/healthz": http.StatusOK} {
			method := http.MethodPost
			if path == "/healthz" {
				method = http.MethodGet
			}
			r, err := http.NewRequest(method, "http://"+d.addr+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host, r.Header = host, header.Clone()
			a, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(name, err)
			}
			a.Body.Close()
			if test.want != fine {
				want = test.want
			}
			if a.StatusCode != want {
				t.Errorf("%s: %s answers %d, want %d", name, path, a.StatusCode, want)
			}
		}
		withHost := header.Clone()
		withHost.Set("Host", host)
		ws, a, err := websocket.DefaultDialer.Dial("ws://"+d.addr+"/v1/ws", withHost)
		if err == nil {
			ws.Close()
		}
		want := http.StatusSwitchingProtocols
		if test.want != fine {
			want = test.want
		}
		if a == nil || a.StatusCode != want {
			t.Errorf("%s: WebSocket answers %v %v, want %d", name, a, err, want)
		}
	}
}

// The order: a foreign name or page learns nothing about tokens, and who has
// no token nothing about paths.
func TestAdmissionOrder(t *testing.T) {
	d := start(t, nil)
	for _, test := range []struct {
		path   string
		header []string
		status int
		want   string
	}{
		{"/v1/ping", []string{"Origin", "https://evil.test"}, 403, `{"error":{"code":"policy_denied","message":"pages of the origin \"https://evil.test\" may not use this daemon","retryable":false,"next":"ask the operator; details.config names the setting that would allow it","details":{"config":{"add":["https://evil.test"],"key":"server.allowed_origins"},"reason":"origin"}}}`},
		{"/v1/ping", nil, 401, `{"error":{"code":"unauthorized","message":"the request carries no token","retryable":false,"next":"send Authorization: Bearer TOKEN"}}`},
		{"/nothing", nil, 401, `{"error":{"code":"unauthorized"`},
		{"/nothing", []string{"Authorization", "Bearer " + aliceToken}, 404, `{"error":{"code":"unknown_command"`},
	} {
		status, h, body := d.do(t, "POST", test.path, "", test.header...)
		if status != test.status || !strings.HasPrefix(body, test.want) {
			t.Errorf("%s %q: got %d %s\nwant %d %s", test.path, test.header, status, body, test.status, test.want)
		}
		if challenge := h.Get("WWW-Authenticate"); (status == 401) != (challenge == `Bearer realm="browserd"`) {
			t.Errorf("%d with WWW-Authenticate %q", status, challenge)
		}
	}
}

func TestToken(t *testing.T) {
	d := start(t, nil)
	for _, test := range []struct {
		query, authorization string
		want                 int
	}{
		{"", "Bearer " + aliceToken, 200},
		{"", "bearer  " + bobToken, 200}, // the scheme's case is nothing (RFC 9110 section 11.1)
		{"", "", 401},
		{"", "Bearer", 401},
		{"", "Bearer ", 401},
		{"", aliceToken, 401},
		{"", "Basic " + aliceToken, 401},
		{"", "Bearer " + aliceToken + "x", 401},
		{"", "Bearer " + aliceToken[1:], 401},
		{"", "Bearer " + strings.ToUpper(aliceToken), 401},
		{"", "Bearer " + aliceToken + " " + aliceToken, 401},
	} {
		header := []string{}
		if test.authorization != "" {
			header = append(header, "Authorization", test.authorization)
		}
		d.keys.failures.seen = map[netip.Prefix]*record{}
		if status, _, body := d.do(t, "POST", "/v1/ping"+test.query, "", header...); status != test.want {
			t.Errorf("%q: %d %s, want %d", test.authorization, status, body, test.want)
		}
	}
	for _, name := range []string{"token", "access_token", "authorization"} {
		if status, _, _ := d.do(t, "POST", "/v1/ping?"+name+"="+aliceToken, ""); status != 401 {
			t.Errorf("a token in the query string as %s: %d", name, status)
		}
	}
}

// Who sends no token, or one outdated one, is told so however often; who guesses is slowed
// down at the socket, and the answer says for how long.
func TestFailuresAnswered(t *testing.T) {
	d := start(t, nil)
	for _, outdated := range [][]string{nil, {"Authorization", "Bearer an-outdated-token"}} {
		for i := range 2 * maxGuesses {
			if status, _, body := d.do(t, "POST", "/v1/ping", "", outdated...); status != 401 || !strings.Contains(body, `"unauthorized"`) {
				t.Fatalf("%q, request %d: %d %s", outdated, i+1, status, body)
			}
		}
	}
	if status, _ := d.post(t, "ping", `{}`); status != 200 {
		t.Errorf("the right token meanwhile: %d", status)
	}
	for i := range maxGuesses + 2 {
		status, h, body := d.do(t, "POST", "/v1/ping", "", "Authorization", fmt.Sprintf("Bearer guess-%d", i))
		want := 401
		if i+1 >= maxGuesses { // the outdated one was the first
			want = 429
		}
		if status != want || (status == 429) != (h.Get("Retry-After") != "") || status == 429 && !strings.Contains(body, `"rate_limited"`) {
			t.Errorf("guess %d: %d, Retry-After %q, %s", i+1, status, h.Get("Retry-After"), body)
		}
	}
	if status, body := d.post(t, "ping", `{}`); status != 200 {
		t.Errorf("the right token after %d guesses: %d %s", maxGuesses, status, body)
	}
}

func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failures{seen: map[netip.Prefix]*record{}}
		a, b := remoteNet("192.0.2.1:1"), remoteNet("192.0.2.2:1")
		for i := range maxGuesses {
			if wait := f.locked(a, time.Now()); wait != 0 {
				t.Errorf("after %d guesses: wait %v", i, wait)
			}
			f.add(a, digest{byte(i)}, time.Now())
			time.Sleep(100 * time.Millisecond)
		}
		if wait := f.locked(a, time.Now()); wait != 50*time.Second {
			t.Errorf("after %d guesses: wait %v, want 50s", maxGuesses, wait)
		}
		if f.add(b, digest{}, time.Now()); f.locked(b, time.Now()) != 0 {
			t.Errorf("another address: wait %v", f.locked(b, time.Now()))
		}
		time.Sleep(50 * time.Second)
		if wait := f.locked(a, time.Now()); wait != 0 {
			t.Errorf("a minute later: wait %v", wait)
		}
		if f.add(a, digest{}, time.Now()); f.locked(a, time.Now()) != 0 {
			t.Errorf("a failure a minute later: wait %v", f.locked(a, time.Now()))
		}
		// With always the same token nobody is guessing.
		c := remoteNet("192.0.2.3:1")
		for range 2 * maxGuesses {
			f.add(c, digest{1}, time.Now())
		}
		if wait := f.locked(c, time.Now()); wait != 0 {
			t.Errorf("no guessing: wait %v", wait)
		}
		// Memory is bounded, and the oldest goes first.
		for i := range maxAddresses + 100 {
			f.add(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32), digest{}, time.Now())
			time.Sleep(time.Millisecond)
		}
		if len(f.seen) > maxAddresses {
			t.Errorf("%d addresses are remembered", len(f.seen))
		}
		if f.seen[c] != nil {
			t.Error("the oldest is still remembered")
		}
	})
}

func TestRemoteNet(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80":              "192.0.2.1/32",
		"[::ffff:192.0.2.1]:80":     "192.0.2.1/32",
		"[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff::1]:80": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":         "fe80::/64",
		"@":                         "invalid Prefix",
	} {
		if got := remoteNet(remote).String(); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}

// Over a Unix socket, which no web page can reach, a client may name any port of this machine, but no other host.
func TestHostOverAUnixSocket(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1:9333": true, "localhost": true, "[::1]:1": true, "LOCALHOST:9333": true,
		"": false, "127.0.0.1:0x1": false, "127.0.0.1:9333:1": false, "127.0.0.1.evil.test:9333": false, "evil.test:9333": false,
	} {
		if got := (gate{port: "9333"}).hostAllowed(host, ""); got != want {
			t.Errorf("Host %q: %v, want %v", host, got, want)
		}
	}
}
