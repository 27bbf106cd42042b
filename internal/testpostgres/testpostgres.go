// Package testpostgres starts a PostgreSQL server of a test's own: a fresh
// cluster in a temporary directory, on loopback, gone when the test ends. It
// installs nothing. A cluster as initdb made it stays in the user's cache directory.
package testpostgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/browserd/browserd/internal/untested"
)

// Server is a running cluster.
type Server struct {
	// DSN is the address of its database, password included.
	DSN  string
	bin  string
	dir  string
	port int
	cmd  *exec.Cmd
	as   *account // nil: who runs the test
}

// account is a user of the machine.
type account struct{ uid, gid uint32 }

// Start starts a cluster, and skips the test where PostgreSQL is not
// installed; in CI (the variable CI is set) that fails it.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{bin: binaries()}
	if s.bin == "" {
		untested.Missing(t, "PostgreSQL is not installed: scripts/setup.sh test installs it")
	}
	s.as = unprivileged(t)
	dir, err := os.MkdirTemp("", "browserd-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if s.as != nil {
		if err := os.Chown(dir, int(s.as.uid), int(s.as.gid)); err != nil {
			t.Fatal(err)
		}
	}
	s.dir = filepath.Join(dir, "data")
	s.makeCluster(t)
	t.Cleanup(s.Stop)
	for { // another program may take the port before the server does
		s.port = freePort(t)
		s.DSN = fmt.Sprintf("postgres://postgres:pass-word@127.0.0.1:%d/postgres?sslmode=disable", s.port)
		if !s.run(t) {
			return s
		}
	}
}

// makeCluster makes a fresh cluster of s.dir: a copy of one in the user's cache directory, where initdb's is put
// the first time. initdb takes a second of the processor, copying what it makes a tenth of that.
func (s *Server) makeCluster(t testing.TB) {
	t.Helper()
	args := []string{"-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8", "--locale", "C", "--wal-segsize", "1", "--no-sync"}
	version, err := s.command("initdb", "--version").Output()
	if err != nil {
		t.Fatalf("initdb --version: %v", err)
	}
	sum := sha256.Sum256(fmt.Append(version, s.bin, args, os.Geteuid(), s.as))
	cache, cacheErr := os.UserCacheDir()
	template := filepath.Join(cache, "browserd-test", "postgres", hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(template); cacheErr == nil && err == nil {
		copyCluster(t, template, s.dir)
		return
	}
	password := filepath.Join(filepath.Dir(s.dir), "password")
	if err := os.WriteFile(password, []byte("pass-word\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := s.command("initdb", append(args, "-D", s.dir, "--pwfile", password)...).CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	if cacheErr != nil {
		return
	}
	if err := os.MkdirAll(filepath.Dir(template), 0o755); err != nil {
		t.Fatal(err)
	}
	half, err := os.MkdirTemp(filepath.Dir(template), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(half)
	copyCluster(t, s.dir, filepath.Join(half, "data"))
	os.Rename(filepath.Join(half, "data"), template) // or another test has put its own there
}

// copyCluster copies a cluster that no server runs on, with its owner and modes.
func copyCluster(t testing.TB, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
}

// Run starts the server again after Stop, on the same port, with its data.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	if s.run(t) {
		t.Fatalf("another program has port %d", s.port)
	}
}

// run starts the server and waits until it answers, or until it has ended because another program has its port.
func (s *Server) run(t testing.TB) (taken bool) {
	t.Helper()
	log, err := os.Create(filepath.Join(filepath.Dir(s.dir), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.cmd = s.command("postgres", "-D", s.dir, "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-k", "", "-c", "fsync=off", "-c", "max_connections=300")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, s.DSN)
		if err == nil {
			conn.Close(ctx)
		}
		return err == nil
	}
	for deadline := time.Now().Add(30 * time.Second); !ready(); time.Sleep(20 * time.Millisecond) {
		said, _ := os.ReadFile(log.Name())
		if bytes.Contains(said, []byte("Address already in use")) {
			s.Stop()
			return true
		}
		if t.Context().Err() != nil || time.Now().After(deadline) {
			t.Fatalf("PostgreSQL did not start within 30 s:\n%s", said)
		}
	}
	return false
}

// PID is the server's process, above those of its connections.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stop ends the server at once, cutting its connections. Stopping twice is
// harmless.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(syscall.SIGQUIT) // immediate shutdown
	s.cmd.Wait()
	s.cmd = nil
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = filepath.Dir(s.dir)
	s.as.run(cmd)
	return cmd
}

// binaries returns the directory of the newest server that is installed, or "".
func binaries() string {
	// Debian keeps the server's programs off PATH.
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1])
}

// unprivileged is who the server runs as where the test is root, which
// PostgreSQL refuses to be.
func unprivileged(t testing.TB) *account {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &account{uint32(uid), uint32(gid)}
		}
	}
	t.Fatal("the test is root and there is no user postgres or nobody to run PostgreSQL as")
	return nil
}

func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// NewDatabase makes an empty database at the server of dsn, and returns its address.
func NewDatabase(ctx context.Context, dsn string) (string, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	name := "test_" + strings.ToLower(rand.Text()[:12])
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	at, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	at.Path = "/" + name
	return at.String(), nil
}
