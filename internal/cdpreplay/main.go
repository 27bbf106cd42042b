// Command cdpreplay stands in for Chromium at the pipe of the DevTools protocol, so that more sessions than a
// machine has memory for can be measured. With --cdp-record it starts a real Chromium, passes everything on
// and writes down what was said when; with --cdp-replay it answers what was answered then, as late as then,
// and sends the events that followed. It keeps the life of a browser context with the commands that were
// recorded, in their order, over and over. It is no browser: it loads nothing, and a request that was never
// recorded is refused and written to FILE.missing.
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	var record, chromium, replay string
	var args []string
	for _, a := range os.Args[1:] {
		name, value, _ := strings.Cut(a, "=")
		switch name {
		case "--cdp-record":
			record = value
		case "--cdp-chromium":
			chromium = value
		case "--cdp-replay":
			replay = value
		default:
			args = append(args, a)
		}
	}
	commands, answers := os.NewFile(3, "commands"), os.NewFile(4, "answers")
	var err error
	if record != "" {
		err = recordTo(record, chromium, args, commands, answers)
	} else {
		err = replayFrom(replay, commands, answers)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cdpreplay:", err)
		os.Exit(1)
	}
}
