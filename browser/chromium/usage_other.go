//go:build !linux

package chromium

// usage is not known without /proc.
func usage(int) (processes int, bytes uint64) { return 0, 0 }
