package policy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
)

// A browser sends a % that begins no escape as it stands in the URL (WHATWG URL,
// path percent-encode set), and so does the proxy: in the first request of a
// connection and in a later one, behind a body that looks like a request too.
func TestProxyForwardsAStrayPercent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	lines := make(chan string, 10) // more than the test sends
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					length := 0
					for header := ""; header != "\r\n"; {
						if header, err = r.ReadString('\n'); err != nil {
							return
						}
						fmt.Sscanf(header, "Content-Length: %d", &length)
					}
					body := make([]byte, length)
					io.ReadFull(r, body)
					lines <- line + string(body)
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			}()
		}
	}()
	p := newProxied(t, EgressConfig{}, "127.0.0.1")
	host := l.Addr().String()
	c, r := raw(t, p.proxy, "GET http://"+host+"/100%?q=50%&%zz HTTP/1.1\nHost: "+host+"\n$AUTH\n\n")
	answered := func() {
		t.Helper()
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 200 || string(body) != "ok" {
			t.Errorf("HTTP %d %q", resp.StatusCode, body)
		}
	}
	answered()
	auth := p.proxy.auth
	for _, request := range []string{
		"POST http://%s/a%%2/%%zz/%%7E HTTP/1.1\r\nHost: %[1]s\r\nProxy-Authorization: %[2]s\r\nContent-Length: 21\r\n\r\nGET http://x/%% HTTP/1",
		"GET http://%s/plain/%%7E HTTP/1.1\r\nHost: %[1]s\r\nProxy-Authorization: %[2]s\r\n\r\n",
		"GET http://%s/%% HTTP/1.1\r\nHost: %[1]s\r\nProxy-Authorization: %[2]s\r\n\r\n",
	} {
		if _, err := io.WriteString(c, fmt.Sprintf(request, host, auth)); err != nil {
			t.Fatal(err)
		}
		answered()
	}
	close(lines)
	want := []string{
		"GET /100%?q=50%&%zz HTTP/1.1\r\n", "POST /a%2/%zz/%7E HTTP/1.1\r\nGET http://x/% HTTP/1", "GET /plain/%7E HTTP/1.1\r\n", "GET /% HTTP/1.1\r\n",
	}
	if got := slices.Collect(func(yield func(string) bool) {
		for line := range lines {
			yield(line)
		}
	}); !slices.Equal(got, want) {
		t.Errorf("the site got %q\nwant %q", got, want)
	}
	// In a host it is still no URL, and what is no request stays none.
	for _, line := range []string{"GET http://127.0.0.1%/ HTTP/1.1", "GET http://" + host + "/% x HTTP/1.1", "GET % HTTP/1.1"} {
		_, r := raw(t, p.proxy, line+"\nHost: "+host+"\n$AUTH\n\n")
		if got := status(t, r); got != 400 {
			t.Errorf("%s: HTTP %d", line, got)
		}
	}
}

func TestEscapeStrayPercents(t *testing.T) {
	for line, want := range map[string]string{
		"GET http://h/100% HTTP/1.1\r":      "GET http://h/100%25 HTTP/1.1\r",
		"ET http://h/%?q=% HTTP/1.1\r":      "ET http://h/%25?q=% HTTP/1.1\r",
		"GET http://h/%zz%41%4 HTTP/1.1":    "GET http://h/%25zz%41%254 HTTP/1.1",
		"GET http://h%/%41 HTTP/1.1":        "GET http://h%/%41 HTTP/1.1",
		"GET http://h HTTP/1.1":             "GET http://h HTTP/1.1",
		"CONNECT h:443 HTTP/1.1":            "CONNECT h:443 HTTP/1.1",
		"GET /% HTTP/1.1":                   "GET /% HTTP/1.1",
		"GET http://h/% HTTP/1.1 HTTP/1.1":  "GET http://h/% HTTP/1.1 HTTP/1.1",
		"%":                                 "%",
		"":                                  "",
		"GET https://h/% HTTP/1.1":          "GET https://h/% HTTP/1.1",
		"POST http://h/a%%20b% HTTP/1.1\r":  "POST http://h/a%25%20b%25 HTTP/1.1\r",
		"GET http://h/?a=% HTTP/1.1":        "GET http://h/?a=% HTTP/1.1",
		"GET http://h?a=/% HTTP/1.1":        "GET http://h?a=/% HTTP/1.1",
		"GET http://h/%e4%b8%ad%d HTTP/1.1": "GET http://h/%e4%b8%ad%25d HTTP/1.1",
	} {
		got, _ := escapeStrayPercents(line)
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// A connection that waits for a request has no buffer of its own: a request line that stays as it is, is read
// into its reader's, and no byte beyond. A longer one comes piece by piece, rewritten or not.
func TestRequestLinesAreReadInPlace(t *testing.T) {
	for sent, want := range map[string]string{
		"GET http://a.test/100%25 HTTP/1.1\r\nHost: a.test\r\n\r\n": "GET http://a.test/100%25 HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"GET http://a.test/100% HTTP/1.1\r\nHost: a.test\r\n\r\n":   "GET http://a.test/100%25 HTTP/1.1\r\nHost: a.test\r\n\r\n",
	} {
		for _, size := range []int{1, 16, len(sent), 4096} {
			near, far := net.Pipe()
			go func() {
				io.WriteString(far, sent)
				far.Close()
			}()
			c, got := &strayPercentConn{Conn: near, atLine: true}, ""
			memory := make([]byte, size+4096)
			for {
				n, err := c.Read(memory[:size])
				if got += string(memory[:n]); err != nil {
					break
				}
			}
			near.Close()
			if beyond := bytes.Trim(memory[size:], "\x00"); got != want || len(beyond) > 0 {
				t.Errorf("%q with a buffer of %d bytes: read %q, and wrote %q beyond it", sent, size, got, beyond)
			}
		}
	}
	near, far := net.Pipe()
	defer near.Close()
	go far.Write([]byte("GET http://a.test/ HTTP/1.1\r\n"))
	buf := make([]byte, 1, 4096)
	if line, err := (&strayPercentConn{Conn: near}).readLine(buf[:0]); err != nil || &line[0] != &buf[0] {
		t.Errorf("%q is not in the reader's buffer, %v", line, err)
	}
}
