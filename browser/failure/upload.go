package failure

import "github.com/browserd/browserd/protocol"

// OnlyOneFile returns the error of several files for a file input that takes one.
func OnlyOneFile(who string, n int) error {
	return protocol.Errorf(protocol.InvalidParams, "files: %s accepts one file, not %d", who, n).With("parameter", "files")
}

// NoFileInput returns the error of files for an element that leads to no file input.
func NoFileInput(who string) error {
	return protocol.Errorf(protocol.InvalidParams, "ref %s has no file input, and a click on it opened no file chooser", who).
		With("parameter", "ref").Then("use the ref of the file input")
}
