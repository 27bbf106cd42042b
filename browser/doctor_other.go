//go:build !linux

package browser

// machineChecks has nothing to look at here: the sandbox of these systems needs no
// setting, and Chromium runs as browserd's user.
func machineChecks(Config) []Check { return nil }
