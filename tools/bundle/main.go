// Command bundle writes the script of browser/script: its ES modules, bundled and
// minified by esbuild. go generate ./browser/script runs it. With -whole it is not minified,
// for tests that change it.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	whole := flag.Bool("whole", false, "do not minify")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: bundle [-whole] ENTRY OUTPUT")
		os.Exit(2)
	}
	text, err := bundle(flag.Arg(0), *whole)
	if err == nil {
		err = os.WriteFile(flag.Arg(1), text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}
