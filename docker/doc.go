// Package docker holds no code: its test keeps the seccomp profile of the image
// what it says it is.
package docker
