// Command notices writes THIRD_PARTY_NOTICES: the licences of every module that is
// linked into browserd on a system of a release, and of Go itself. It reads the
// module cache and asks nobody.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", "..", "the checkout of browserd")
	flag.Parse()
	text, err := notices(*root)
	if err == nil {
		err = os.WriteFile(*root+"/THIRD_PARTY_NOTICES", text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}
