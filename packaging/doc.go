// Package packaging holds no code: its tests have systemd look at the unit, and
// check that the release's configuration makes what it should.
package packaging
