package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
)

// askedHandler notes what a node does for whoever has come to its port.
type askedHandler struct {
	nopHandler
	asked chan string
}

func (h askedHandler) Call(_ context.Context, _ string, c Call, answer func(Answer)) {
	h.asked <- c.Method
	answer(Answer{})
}

func (h askedHandler) ServeHTTPConn(conn net.Conn) {
	h.asked <- "requests"
	conn.Close()
}

// foreignIdentity is the identity of a node of that ID in another fleet.
func foreignIdentity(t *testing.T, id string) *identity {
	t.Helper()
	content, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	size := int(content[0])<<8 | int(content[1])
	ca, err1 := x509.ParseCertificate(content[2 : 2+size])
	key, err2 := x509.ParseECPrivateKey(content[2+size:])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return &identity{id: id, ca: ca, key: key}
}

// A node does nothing for strangers at its port, whatever certificate they show, on either kind of
// connection: a node of the fleet is believed whose command it passes on, without a token.
func TestStrangersAtTheFleetsPort(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	a, b := joinTest(t, dsn, "a"), joinTest(t, dsn, "b")
	h := askedHandler{asked: make(chan string, 99)} // 99: more than are asked
	if err := a.Serve(h); err != nil {
		t.Fatal(err)
	}
	other := foreignIdentity(t, b.ID())
	trusting := func(c *tls.Config) *tls.Config { // of whoever answers
		c.InsecureSkipVerify = true
		return c
	}
	for name, config := range map[string]func(speaks ...string) *tls.Config{
		"a node": func(speaks ...string) *tls.Config { return b.identity.config(a.ID(), speaks...) },
		"no certificate": func(speaks ...string) *tls.Config {
			return trusting(&tls.Config{NextProtos: speaks})
		},
		"another fleet's": func(speaks ...string) *tls.Config { return trusting(other.config(a.ID(), speaks...)) },
		"another fleet's, with this one's authority beside it": func(speaks ...string) *tls.Config {
			c := trusting(other.config(a.ID(), speaks...))
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				leaf, err := other.certificate()
				if err != nil {
					return nil, err
				}
				return &tls.Certificate{Certificate: [][]byte{leaf.Certificate[0], b.identity.ca.Raw}, PrivateKey: leaf.PrivateKey}, nil
			}
			return c
		},
		"TLS 1.2": func(speaks ...string) *tls.Config {
			c := b.identity.config(a.ID(), speaks...)
			c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
			return c
		},
		"no TLS": nil,
	} {
		for _, speaks := range [][]string{wireVersions, {wireHTTP}, nil} {
			conn, err := net.Dial("tcp", a.listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			if config != nil {
				conn = tls.Client(conn, config(slices.Clone(speaks)...))
			}
			call, err := (&frame{ID: 1, Call: &Call{Agent: "ann", Role: "operator", Method: "ping", Params: []byte("{}")}}).encode()
			if err != nil {
				t.Fatal(err)
			}
			conn.Write(call)      // fails where the handshake does
			if name == "a node" { // else the strangers' silence would prove nothing
				want := "ping"
				if slices.Contains(speaks, wireHTTP) {
					want = "requests"
				}
				select {
				case got := <-h.asked:
					if got != want {
						t.Errorf("%s, %v: asked %s, want %s", name, speaks, got, want)
					}
				case <-time.After(20 * time.Second):
					t.Errorf("%s, %v: nothing was asked", name, speaks)
				}
				conn.Close()
				continue
			}
			for b := make([]byte, 1024); err == nil; {
				_, err = conn.Read(b)
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s, %v: the connection stays open", name, speaks)
			}
			conn.Close()
			if len(h.asked) > 0 {
				t.Errorf("%s, %v: the node did %s", name, speaks, <-h.asked)
			}
		}
	}
}

// A node sends nothing to a program that listens at another node's address, without that node's
// certificate: with one of another fleet, or with that of a third node.
func TestAStrangerAtANodesAddress(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	a, b := joinTest(t, dsn, "a"), joinTest(t, dsn, "b")
	for name, at := range map[string]func(node string) *identity{
		"another fleet's": func(node string) *identity { return foreignIdentity(t, node) },
		"a third node's":  func(string) *identity { return b.identity },
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c, err := Join(t.Context(), Config{DSN: dsn, Name: name, Listen: "127.0.0.1:0", Advertise: l.Addr().String()}, testOptions(), quiet())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.Background()) })
		var serving sync.WaitGroup
		heard := make(chan int, 99) // bytes of each connection; 99: more than come
		config := at(c.ID()).config("", append(slices.Clone(wireVersions), wireHTTP)...)
		config.ClientAuth = tls.RequestClientCert
		serving.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				serving.Go(func() {
					defer conn.Close()
					conn.SetDeadline(time.Now().Add(20 * time.Second))
					n, _ := tls.Server(conn, config).Read(make([]byte, 1024))
					heard <- n
				})
			}
		})
		if err := a.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := a.EnsureConnected(t.Context(), c.ID()); err == nil {
			t.Errorf("%s: the node takes it for the other one", name)
		}
		if conn, err := a.DialHTTP(t.Context(), c.ID()); err == nil {
			conn.Close()
			t.Errorf("%s: requests are passed on to it", name)
		}
		l.Close()
		serving.Wait()
		close(heard)
		tried := 0
		for n := range heard {
			if tried++; n > 0 {
				t.Errorf("%s: it heard %d bytes", name, n)
			}
		}
		if tried < 2 {
			t.Errorf("%s: %d connections came", name, tried)
		}
	}
}
