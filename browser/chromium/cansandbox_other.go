//go:build !linux

package chromium

// CanSandbox returns nil: only on Linux can the sandbox be forbidden.
func CanSandbox(Config) error { return nil }

func sandboxRemedy() string { return "browserd doctor says what is wrong" }
