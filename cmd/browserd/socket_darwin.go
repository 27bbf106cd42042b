package main

import "golang.org/x/sys/unix"

// peerUser is who connected, or listens, at the other end (unix(4), LOCAL_PEERCRED).
func peerUser(fd int) (uint32, error) {
	c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return c.Uid, nil
}
