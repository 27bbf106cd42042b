package browser

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// watchSteps is into how many parts the watchdog divides its limit.
const watchSteps = 8

// watch asks the browser, where it has been silent, whether it is there
// (Browser.getVersion), and ends the connection to one that says nothing at all
// for limit after it was asked: one that is stopped, or stuck. Whatever it says
// counts, answers and events of every page, so that a browser which is only busy
// is left alone. It returns when the connection is gone.
func (c *Conn) watch(limit time.Duration) {
	every := time.NewTicker(limit / watchSteps)
	defer every.Stop()
	heard, silent := c.heard.Load(), 0
	for {
		select {
		case <-every.C:
		case <-c.done:
			return
		}
		if now := c.heard.Load(); now != heard {
			heard, silent = now, 0
			continue
		}
		// Ticks are counted, and not the clock: where the daemon was stopped itself,
		// the browser still gets all its time to say what lies in the pipe.
		silent++
		switch {
		case silent == 1:
			c.Session("").Send("Browser.getVersion", nil)
		case silent > watchSteps:
			c.lost(silence{fmt.Sprintf("Chromium has not answered for %v", limit)})
			return
		}
	}
}

// watchNetwork asks Chromium's network service now and then whether it is there:
// a process of its own, which the browser waits for without end where it is
// stopped or stuck. It is given limit twice.
func (c *Conn) watchNetwork(limit time.Duration) {
	answers := func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		// Of the default context, which has none.
		err := c.Session("").Call(ctx, "Storage.getCookies", nil, nil)
		return !errors.Is(err, context.DeadlineExceeded)
	}
	for {
		select {
		case <-time.After(limit):
		case <-c.done:
			return
		}
		if !answers() && !answers() {
			c.lost(silence{fmt.Sprintf("Chromium's network service has not answered for %v", 2*limit)})
			return
		}
	}
}

// silence is the cause with which a watchdog ends a connection.
type silence struct{ said string }

func (s silence) Error() string { return s.said }
