package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// listensFirst is a program of somebody else's, and all that it was sent.
type listensFirst struct {
	net.Listener
	mu   sync.Mutex
	sent bytes.Buffer
}

func (l *listensFirst) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent.Write(b)
}

func (l *listensFirst) was() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent.String()
}

func listenFirst(t *testing.T, network, address string, answer func(c net.Conn, in *bufio.Reader)) *listensFirst {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	first := &listensFirst{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(20 * time.Second))
				answer(c, bufio.NewReader(io.TeeReader(c, first)))
			}()
		}
	}()
	return first
}

// pings are how each client connects to an address with d's token and sends a ping; the
// environment names a proxy.
func pings(t *testing.T, d *testdaemon.Daemon, proxy string) map[string]func(url string) (string, error) {
	env := append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(strings.ToLower(kv), "no_proxy=") }), "BROWSERD_TOKEN="+d.Token)
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "ws_proxy"} {
		env = append(env, name+"=http://"+proxy, strings.ToUpper(name)+"=http://"+proxy)
	}
	run := func(cmd *exec.Cmd) (string, error) {
		cmd.Env = append(slices.Clone(env), cmd.Env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	return map[string]func(url string) (string, error){
		"go": func(url string) (string, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			c, err := client.Connect(ctx, client.Options{URL: url, Token: d.Token})
			if err != nil {
				return "", err
			}
			defer c.Close()
			var pong any
			err = c.Call(ctx, "ping", nil, &pong)
			return fmt.Sprint(pong), err
		},
		"python": func(url string) (string, error) {
			cmd := exec.Command(python(t), "-c", "import browserd, sys; print(browserd.connect(sys.argv[1]).ping())", url)
			cmd.Env = []string{"PYTHONPATH=../clients/python", "PYTHONDONTWRITEBYTECODE=1"}
			return run(cmd)
		},
		"typescript": func(url string) (string, error) {
			return run(typescriptDriver(t, "node", "--input-type=module", "-e", `const { connect } = await import(process.argv[1]); const c = await connect({ url: process.argv[2] }); console.log(await c.ping()); c.close()`,
				typescriptPackage(t)+"/dist/index.js", url))
		},
	}
}

// Whoever listens where a client looks for its daemon gets no token: whatever it answers,
// replays or passes on from the real daemon, and as the proxy of the environment.
func TestEveryClientKnowsItsDaemon(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}})
	nonce := strings.Repeat("ab", 32)
	resp, err := http.Get(d.URL() + protocol.ProofPath + "?nonce=" + nonce)
	if err != nil {
		t.Fatal(err)
	}
	recorded, _ := io.ReadAll(resp.Body)
	resp.Body.Close()

	body := func(text string) func(net.Conn, *bufio.Reader) {
		return func(c net.Conn, in *bufio.Reader) {
			for {
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				own := strings.ReplaceAll(text, "NONCE", r.FormValue("nonce"))
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(own), own)
			}
		}
	}
	head := func(text string) func(net.Conn, *bufio.Reader) {
		return func(c net.Conn, in *bufio.Reader) {
			for {
				if _, err := http.ReadRequest(in); err != nil {
					return
				}
				io.WriteString(c, strings.ReplaceAll(text, "\n", "\r\n"))
			}
		}
	}
	pass := func(rewrite bool) func(net.Conn, *bufio.Reader) {
		return func(c net.Conn, in *bufio.Reader) {
			to, err := net.Dial("tcp", d.Addr)
			if err != nil {
				return
			}
			defer to.Close()
			go func() { io.Copy(c, to); c.Close() }()
			for {
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				if rewrite {
					r.Host = d.Addr
				}
				r.Write(to)
			}
		}
	}
	zeros := strings.Repeat("0", 64)
	tricks := map[string]func(net.Conn, *bufio.Reader){
		"healthy":                body(`ok`),
		"no proofs":              body(`{"nonce":"` + zeros + `","proofs":[]}`),
		"null":                   body(`null`),
		"the client's own nonce": body(`{"nonce":"NONCE","proofs":["NONCE"]}`),
		"wrong types":            body(`{"nonce":"` + zeros + `","proofs":[1,null,{},true,""]}`),
		"an empty nonce":         body(`{"nonce":"","proofs":["` + zeros + `"]}`),
		"a recorded proof":       body(string(recorded)),
		"passes on":              pass(false),
		"passes on, other Host":  pass(true),
		"redirect":               head("HTTP/1.1 307 Temporary Redirect\nLocation: " + d.URL() + protocol.ProofPath + "?nonce=" + nonce + "\nContent-Length: 0\n\n"),
		"a challenge":            head("HTTP/1.1 401 Unauthorized\nWWW-Authenticate: Bearer\nContent-Length: 0\n\n"),
		"a proxy's challenge":    head("HTTP/1.1 407 Proxy Authentication Required\nProxy-Authenticate: Bearer\nContent-Length: 0\n\n"),
		"continue":               head("HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nok"),
		"no end":                 head("HTTP/1.1 200 OK\nContent-Length: 99999999\n\n" + strings.Repeat(" ", 1<<20)),
		"negative length":        head("HTTP/1.1 200 OK\nContent-Length: -1\n\n"),
		"closes":                 func(c net.Conn, in *bufio.Reader) { http.ReadRequest(in) },
		"is a WebSocket at once": func(c net.Conn, in *bufio.Reader) {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
			fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
			io.Copy(io.Discard, in)
		},
	}
	proxy := listenFirst(t, "tcp", "127.0.0.1:0", body("ok"))
	ping := pings(t, d, proxy.Addr().String())
	for name := range ping {
		if out, err := ping[name](d.WS()); err != nil || !strings.Contains(strings.ToLower(out), "pong") {
			t.Fatalf("%s, at its own daemon: %v %s", name, err, out)
		}
	}
	tried, through := 0, 0
	for trick, answer := range tricks {
		first := listenFirst(t, "tcp", "127.0.0.1:0", answer)
		_, port, _ := net.SplitHostPort(first.Addr().String())
		for _, host := range []string{"127.0.0.1", "localhost"} {
			for name := range ping {
				if host == "localhost" && name != "go" && trick != "passes on" {
					continue // their programs take long to start
				}
				tried++
				if out, err := ping[name]("ws://" + host + ":" + port + "/v1/ws"); err == nil {
					t.Errorf("%s at %s, %s: connected: %s", name, host, trick, out)
				}
			}
		}
		if strings.Contains(first.was(), d.Token) || strings.Contains(first.was(), "Authorization") {
			through++
			t.Errorf("%s: it was sent the token", trick)
		}
	}
	if s := proxy.was(); s != "" {
		t.Errorf("the proxy of the environment was sent %q", s)
	}
	if tried != 70 || len(tricks) != 17 { // docs/security.md says so
		t.Errorf("%d connections, %d tricks", tried, len(tricks))
	}
	t.Logf("%d of %d impostors got the token", through, len(tricks))
}

// A socket that somebody else has put where the daemon's would be, in a state directory that
// is theirs, gets no token either.
func TestTheSocketOfAnImpostor(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "browserd")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const token = "environment-token-0123456789"
	first := listenFirst(t, "unix", filepath.Join(dir, "127.0.0.1:9333.sock"), func(c net.Conn, in *bufio.Reader) {
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			own := `{"nonce":"` + strings.Repeat("0", 64) + `","proofs":["` + r.FormValue("nonce") + `"]}`
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(own), own)
		}
	})
	if err := os.Chmod(filepath.Join(dir, "127.0.0.1:9333.sock"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", home)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if c, err := client.Connect(ctx, client.Options{Token: token}); err == nil {
		c.Close()
		t.Error("the client connected")
	}
	if s := first.was(); !strings.Contains(s, protocol.ProofPath) || strings.Contains(s, token) {
		t.Errorf("the socket was sent %q", s)
	}
}
