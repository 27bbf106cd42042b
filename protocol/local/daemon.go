package local

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Token returns the token of this user's daemon: $BROWSERD_TOKEN, or else what the daemon
// keeps in its state directory.
func Token() (string, error) {
	if token := os.Getenv("BROWSERD_TOKEN"); token != "" {
		return token, nil
	}
	base, err := StateBase(runtime.GOOS)
	if err != nil {
		return "", err
	}
	kept, err := os.ReadFile(filepath.Join(base, "browserd", "token"))
	return strings.TrimSpace(string(kept)), err
}

// Dial returns a function that connects to the daemon of this user at the default address:
// at its socket, where that is this user's alone, or else over TCP. Either way the daemon
// has to prove that it knows the token: the state directory may be somebody else's.
func Dial(token string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		const address = "127.0.0.1:9333"
		if base, err := StateBase(runtime.GOOS); err == nil {
			socket := filepath.Join(base, "browserd", address+".sock")
			dir, _ := os.Stat(filepath.Dir(socket))
			at, err := os.Lstat(socket)
			if err == nil && dir != nil && dir.Mode().Perm()&0o022 == 0 && at.Mode().Perm()&0o077 == 0 {
				if conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket); err == nil {
					return Proved(ctx, conn, "localhost", token)
				} // it was left by a daemon that has ended
			}
		}
		return DialProved(token)(ctx, "tcp", address)
	}
}
