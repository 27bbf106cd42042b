// Package compose holds the test of the files for Docker Compose: what reads them is no dependency
// of the program.
package compose
