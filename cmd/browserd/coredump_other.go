//go:build !linux && !darwin

package main

// preventCoreDumps does nothing: dumps are not on by default here.
func preventCoreDumps() error { return nil }
