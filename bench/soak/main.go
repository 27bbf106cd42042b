// Command soak plays many clients against a daemon of its own for an hour, or
// as long as it is told, prints what it measured, and ends with 1 where anything
// grew, any answer was not allowed, or anything was left behind. The daemon is
// BROWSERD_BIN, or the one that it builds.
//
//	go run ./soak -duration 1h
//
// Sessions are opened, used, crashed, closed, left and mistreated at random, from
// a seed, on pages that the command serves on loopback, while it measures memory,
// goroutines, file descriptors, processes, profiles and temporary files.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

func main() {
	duration := flag.Duration("duration", time.Hour, "how long it plays")
	seed := flag.Uint64("seed", 1, "of everything that happens by chance")
	quiet := flag.Bool("quiet", false, "print no samples while it plays")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code := testdaemon.Main(func(tb testdaemon.TB) {
		d := testdaemon.Start(tb, testdaemon.Options{Env: Env()})
		o := Hour(*duration)
		o.Seed = *seed
		if !*quiet {
			o.Log = tb.Logf
		}
		r, err := Run(ctx, d, o)
		if r != nil {
			r.Print(os.Stdout, 24)
		}
		fmt.Println("\nWhat the daemon's log says of faults:")
		for _, line := range Errors(d.Log()) {
			fmt.Println(line)
		}
		if err != nil {
			tb.Fatal(err)
		}
		if faults := r.Faults(); len(faults) > 0 {
			tb.Errorf("%d faults", len(faults))
		}
		d.Stop() // says what it left behind
		fmt.Println("the daemon has ended")
	})
	testdaemon.RemoveBinary()
	os.Exit(code)
}
