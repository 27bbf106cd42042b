// Command bundle writes the script of browser/script: its ES modules, bundled and
// minified by esbuild. go generate ./browser/script runs it.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: bundle ENTRY OUTPUT")
		os.Exit(2)
	}
	text, err := bundle(os.Args[1])
	if err == nil {
		err = os.WriteFile(os.Args[2], text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}
