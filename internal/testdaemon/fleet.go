package testdaemon

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/browserd/browserd/internal/testpostgres"
)

// FleetEnv is the variable that has Start start three daemons that serve as one, unless
// Options.Alone says that the test is about one process: in a database of their own, behind HAProxy,
// which gives each connection to the next of them. The Daemon is the first of the three, with the
// proxy's address.
const FleetEnv = "BROWSERD_E2E_FLEET"

// Fleet reports whether FleetEnv is set.
func Fleet() bool { return os.Getenv(FleetEnv) != "" }

// Proxy listens on loopback and copies each connection to and from the next of the addresses,
// until the test ends.
func Proxy(tb TB, to ...string) (addr string) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{to: to}
	go p.serve(l)
	tb.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

type proxy struct {
	mu   sync.Mutex
	to   []string
	next int
}

func (p *proxy) serve(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go p.copy(in)
	}
}

// copy gives a connection to the next address that accepts it.
func (p *proxy) copy(in net.Conn) {
	defer in.Close()
	for range p.to {
		p.mu.Lock()
		addr := p.to[p.next%len(p.to)]
		p.next++
		p.mu.Unlock()
		out, err := net.Dial("tcp", addr)
		if err != nil {
			continue
		}
		defer out.Close()
		go func() {
			io.Copy(out, in)
			out.(*net.TCPConn).CloseWrite()
		}()
		io.Copy(in, out)
		return
	}
}

// balancer is a HAProxy that knows nothing of HTTP, nor of sessions.
const balancer = `global
	maxconn 4000
defaults
	mode tcp
	timeout connect 5s
	timeout client 1h
	timeout server 1h
	timeout client-fin 30s
	option redispatch
	retries 3
listen browserd
	bind fd@3
	balance roundrobin
`

// balance starts a HAProxy before the addresses, which takes the connections of the listener and ends
// with the test.
func balance(tb TB, front *net.TCPListener, to []string) error {
	path, err := exec.LookPath("haproxy")
	if err != nil {
		path = "/usr/sbin/haproxy" // not on everybody's PATH
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("HAProxy is not installed: scripts/setup.sh test installs it")
	}
	text := balancer
	for i, at := range to {
		text += fmt.Sprintf("\tserver node%d %s\n", i+1, at)
	}
	home := newHome(tb)
	file := filepath.Join(home, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	taken, err := front.File()
	if err != nil {
		return err
	}
	defer taken.Close()
	log, err := os.Create(filepath.Join(home, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(path, "-q", "-db", "-f", file)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{taken}
	if err := cmd.Start(); err != nil {
		return err
	}
	tb.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return front.Close() // HAProxy has it
}

// database is the PostgreSQL of all fleets of the process.
var database struct {
	once sync.Once
	dsn  string
}

// StartDatabase starts the PostgreSQL of the fleets, which ends with the program. Call it in
// TestMain where Fleet reports true.
func StartDatabase(tb TB) {
	database.once.Do(func() { database.dsn = testpostgres.Start(process{TB: nil, of: tb}).DSN })
}

// process is a whole test process, for what wants a test.
type process struct {
	testing.TB
	of TB
}

func (p process) Helper()                           {}
func (p process) Cleanup(f func())                  { p.of.Cleanup(f) }
func (p process) Context() context.Context          { return context.Background() }
func (p process) Fatal(args ...any)                 { p.of.Fatal(args...) }
func (p process) Fatalf(format string, args ...any) { p.of.Fatal(fmt.Sprintf(format, args...)) }
func (p process) Skipf(format string, args ...any)  { p.Fatalf(format, args...) }

// startThree starts three daemons as FleetEnv says.
func startThree(tb TB, o Options) (*Daemon, error) {
	dsn, err := testpostgres.NewDatabase(context.Background(), database.dsn)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	front := listener.Addr().String()
	_, port, err := net.SplitHostPort(front)
	if err != nil {
		return nil, err
	}
	if o.Binary == "" { // under the race detector deriving a key takes ten seconds of a processor
		if o.Binary, err = PlainBinary(); err != nil {
			return nil, err
		}
	}
	env := maps.Clone(o.Env)
	if env == nil {
		env = map[string]string{}
	}
	for k, v := range map[string]string{
		"BROWSERD_FLEET__DSN": dsn, "BROWSERD_FLEET__LISTEN": "127.0.0.1:0", "BROWSERD_STATE__KEY": "the key of all the tests",
		"BROWSERD_SERVER__ALLOWED_HOSTS": front + ",localhost:" + port, "BROWSERD_SERVER__PUBLIC_URL": "http://" + front,
	} {
		if env[k] == "" {
			env[k] = v
		}
	}
	var first *Daemon
	var addrs []string
	for _, name := range []string{"one", "two", "three"} {
		of := o
		of.Env = maps.Clone(env)
		of.Env["BROWSERD_FLEET__NAME"] = name
		d, err := start(tb, of)
		for range 3 { // somebody else was faster to take the address
			if err != nil && strings.Contains(err.Error(), "address already in use") {
				d, err = start(tb, of)
			}
		}
		if err != nil {
			return nil, err
		}
		tb.Cleanup(d.Stop)
		addrs = append(addrs, d.Addr)
		if first == nil {
			first = d
		}
		o.Home = ""
	}
	if err := balance(tb, listener, addrs); err != nil {
		return nil, err
	}
	first.Addr = front
	return first, nil
}
