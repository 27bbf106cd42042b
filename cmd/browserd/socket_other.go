//go:build unix && !linux && !darwin

package main

import "errors"

// peerUser is not known here: the daemon is reached over TCP.
func peerUser(int) (uint32, error) { return 0, errors.ErrUnsupported }
