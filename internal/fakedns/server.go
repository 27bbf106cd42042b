// Package fakedns is a DNS server on loopback for tests: real packets over UDP
// and TCP, and answers that a test scripts, one after the other where a name
// is to change its mind between two look-ups.
//
// It owns its sockets and ends with the test. Any goroutine may use a Server.
package fakedns

import (
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// Answer is what one look-up of a name finds. The zero value is a name without
// addresses.
type Answer struct {
	A, AAAA []string
	// CNAME is the name that the looked up one is an alias of, and that holds the
	// addresses.
	CNAME string
	// RCode is NXDOMAIN, SERVFAIL or another of the DNS' words; empty: NOERROR.
	RCode string
	// Timeout leaves the question without an answer.
	Timeout bool
	TTL     uint32
}

// Server answers for the names that it was told of, and NXDOMAIN for others.
type Server struct {
	// Addr is where it listens, over UDP and TCP.
	Addr netip.AddrPort

	mu     sync.Mutex
	script map[string][]Answer
	asked  map[dns.Question]int
	tcp    int
}

// Start returns a server that answers until the test ends.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{script: map[string][]Answer{}, asked: map[dns.Question]int{}}
	tcp, udp := listen(tb)
	s.Addr = tcp.Addr().(*net.TCPAddr).AddrPort()
	for _, d := range []*dns.Server{{Listener: tcp, Handler: s}, {PacketConn: udp, Handler: s}} {
		up := make(chan struct{})
		ended := make(chan struct{})
		d.NotifyStartedFunc = func() { close(up) }
		go func() {
			defer close(ended)
			d.ActivateAndServe()
		}()
		<-up
		tb.Cleanup(func() {
			d.Shutdown()
			<-ended
		})
	}
	return s
}

// listen takes a port that is free for both protocols.
func listen(tb testing.TB) (net.Listener, net.PacketConn) {
	tb.Helper()
	var err error
	for range 20 {
		var tcp net.Listener
		if tcp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			break
		}
		var udp net.PacketConn
		if udp, err = net.ListenPacket("udp", tcp.Addr().String()); err == nil {
			return tcp, udp
		}
		tcp.Close()
	}
	tb.Fatalf("no port for a DNS server: %v", err)
	return nil, nil
}

// Set scripts name: each look-up of one kind of address finds the next answer,
// and the last one from then on. It forgets what was asked before.
func (s *Server) Set(name string, answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := dns.CanonicalName(name)
	s.script[key] = answers
	for q := range s.asked {
		if q.Name == key {
			delete(s.asked, q)
		}
	}
}

// Lookups returns how often name was looked up: questions for A or for AAAA,
// whichever were more.
func (s *Server) Lookups(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for q, asked := range s.asked {
		if q.Name == dns.CanonicalName(name) {
			n = max(n, asked)
		}
	}
	return n
}

// Names lists every name that was asked for, without its final dot.
func (s *Server) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]bool{}
	var names []string
	for q := range s.asked {
		if n := strings.TrimSuffix(q.Name, "."); !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	return names
}

// OverTCP returns how many questions came over TCP.
func (s *Server) OverTCP() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tcp
}

// ServeDNS answers one message.
func (s *Server) ServeDNS(w dns.ResponseWriter, req *dns.Msg) {
	defer w.Close()
	if len(req.Question) != 1 {
		return
	}
	q := req.Question[0]
	q.Name = dns.CanonicalName(q.Name)
	answer, known := s.next(q, w)
	if answer.Timeout {
		return
	}
	m := new(dns.Msg)
	m.SetReply(req)
	m.RecursionAvailable = true
	switch {
	case !known:
		m.Rcode = dns.RcodeNameError
	case answer.RCode != "":
		m.Rcode = dns.StringToRcode[answer.RCode]
	default:
		m.Answer = records(req.Question[0].Name, q.Qtype, answer)
	}
	if _, udp := w.RemoteAddr().(*net.UDPAddr); udp {
		size := dns.MinMsgSize
		if o := req.IsEdns0(); o != nil {
			size = int(o.UDPSize())
		}
		m.Truncate(size)
	}
	w.WriteMsg(m)
}

func (s *Server) next(q dns.Question, w dns.ResponseWriter) (Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.asked[q]
	s.asked[q]++
	if _, ok := w.RemoteAddr().(*net.TCPAddr); ok {
		s.tcp++
		n = max(0, n-1) // the question that was cut short over UDP
	}
	answers, known := s.script[q.Name]
	if len(answers) == 0 {
		return Answer{}, known
	}
	return answers[min(n, len(answers)-1)], true
}

func records(name string, qtype uint16, a Answer) []dns.RR {
	var out []dns.RR
	head := func(t uint16) dns.RR_Header {
		return dns.RR_Header{Name: name, Rrtype: t, Class: dns.ClassINET, Ttl: a.TTL}
	}
	if a.CNAME != "" {
		out = append(out, &dns.CNAME{Hdr: head(dns.TypeCNAME), Target: dns.Fqdn(a.CNAME)})
		name = dns.Fqdn(a.CNAME)
	}
	switch qtype {
	case dns.TypeA:
		for _, ip := range a.A {
			out = append(out, &dns.A{Hdr: head(qtype), A: net.ParseIP(ip)})
		}
	case dns.TypeAAAA:
		for _, ip := range a.AAAA {
			out = append(out, &dns.AAAA{Hdr: head(qtype), AAAA: net.ParseIP(ip)})
		}
	}
	return out
}
