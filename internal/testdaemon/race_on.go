//go:build race

package testdaemon

// RaceEnabled tells whether the test, and so the daemon that Start builds, has the race
// detector, which takes several times the memory and the time.
const RaceEnabled = true
