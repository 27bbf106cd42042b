// Package openapi holds the test of what `browserd schema --openapi` prints: the validator
// is no dependency of the program.
package openapi
