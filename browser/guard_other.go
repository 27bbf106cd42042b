//go:build !linux

package browser

// guard does nothing where there is no /proc to read.
func (c *Chromium) guard(*running) {}
