// Package packaging holds no code: its tests have systemd look at the unit, and
// hold the release's configuration to what it is to make.
package packaging
