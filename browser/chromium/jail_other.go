//go:build !linux

package chromium

import (
	"errors"
	"net"
	"os"
	"os/exec"
)

var errNoJail = errors.New("only Linux has network namespaces")

// CanJail returns why there is no jail.
func CanJail(Config) error { return errNoJail }

func jailCommand(*exec.Cmd, *account, int) (*net.UnixConn, *os.File, error) {
	return nil, nil, errNoJail
}

func receiveListener(*net.UnixConn) (net.Listener, error) { return nil, errNoJail }
