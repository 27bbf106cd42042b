package policy

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// A question that gets no answer is sent again, queryAttempts in all.
	queryTimeout  = 1500 * time.Millisecond
	queryAttempts = 3
	// udpSize is what an answer over UDP may hold without being cut into
	// fragments on the way (RFC 9715 section 3).
	udpSize = 1232
)

// server is the DNS server that policy.resolver names. Package net is not used, because
// it would also read /etc/hosts and the system's search list, and because it refuses
// names with a label that begins with a hyphen, which exist.
type dnsServer struct{ addr netip.AddrPort }

func parseDNSServer(address string) (dnsServer, error) {
	if at, err := netip.ParseAddrPort(address); err == nil && at.Port() != 0 {
		return dnsServer{at}, nil
	}
	a, err := netip.ParseAddr(strings.Trim(address, "[]"))
	if err != nil {
		return dnsServer{}, fmt.Errorf("%q: accepts the address of a DNS server, such as 1.1.1.1 or [::1]:5353", address)
	}
	return dnsServer{netip.AddrPortFrom(a, 53)}, nil
}

// LookupNetIP asks for name's IPv6 and IPv4 addresses in parallel and returns them, IPv6
// first. It returns none and no error if the name exists without addresses. If only one
// of the two questions is answered, that answer counts. The error is a *net.DNSError.
func (s dnsServer) LookupNetIP(ctx context.Context, name string) ([]netip.Addr, error) {
	type outcome struct {
		addrs []netip.Addr
		err   error
	}
	ask := func(t dnsmessage.Type) chan outcome {
		c := make(chan outcome, 1)
		go func() {
			addrs, err := s.query(ctx, name, t)
			c <- outcome{addrs, err}
		}()
		return c
	}
	six, four := ask(dnsmessage.TypeAAAA), ask(dnsmessage.TypeA)
	a, b := <-six, <-four
	addrs := append(a.addrs, b.addrs...)
	if len(addrs) > 0 {
		return addrs, nil
	}
	return nil, dnsError(name, errors.Join(b.err, a.err))
}

var errNoSuchName = errors.New("no such name")

func dnsError(name string, err error) error {
	if err == nil {
		return nil
	}
	var ne net.Error
	timeout := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &ne) && ne.Timeout()
	return &net.DNSError{Err: err.Error(), Name: name, UnwrapErr: err, IsTimeout: timeout, IsNotFound: errors.Is(err, errNoSuchName)}
}

func (s dnsServer) query(ctx context.Context, name string, t dnsmessage.Type) ([]netip.Addr, error) {
	qname, err := dnsmessage.NewName(strings.TrimSuffix(name, ".") + ".")
	if err != nil {
		return nil, err
	}
	q := dnsmessage.Question{Name: qname, Type: t, Class: dnsmessage.ClassINET}
	for range queryAttempts {
		var m dnsmessage.Message
		if m, err = s.exchange(ctx, "udp", q); err == nil && m.Truncated {
			m, err = s.exchange(ctx, "tcp", q)
		}
		var ne net.Error
		if errors.As(err, &ne) && ne.Timeout() && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch m.RCode {
		case dnsmessage.RCodeSuccess:
			return addresses(m.Answers, qname), nil
		case dnsmessage.RCodeNameError:
			return nil, errNoSuchName
		}
		return nil, fmt.Errorf("the server answers %s", strings.TrimPrefix(m.RCode.String(), "RCode"))
	}
	return nil, err
}

// exchange sends q and waits for its answer, at most queryTimeout. What comes
// back with another id or question is not the answer (RFC 5452 section 9).
func (s dnsServer) exchange(ctx context.Context, network string, q dnsmessage.Question) (dnsmessage.Message, error) {
	var id [2]byte
	rand.Read(id[:])
	packet, err := question(binary.BigEndian.Uint16(id[:]), q)
	if err != nil {
		return dnsmessage.Message{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, network, s.addr.String())
	if err != nil {
		return dnsmessage.Message{}, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })()
	if network == "tcp" {
		packet = append(binary.BigEndian.AppendUint16(nil, uint16(len(packet))), packet...)
	}
	if _, err := c.Write(packet); err != nil {
		return dnsmessage.Message{}, err
	}
	for {
		data, err := receive(c, network)
		if err != nil {
			return dnsmessage.Message{}, err
		}
		var m dnsmessage.Message
		if m.Unpack(data) == nil && m.ID == binary.BigEndian.Uint16(id[:]) && m.Response && len(m.Questions) == 1 && sameQuestion(m.Questions[0], q) {
			return m, nil
		}
	}
}

func question(id uint16, q dnsmessage.Question) ([]byte, error) {
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: id, RecursionDesired: true})
	var opt dnsmessage.ResourceHeader
	err := errors.Join(b.StartQuestions(), b.Question(q), b.StartAdditionals(),
		opt.SetEDNS0(udpSize, dnsmessage.RCodeSuccess, false), b.OPTResource(opt, dnsmessage.OPTResource{}))
	if err != nil {
		return nil, err
	}
	return b.Finish()
}

func receive(c net.Conn, network string) ([]byte, error) {
	buf := make([]byte, 1<<16)
	if network == "udp" {
		n, err := c.Read(buf)
		return buf[:n], err
	}
	if _, err := io.ReadFull(c, buf[:2]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint16(buf)
	_, err := io.ReadFull(c, buf[:n])
	return buf[:n], err
}

func sameQuestion(a, b dnsmessage.Question) bool {
	return a.Type == b.Type && a.Class == b.Class && strings.EqualFold(a.Name.String(), b.Name.String())
}

// addresses follows the aliases from name (RFC 1034 section 3.6.2) and returns
// the addresses at their end.
func addresses(answers []dnsmessage.Resource, name dnsmessage.Name) []netip.Addr {
	at := name.String()
	for range answers {
		next := ""
		for _, r := range answers {
			if c, ok := r.Body.(*dnsmessage.CNAMEResource); ok && strings.EqualFold(r.Header.Name.String(), at) {
				next = c.CNAME.String()
			}
		}
		if next == "" {
			break
		}
		at = next
	}
	var out []netip.Addr
	for _, r := range answers {
		if !strings.EqualFold(r.Header.Name.String(), at) {
			continue
		}
		switch b := r.Body.(type) {
		case *dnsmessage.AResource:
			out = append(out, netip.AddrFrom4(b.A))
		case *dnsmessage.AAAAResource:
			out = append(out, netip.AddrFrom16(b.AAAA))
		}
	}
	return out
}
