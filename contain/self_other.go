//go:build !linux || !(amd64 || arm64)

package contain

// Self does nothing here: the engine has no files, network or processes to offer, and
// the kernel's limits are missing.
func Self(cpuSeconds, dataBytes uint64) error { return nil }
