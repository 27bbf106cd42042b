//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// errNoSocket is returned where no daemon listens on the socket.
var errNoSocket = errors.New("no daemon listens on the socket")

// maxSocketPath is how long a socket's path may be (sockaddr_un.sun_path), on the
// system that allows the least.
const maxSocketPath = 103

// lockSuffix is what the name of the file that is locked while the daemon lives ends with.
const lockSuffix = ".lock"

// listenSocket listens on the socket in the state directory. A file beside it stays
// locked while the daemon lives, so that the socket of a dead one is known and
// replaced; errRuns says that there is a living one. release is called at the end.
func listenSocket(path string) (l net.Listener, release func(), err error) {
	if len(path) > maxSocketPath {
		return nil, nil, fmt.Errorf("%s: the path is too long for a socket", path)
	}
	lock, err := os.OpenFile(path+lockSuffix, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil, errRuns
		}
		return nil, nil, fmt.Errorf("locking %s: %w", lock.Name(), err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		lock.Close()
		return nil, nil, err
	}
	in, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		lock.Close()
		return nil, nil, err
	}
	// The lock's file stays: whoever removed it could hold a lock that nobody sees.
	return ownPeers{in}, func() { in.Close(); lock.Close() }, nil
}

// awaitReleased returns when the daemon that has the socket has ended.
func awaitReleased(ctx context.Context, path string) error {
	lock, err := os.Open(path + lockSuffix)
	if err != nil {
		return err
	}
	free := make(chan error, 1) // one send; a wait that is given up ends with the process
	go func() {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH)
		lock.Close() // which unlocks it
		free <- err
	}()
	select {
	case err := <-free:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ownPeers accepts the connections of this daemon's own user and of root.
type ownPeers struct{ net.Listener }

func (l ownPeers) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if checkPeer(conn) == nil {
			return conn, nil
		}
		conn.Close()
	}
}

// dialSocket connects to the daemon's socket, and refuses one that another user might
// have put there or listens on.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	for _, p := range []string{filepath.Dir(path), path} {
		info, err := os.Lstat(p)
		if errors.Is(err, os.ErrNotExist) {
			return nil, errNoSocket
		}
		if err != nil {
			return nil, err
		}
		if s, ok := info.Sys().(*syscall.Stat_t); !ok || !isOwn(s.Uid) || info.Mode().Perm()&0o022 != 0 {
			return nil, fmt.Errorf("%s belongs to another user, or another can write to it: its socket is not used", p)
		}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist) {
		return nil, errNoSocket
	}
	if err != nil {
		return nil, err
	}
	if err := checkPeer(conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return conn, nil
}

// checkPeer returns nil if the process at the other end is this user's or root's.
func checkPeer(conn net.Conn) error {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	var uid uint32
	if asked := raw.Control(func(fd uintptr) { uid, err = peerUser(int(fd)) }); asked != nil {
		return asked
	}
	if err != nil {
		return fmt.Errorf("asking for the peer's user: %w", err)
	}
	if !isOwn(uid) {
		return fmt.Errorf("user %d is at the other end of the socket", uid)
	}
	return nil
}

func isOwn(uid uint32) bool { return uid == 0 || uid == uint32(os.Geteuid()) }
