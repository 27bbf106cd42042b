//go:build !linux

package chromium

// machineChecks has nothing to test here: the sandbox of these systems needs no
// setting, and Chromium runs as browserd's user.
func machineChecks(Config) []Check { return nil }
