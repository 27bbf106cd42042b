//go:build !linux

package chromium

// watchMemory does nothing: there is no /proc to read.
func (s *Supervisor) watchMemory(*running) {}
