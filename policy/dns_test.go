package policy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/browserd/browserd/internal/fakedns"
)

// speak is a DNS server on loopback that calls do with each datagram.
func speak(t *testing.T, do func(n int, req *dns.Msg, send func(*dns.Msg, []byte))) dnsServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		asked := map[uint16]int{}
		for buf := make([]byte, 4096); ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			req := new(dns.Msg)
			if err := req.Unpack(buf[:n]); err != nil {
				t.Errorf("the question is no DNS message: %v", err)
				continue
			}
			asked[req.Question[0].Qtype]++
			do(asked[req.Question[0].Qtype], req, func(m *dns.Msg, raw []byte) {
				if m != nil {
					raw, _ = m.Pack()
				}
				conn.WriteTo(raw, from)
			})
		}
	}()
	t.Cleanup(func() {
		conn.Close()
		<-ended
	})
	return dnsServer{netip.MustParseAddrPort(conn.LocalAddr().String())}
}

func answer(req *dns.Msg, ip string) *dns.Msg {
	m := new(dns.Msg)
	m.SetReply(req)
	if q := req.Question[0]; q.Qtype == dns.TypeA && ip != "" {
		m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.ParseIP(ip)}}
	}
	return m
}

// A message that does not answer the question is ignored. A lost question is sent again.
func TestAsk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(n int, req *dns.Msg, send func(*dns.Msg, []byte))
		want string
	}{
		{"plain", func(_ int, req *dns.Msg, send func(*dns.Msg, []byte)) { send(answer(req, "8.8.8.8"), nil) }, "[8.8.8.8] <nil>"},
		{"another id first", func(_ int, req *dns.Msg, send func(*dns.Msg, []byte)) {
			forged := answer(req, "10.0.0.1")
			forged.Id++
			send(forged, nil)
			send(answer(req, "8.8.8.8"), nil)
		}, "[8.8.8.8] <nil>"},
		{"another question first", func(_ int, req *dns.Msg, send func(*dns.Msg, []byte)) {
			forged := answer(req, "10.0.0.1")
			forged.Question[0].Name = "other.test.com."
			send(forged, nil)
			send(answer(req, "8.8.8.8"), nil)
		}, "[8.8.8.8] <nil>"},
		{"rubbish first", func(_ int, req *dns.Msg, send func(*dns.Msg, []byte)) {
			send(nil, []byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			send(nil, nil)
			send(answer(req, "8.8.8.8"), nil)
		}, "[8.8.8.8] <nil>"},
		{"a question back", func(_ int, req *dns.Msg, send func(*dns.Msg, []byte)) {
			send(req, nil)
			send(answer(req, "8.8.8.8"), nil)
		}, "[8.8.8.8] <nil>"},
		{"the first is lost", func(n int, req *dns.Msg, send func(*dns.Msg, []byte)) {
			if n > 1 {
				send(answer(req, "8.8.8.8"), nil)
			}
		}, "[8.8.8.8] <nil>"},
		{"an address of another name", func(_ int, req *dns.Msg, send func(*dns.Msg, []byte)) {
			m := answer(req, "8.8.8.8")
			for _, r := range m.Answer {
				r.Header().Name = "other.test.com."
			}
			send(m, nil)
		}, "[] <nil>"},
		{"aliases in a circle", func(_ int, req *dns.Msg, send func(*dns.Msg, []byte)) {
			m, q := answer(req, ""), req.Question[0].Name
			alias := func(from, to string) dns.RR {
				return &dns.CNAME{Hdr: dns.RR_Header{Name: from, Rrtype: dns.TypeCNAME, Class: dns.ClassINET}, Target: to}
			}
			m.Answer = []dns.RR{alias(q, "b.test.com."), alias("b.test.com.", q)}
			send(m, nil)
		}, "[] <nil>"},
		{"a chain of aliases", func(_ int, req *dns.Msg, send func(*dns.Msg, []byte)) {
			m, q := answer(req, "8.8.8.8"), req.Question[0].Name
			alias := func(from, to string) dns.RR {
				return &dns.CNAME{Hdr: dns.RR_Header{Name: from, Rrtype: dns.TypeCNAME, Class: dns.ClassINET}, Target: to}
			}
			for _, r := range m.Answer {
				r.Header().Name = "C.test.com."
			}
			m.Answer = append(m.Answer, alias("b.test.com.", "c.test.com."), alias(q, "B.test.com."))
			send(m, nil)
		}, "[8.8.8.8] <nil>"},
		{"IPv6 alone fails", func(_ int, req *dns.Msg, send func(*dns.Msg, []byte)) {
			m := answer(req, "8.8.8.8")
			if req.Question[0].Qtype == dns.TypeAAAA {
				m.Rcode = dns.RcodeServerFailure
			}
			send(m, nil)
		}, "[8.8.8.8] <nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			addrs, err := speak(t, c.do).LookupNetIP(t.Context(), "www.test.com")
			if got := fmt.Sprint(addrs, err); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAskFails(t *testing.T) {
	t.Parallel()
	silent := speak(t, func(int, *dns.Msg, func(*dns.Msg, []byte)) {})
	began := time.Now()
	_, err := silent.LookupNetIP(t.Context(), "www.test.com")
	var d *net.DNSError
	if !errors.As(err, &d) || !d.IsTimeout || d.IsNotFound {
		t.Errorf("a silent server: %v", err)
	}
	if took := time.Since(began); took > lookupTimeout {
		t.Errorf("it took %v", took)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := silent.LookupNetIP(gone, "www.test.com"); !errors.Is(err, context.Canceled) && !errors.As(err, &d) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := fakeServer(t).LookupNetIP(t.Context(), "nowhere.test.com"); !errors.As(err, &d) || !d.IsNotFound {
		t.Errorf("no such name: %v", err)
	}
}

func fakeServer(t *testing.T) dnsServer { return dnsServer{fakedns.Start(t).Addr} }
