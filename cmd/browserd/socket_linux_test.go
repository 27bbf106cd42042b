package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/browserd/browserd/internal/untested"
)

// A socket that another user owns, may write beside, or listens on is not used, and a
// daemon lets no other user in.
func TestSocketOfAnotherUser(t *testing.T) {
	if os.Getuid() == 0 && os.Getenv("SOCKET_TEST_DIR") == "" {
		// Root may do everything: as another user the test runs once more, beside root's
		// and a third user's files.
		dir, err := os.MkdirTemp("", "socket-test-") // t.TempDir lies in root's own
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		for _, f := range []func() error{
			func() error { return os.Chmod(dir, 0o755) },
			func() error { return os.Mkdir(filepath.Join(dir, "third"), 0o755) },
			func() error { return os.Mkdir(filepath.Join(dir, "own"), 0o700) },
		} {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		}
		for path, uid := range map[string]int{"third": 4711, "own": 4712} {
			l, err := net.Listen("unix", filepath.Join(dir, path, "a.sock"))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			os.Chown(filepath.Join(dir, path, "a.sock"), uid, -1)
			os.Chmod(filepath.Join(dir, path, "a.sock"), 0o644)
			os.Chown(filepath.Join(dir, path), uid, -1)
		}
		// Root's own daemon, whose socket is left open to all: its peers are refused.
		in, release, err := listenSocket(filepath.Join(dir, "root.sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		os.Chmod(filepath.Join(dir, "root.sock"), 0o777)
		accepted := make(chan net.Conn, 1) // one send at most
		go func() {
			if c, err := in.Accept(); err == nil {
				accepted <- c
			}
		}()
		self := filepath.Join(dir, "test")
		if err := exec.Command("cp", os.Args[0], self).Run(); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "-test.run", "^TestSocketOfAnotherUser$", "-test.v")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SOCKET_TEST_DIR="+dir, "HOME="+dir, "TMPDIR="+filepath.Join(dir, "own"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4712, Gid: 4712}}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestSocketOfAnotherUser") {
			t.Fatalf("%v\n%s", err, out)
		}
		select {
		case <-accepted:
			t.Error("root's daemon let another user in")
		default:
		}
		return
	}
	dir := os.Getenv("SOCKET_TEST_DIR")
	if dir == "" {
		untested.Skip(t, "only root can be several users")
	}
	if c, err := dialSocket(context.Background(), filepath.Join(dir, "third", "a.sock")); err == nil {
		c.Close()
		t.Error("a third user's socket is used")
	} else if !strings.Contains(err.Error(), "belongs to another user") {
		t.Error(err)
	}
	// Root listens on it, whom everybody has to trust.
	c, err := dialSocket(context.Background(), filepath.Join(dir, "own", "a.sock"))
	if err != nil {
		t.Errorf("own socket: %v", err)
	} else {
		c.Close()
	}
	if err := os.Chmod(filepath.Join(dir, "own"), 0o777); err != nil {
		t.Error(err)
	}
	if c, err := dialSocket(context.Background(), filepath.Join(dir, "own", "a.sock")); err == nil {
		c.Close()
		t.Error("a socket in a directory that others can write to is used")
	}
	other, err := net.Dial("unix", filepath.Join(dir, "root.sock"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := other.Read(make([]byte, 1)); err == nil {
		t.Errorf("root's daemon sent %d bytes to another user", n)
	}
}
