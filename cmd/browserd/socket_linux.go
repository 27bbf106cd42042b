package main

import "golang.org/x/sys/unix"

// peerUser is who connected, or listens, at the other end (unix(7), SO_PEERCRED).
func peerUser(fd int) (uint32, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return c.Uid, nil
}
