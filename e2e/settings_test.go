package e2e_test

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// dialled are the addresses that a proxy was asked for.
type dialled struct {
	mu   sync.Mutex
	list []string
}

func (d *dialled) add(address string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, address)
}

func (d *dialled) all() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.list, " ")
}

// proxies are an HTTP proxy, which accepts CONNECT alone, and a SOCKS proxy (RFC 1928 and
// 1929), both for ann with the password secret. They connect to what they are asked for.
func proxies(t *testing.T) (connect, socks string, asked *dialled) {
	asked = &dialled{}
	serve := func(handle func(c net.Conn) (to string, ok bool)) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					to, ok := handle(c)
					if !ok {
						return
					}
					asked.add(to)
					s, err := net.Dial("tcp", to)
					if err != nil {
						return
					}
					defer s.Close()
					go func() { io.Copy(s, c); s.Close() }()
					io.Copy(c, s)
				}()
			}
		}()
		return l.Addr().String()
	}
	connect = serve(func(c net.Conn) (string, bool) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil || r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("ann:secret")) {
			io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
			return "", false
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		return r.Host, true
	})
	socks = serve(func(c net.Conn) (string, bool) {
		read := func(n int) []byte {
			b := make([]byte, n)
			io.ReadFull(c, b)
			return b
		}
		read(int(read(2)[1]))
		c.Write([]byte{5, 2})
		user := string(read(int(read(2)[1])))
		password := string(read(int(read(1)[0])))
		if user != "ann" || password != "secret" {
			c.Write([]byte{1, 1})
			return "", false
		}
		c.Write([]byte{1, 0})
		if head := read(4); head[3] != 1 { // an IPv4 address: a name would be looked up again
			return "", false
		}
		to := fmt.Sprintf("%s:%d", net.IP(read(4)), binary.BigEndian.Uint16(read(2)))
		c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		return to, true
	})
	return connect, socks, asked
}

// A session's pages go through its proxy, and nowhere else than they may without it.
func TestProxyOfASession(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	connect, socks, asked := proxies(t)
	w := newPageServer(t)
	w.serve("/", page("home", "<h1>Home</h1>"), "")
	away := strings.TrimPrefix(w.URL, "http://")
	for _, source := range []string{"chromium", "http"} {
		for _, proxy := range []string{"http://ann:secret@" + connect, "socks5://ann:secret@" + socks} {
			a := newAgent(t, d)
			before := len(asked.all())
			a.do("session_open", params{"proxy": proxy, "proxy_bypass": []string{"localhost"}, "source": source})
			a.open(w.URL + "/")
			if got := asked.all()[before:]; !strings.Contains(got, away) {
				t.Errorf("%s: the proxy %s was asked for %q, not for %s", source, proxy, got, away)
			}
			before = len(asked.all())
			a.open(w.alt() + "/")
			if got := asked.all()[before:]; got != "" {
				t.Errorf("%s: for a host of proxy_bypass the proxy was asked for %q", source, got)
			}
			before = len(asked.all())
			a.refused("open", params{"url": "http://127.0.0.2:8000/"}, protocol.PolicyDenied)
			if got := asked.all()[before:]; got != "" {
				t.Errorf("%s: for a host that is refused the proxy was asked for %q", source, got)
			}
		}
	}
	a := newAgent(t, d)
	for proxy, want := range map[string]protocol.Code{
		"http://10.0.0.1:80":    protocol.PolicyDenied, // a private address, as for a page
		"http://127.0.0.2:8000": protocol.PolicyDenied,
		"ftp://127.0.0.1:21":    protocol.InvalidParams,
		"127.0.0.1:8080":        protocol.InvalidParams,
	} {
		a.refused("session_open", params{"proxy": proxy}, want)
	}
	// Who does not answer is named, and the password is not.
	a.do("session_open", params{"proxy": "http://ann:wrong-password@" + connect})
	e := a.refused("open", params{"url": w.URL + "/"}, protocol.NavigationFailed)
	if e.Details["reason"] != "proxy" || strings.Contains(fmt.Sprint(e, e.Details), "wrong-password") {
		t.Errorf("a proxy that refuses: %v %v", e, e.Details)
	}
	if strings.Contains(d.Log(), "secret") || strings.Contains(d.Log(), "wrong-password") {
		t.Error("the log has a password")
	}
}

// What emulate shows a page of the person, the medium and the network, alone and together.
func TestEmulateMediaAndNetwork(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/", page("media", "<h1>Media</h1>"), "")
	w.serve("/small", "x", "text/plain")
	a := newAgent(t, d)
	a.open(w.URL + "/")
	const look = `["print", "(prefers-reduced-motion: reduce)", "(prefers-color-scheme: dark)"].map(q => matchMedia(q).matches).join(" ")`
	for _, s := range []struct {
		p    params
		want string
	}{
		{params{"reduced_motion": "reduce"}, "false true false"},
		{params{"color_scheme": "dark"}, "false true true"},
		{params{"media": "print"}, "true true true"},
		{params{"media": "screen", "reduced_motion": "no-preference"}, "false false true"},
	} {
		a.do("emulate", s.p)
		if got := a.do("eval", params{"expression": look}).Value; got != s.want {
			t.Errorf("after %v a page sees %v, want %s", s.p, got, s.want)
		}
	}
	const fetched = `(async () => { const began = performance.now(); await (await fetch("/small?" + Math.random())).text(); return performance.now() - began })()`
	a.do("emulate", params{"throttle": params{"latency_ms": 700}})
	if ms, _ := a.do("eval", params{"expression": fetched}).Value.(float64); ms < 690 {
		t.Errorf("with a latency of 700 ms a request took %v ms", ms)
	}
	a.do("emulate", params{"offline": true})
	a.do("emulate", params{"offline": false}) // and the latency stays
	if ms, _ := a.do("eval", params{"expression": fetched}).Value.(float64); ms < 690 {
		t.Errorf("after being offline a request took %v ms", ms)
	}
	a.refused("emulate", params{"throttle": params{"latency_ms": -1}}, protocol.InvalidParams)
}

// A script of init_script is there before the page's own, in frames and new tabs, not in
// the document that is open; it comes back with the page where Chromium dies.
func TestInitScript(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	w := newPageServer(t)
	w.serve("/", page("init", `<script>document.write("<h1>" + typeof window.first + " " + typeof window.second + "</h1>")</script><iframe src="`+w.alt()+`/frame"></iframe>`), "")
	w.serve("/frame", page("frame", `<script>document.write("<h2>frame " + typeof window.first + "</h2>")</script>`), "")
	a := newAgent(t, d)
	a.open(w.URL + "/")
	a.do("init_script", params{"script": "window.first = 1"})
	a.do("init_script", params{"script": "window.second = window.first"})
	if got := a.do("eval", params{"expression": "typeof first"}).Value; got != "undefined" {
		t.Errorf("in the document that was open, first is %v", got)
	}
	holds := func(when string, r result) {
		t.Helper()
		if r.Snapshot == nil || !strings.Contains(r.Snapshot.Text, `"number number"`) {
			t.Errorf("%s: %+v", when, r.Snapshot)
		}
		a.do("wait", params{"text": "frame number"})
	}
	holds("after reload", a.do("reload", nil))
	holds("in a new tab", a.do("tab_new", params{"url": w.URL + "/"}))
	for _, p := range d.Chromium("browser") {
		p.Kill()
	}
	a.refused("snapshot", nil, protocol.BrowserLost)
	holds("after Chromium died", a.do("reload", nil))
	for range 18 {
		a.do("init_script", params{"script": "0"})
	}
	a.refused("init_script", params{"script": "0"}, protocol.TooLarge)
}

// A key that goes down stays down until it goes up; files are dropped on what takes them.
func TestKeysHeldAndFilesDropped(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/", page("game", `<h1>Game</h1><button id=field>Field</button><div role=button tabindex=0 id=zone style="height:80px">Drop here</div><p id=said></p>
<script>
for (const kind of ["keydown", "keyup"]) addEventListener(kind, e => said.textContent += kind + e.key + " ");
zone.ondragover = e => e.preventDefault();
zone.ondrop = async e => { e.preventDefault(); const f = e.dataTransfer.files[0]; said.textContent += "dropped " + f.name + " " + await f.text() }
</script>`), "")
	a := newAgent(t, d)
	a.open(w.URL + "/")
	v := a.snapshot()
	said := func() any { return a.do("eval", params{"expression": "said.textContent"}).Value }
	a.do("press", params{"key": "ArrowRight", "action": "down", "ref": v.ref(t, "button", "Field")})
	if got := said(); got != "keydownArrowRight " {
		t.Errorf("down: %q", got)
	}
	a.do("press", params{"key": "ArrowRight", "action": "up"})
	if got := said(); got != "keydownArrowRight keyupArrowRight " {
		t.Errorf("up: %q", got)
	}
	a.do("upload", params{"ref": v.ref(t, "button", "Drop here"), "drop": true, "files": []params{{"name": "note.txt", "base64": base64.StdEncoding.EncodeToString([]byte("milk"))}}})
	a.do("wait", params{"text": "dropped note.txt milk"})
}

// Cookies come from a cookies.txt, and go by their names.
func TestCookiesFromAFile(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	a := newAgent(t, d)
	const file = "# Netscape HTTP Cookie File\n\n127.0.0.1\tFALSE\t/\tFALSE\t0\tcity\tOslo\n#HttpOnly_.example.com\tTRUE\t/shop\tTRUE\t4102444800\tlogin\ta b=c\r\n"
	type jar struct{ Cookies []protocol.Cookie }
	got := ask[jar](a, "cookies_set", params{"netscape": file}).Cookies
	if len(got) != 2 {
		t.Fatalf("there are %+v", got)
	}
	for _, k := range got {
		switch k.Name {
		case "city":
			if k.Domain != "127.0.0.1" || k.HTTPOnly || k.Expires != 0 {
				t.Errorf("%+v", k)
			}
		case "login":
			if k.Domain != ".example.com" || !k.HTTPOnly || !k.Secure || k.Path != "/shop" || k.Value != "a b=c" || k.Expires == 0 {
				t.Errorf("%+v", k)
			}
		}
	}
	if left := ask[jar](a, "cookies_clear", params{"name": "city"}).Cookies; len(left) != 1 || left[0].Name != "login" {
		t.Errorf("left are %+v", left)
	}
	for _, wrong := range []string{"one two", "a\tb\tc\td\tsoon\tf\tg"} {
		if e := a.refused("cookies_set", params{"netscape": wrong}, protocol.InvalidParams); !strings.Contains(e.Message, "line 1 ") {
			t.Errorf("%q: %v", wrong, e)
		}
	}
	a.refused("cookies_set", nil, protocol.InvalidParams)
}

// http_request follows as many redirects as it is told, each hop judged, and reads on
// where it stopped.
func TestHTTPRequestFollows(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/1", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/2", http.StatusFound) })
	mux.HandleFunc("/2", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/3", http.StatusTemporaryRedirect) })
	mux.HandleFunc("/3", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Method+" 0123456789") })
	mux.HandleFunc("/out", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	type answer struct {
		URL       string
		Status    int
		Content   string
		Redirects []struct {
			URL    string
			Status int
		}
		NextOffset int `json:"next_offset"`
		Truncated  bool
	}
	a := newAgent(t, d)
	if r := ask[answer](a, "http_request", params{"url": s.URL + "/1"}); r.Status != 302 || r.URL != "" || len(r.Redirects) != 0 {
		t.Errorf("without follow: %+v", r)
	}
	r := ask[answer](a, "http_request", params{"url": s.URL + "/1", "method": "get", "follow": 2, "max_chars": 8})
	if r.Status != 200 || r.URL != s.URL+"/3" || len(r.Redirects) != 2 || r.Redirects[1].Status != 307 || r.Content != "GET 0123" || r.NextOffset != 8 || !r.Truncated {
		t.Errorf("with follow: %+v", r)
	}
	if r := ask[answer](a, "http_request", params{"url": s.URL + "/3", "offset": r.NextOffset}); r.Content != "456789" || r.NextOffset != 0 || r.Truncated {
		t.Errorf("with offset: %+v", r)
	}
	if e := a.refused("http_request", params{"url": s.URL + "/1", "follow": 1}, protocol.NavigationFailed); e.Details["reason"] != "redirect_loop" {
		t.Errorf("one redirect too many: %v", e.Details)
	}
	a.refused("http_request", params{"url": s.URL + "/out", "follow": 5}, protocol.PolicyDenied)
}
