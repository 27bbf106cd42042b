// Package scripts holds the scripts of the repository, of which the program carries one.
package scripts

import _ "embed"

// Setup is setup.sh: with the argument chromium it installs a Chromium where there is none.
//
//go:embed setup.sh
var Setup string
