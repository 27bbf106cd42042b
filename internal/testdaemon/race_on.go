//go:build race

package testdaemon

// RaceEnabled reports whether the test, and so the daemon that Start builds, has the race
// detector.
const RaceEnabled = true
