package browser

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// watchIdle is how long Chromium is watched doing nothing: a minute says more
// than continuous integration has time for.
var watchIdle = flag.Duration("idle", 2*time.Second, "how long TestNothingLeaks watches an idle Chromium")

//go:embed testdata/leaks
var leakPages embed.FS

// fakeWorld is everything outside, on every address: what of it was reached.
type fakeWorld struct {
	t                            *testing.T
	site, forbidden, preconnects string // host:port on 127.0.0.1

	mu      sync.Mutex
	reached map[string]bool
	allowed map[uint16]bool // loopback TCP ports that may be spoken with
}

func newFakeWorld(t *testing.T) *fakeWorld {
	w := &fakeWorld{t: t, reached: map[string]bool{}, allowed: map[uint16]bool{}}
	listen := func(h http.Handler, accepted string) string {
		l, err := net.Listen("tcp", ":0")
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: h, ConnState: func(_ net.Conn, st http.ConnState) {
			if accepted != "" && st == http.StateNew {
				w.reach(accepted)
			}
		}}
		go s.Serve(l)
		t.Cleanup(func() { s.Close() })
		return fmt.Sprintf("127.0.0.1:%d", l.Addr().(*net.TCPAddr).Port)
	}
	w.forbidden = listen(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.reach(strings.TrimPrefix(r.URL.Path, "/"))
		rw.Header().Set("Access-Control-Allow-Origin", "*")
		if r.URL.Path == "/download" {
			rw.Header().Set("Content-Disposition", "attachment")
		}
	}), "a connection")
	w.preconnects = listen(http.NotFoundHandler(), "preconnect")
	w.site = listen(http.HandlerFunc(w.serve), "")
	w.nameServer()
	w.sniff()
	return w
}

func (w *fakeWorld) reach(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached[what] = true
}

// take returns what was reached since the last take, and begins anew.
func (w *fakeWorld) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for what := range w.reached {
		list = append(list, what)
	}
	slices.Sort(list)
	w.reached = map[string]bool{}
	return list
}

// serve is the page that tries to get out.
func (w *fakeWorld) serve(rw http.ResponseWriter, r *http.Request) {
	name, where, kind := "page.html", "", "text/html"
	switch r.URL.Path {
	case "/redirect", "/topredirect":
		http.Redirect(rw, r, "http://"+w.forbidden+r.URL.Path, http.StatusFound)
		return
	case "/worker.js", "/shared.js", "/service.js":
		name, kind, where = "worker.js", "text/javascript", strings.TrimSuffix(r.URL.Path[1:], ".js")
	case "/":
	default:
		http.NotFound(rw, r)
		return
	}
	b, err := leakPages.ReadFile("testdata/leaks/" + name)
	if err != nil {
		w.t.Error(err)
	}
	_, port, _ := net.SplitHostPort(w.forbidden)
	rw.Header().Set("Content-Type", kind)
	strings.NewReplacer("FORBIDDEN", w.forbidden, "PRECONNECT", w.preconnects, "PORT", port, "SITE", w.site, "WHERE", where).WriteString(rw, string(b))
}

// nameServer answers every name, whichever server is asked.
func (w *fakeWorld) nameServer() {
	c, err := net.ListenUDP("udp", &net.UDPAddr{Port: 53})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	// Where a server of the machine's own is configured, answers must come from it.
	go func() {
		for b := make([]byte, 1500); ; {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(b[:n]) != nil || len(m.Questions) == 0 {
				continue
			}
			q := m.Questions[0]
			w.reach("lookup of " + strings.TrimSuffix(q.Name.String(), "."))
			answer := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
			if q.Type == dnsmessage.TypeA {
				answer.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1},
					Body:   &dnsmessage.AResource{A: [4]byte{93, 184, 216, 50}},
				}}
			}
			if out, err := answer.Pack(); err == nil {
				c.WriteTo(out, from)
			}
		}
	}()
}

// sniff notes every packet but TCP on loopback with an allowed port.
func (w *fakeWorld) sniff() {
	s, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(htons(unix.ETH_P_ALL)))
	if err != nil {
		w.t.Fatal(err)
	}
	tv := unix.NsecToTimeval(int64(50 * time.Millisecond))
	unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv)
	unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUF, 32<<20)
	ended, stop := make(chan struct{}), make(chan struct{})
	w.t.Cleanup(func() { close(stop); <-ended; unix.Close(s) })
	go func() {
		defer close(ended)
		for b := make([]byte, 70000); ; {
			n, _, err := unix.Recvfrom(s, b, 0)
			if err == nil {
				w.packet(b[:n])
				continue
			}
			select {
			case <-stop:
				return
			default:
			}
			if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
				w.t.Error(err)
				return
			}
		}
	}()
}

func htons(v uint16) uint16 { return v<<8 | v>>8 }

// packet notes one IP packet, by where it goes.
func (w *fakeWorld) packet(b []byte) {
	var protocol byte
	var src, dst net.IP
	var rest []byte
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		protocol, src, dst, rest = b[9], net.IP(b[12:16]), net.IP(b[16:20]), b[int(b[0]&15)*4:]
	case len(b) >= 40 && b[0]>>4 == 6:
		protocol, src, dst, rest = b[6], net.IP(b[8:24]), net.IP(b[24:40]), b[40:]
	default:
		return
	}
	if protocol == unix.IPPROTO_ICMPV6 && dst.IsLinkLocalMulticast() || protocol == unix.IPPROTO_HOPOPTS || protocol == unix.IPPROTO_IGMP {
		return // the kernel's own, of its network card and of groups joined and left
	}
	if len(rest) < 4 || protocol != unix.IPPROTO_TCP && protocol != unix.IPPROTO_UDP {
		w.reach(fmt.Sprintf("protocol %d to %v", protocol, dst))
		return
	}
	from, to := uint16(rest[0])<<8|uint16(rest[1]), uint16(rest[2])<<8|uint16(rest[3])
	w.mu.Lock()
	ok := protocol == unix.IPPROTO_TCP && src.IsLoopback() && dst.IsLoopback() && (w.allowed[from] || w.allowed[to])
	w.mu.Unlock()
	if ok {
		return
	}
	name := map[byte]string{unix.IPPROTO_TCP: "tcp", unix.IPPROTO_UDP: "udp"}[protocol]
	if to >= 32768 && from < 32768 {
		return // to a port of the system's choice: an answer, and the question was noted
	}
	w.reach(fmt.Sprintf("%s to %v", name, net.JoinHostPort(dst.String(), fmt.Sprint(to))))
}

func (w *fakeWorld) allow(hostPorts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, hp := range hostPorts {
		a, err := net.ResolveTCPAddr("tcp", hp)
		if err != nil {
			w.t.Fatal(err)
		}
		w.allowed[uint16(a.Port)] = true
	}
}

// visit lets the page try, and navigates to forbidden addresses by hand.
func (w *fakeWorld) visit(t *testing.T, c *Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := c.Open(ctx, "http://"+w.site+"/", protocol.WaitNone); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(ctx, nil, protocol.Wait{Expression: "document.title === 'tried'"}, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, u := range []string{"http://" + w.forbidden + "/open", "http://" + w.site + "/topredirect", "https://93.184.216.60/"} {
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		c.Open(short, u, protocol.WaitNone) // its error is tested elsewhere
		cancel()
	}
}

// mustLeak is what the page reaches in both builds if nothing holds it: the
// test can fail.
var mustLeak = strings.Split("a connection,audio,background,css,dataframe,datasocket,download,embed,eventsource,fetch,font,iframe,img,import,"+
	"ipv6,keepalive,localhost,metadata,modulepreload,name,object,open,poster,prefetch,preload,private,public,redirect,refresh,script,"+
	"service-fetch,service-socket,service-stream,shared-fetch,shared-socket,shared-stream,speculation,srcdoc,sublocalhost,svg,topredirect,"+
	"video,websocket,websocketstream,xhr,"+
	"lookup of name.example.com,lookup of stun.example.com,lookup of turn.example.com,tcp to 93.184.216.60:443,"+
	"udp to 93.184.216.40:4433,udp to 93.184.216.41:3478,udp to 93.184.216.42:3478,tcp to 93.184.216.43:3478,tcp to 93.184.216.44:5349,"+
	"udp to 93.184.216.45:3478,udp to 93.184.216.50:3478,tcp to 93.184.216.50:3478,udp to 224.0.0.251:5353", ",")

// Nothing that a page does reaches anything but what its session may reach, and
// Chromium sends nothing of its own: not at its start, not idle, not while it
// browses. The same page gets through where there is no proxy.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	if !inNamespace(t) {
		return
	}
	w := newFakeWorld(t)
	t.Run("control", func(t *testing.T) {
		builds(t, func(t *testing.T, cfg chromium.Config) {
			w.take()
			b := New(started(t, cfg), discard())
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			c, err := b.NewContext(ctx, ContextOptions{}, quiet)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(context.Background())
			w.visit(t, c)
			got := w.take()
			t.Logf("%d ways: %s", len(got), strings.Join(got, ", "))
			for _, way := range mustLeak {
				if !slices.Contains(got, way) {
					t.Errorf("without a proxy the page did not reach %s: the test could not fail on it", way)
				}
			}
		})
	})
	t.Run("guarded", func(t *testing.T) {
		bothWays(t, func(t *testing.T, cfg chromium.Config, jailed bool) {
			w.take()
			w.mu.Lock()
			w.allowed = map[uint16]bool{}
			w.mu.Unlock()
			w.allow(w.site)
			g := behindProxy(t, cfg, policy.Config{AllowHosts: []string{w.site}, AllowedDomains: []string{"127.0.0.1"}, Ports: []int{80}}, jailed, func(e *policy.Egress) {
				w.allow(strings.TrimPrefix(e.Refusing(), "http://"))
			})
			time.Sleep(*watchIdle) // there is no event for nothing
			if got := w.take(); len(got) > 0 {
				t.Errorf("at its start Chromium reached %s", strings.Join(got, ", "))
			}
			c := g.open(t, policy.GateOptions{}, quiet)
			w.visit(t, c)
			if got := w.take(); len(got) > 0 {
				t.Errorf("the page reached %s", strings.Join(got, ", "))
			}
			time.Sleep(min(*watchIdle, time.Second))
			if got := w.take(); len(got) > 0 {
				t.Errorf("afterwards Chromium reached %s", strings.Join(got, ", "))
			}
			if n := c.egress.Refused(); n < 30 {
				t.Errorf("the proxy refused %d connections: did the page try?", n)
			}
		})
	})
}
