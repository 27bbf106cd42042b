// Package docker holds no code: its test checks that the image's seccomp profile is
// the engine's default with browserd's few changes.
package docker
