package cdp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// watchSteps is the number of parts into which Watch divides its limit.
const watchSteps = 8

// Watch calls Browser.getVersion when the browser has been silent, and ends the
// connection, with [Unresponsive] as its cause, when the browser sends nothing at
// all for limit after that: it is stopped or stuck. Every message counts, answers
// and events of every page, so that a browser which is only busy is left alone.
// Watch returns when the connection is gone.
func (c *Conn) Watch(limit time.Duration) {
	every := time.NewTicker(limit / watchSteps)
	defer every.Stop()
	read, silent := c.messagesRead.Load(), 0
	for {
		select {
		case <-every.C:
		case <-c.done:
			return
		}
		if now := c.messagesRead.Load(); now != read {
			read, silent = now, 0
			continue
		}
		// Count ticks, not the clock's time: where the daemon itself was stopped, the
		// browser still gets all its time to send what lies in the pipe.
		silent++
		switch {
		case silent == 1:
			c.Session("").Send("Browser.getVersion", nil)
		case silent > watchSteps:
			c.fail(Unresponsive{fmt.Sprintf("Chromium has not answered for %v", limit)})
			return
		}
	}
}

// WatchNetworkService calls Chromium's network service every limit, and ends the
// connection, with [Unresponsive] as its cause, when two calls in a row are not
// answered within limit. That service is a process of its own, and requests wait
// for it without end where it is stopped or stuck. What pages have said, and a busy machine
// reads late, is not counted: a call's time begins when the browser itself has answered one
// that was sent behind it. The method returns when the connection is gone.
func (c *Conn) WatchNetworkService(limit time.Duration) {
	answers := func() bool {
		// The cookies of the default context, which has none.
		cookies := c.Session("").Send("Storage.getCookies", nil)
		c.Session("").Call(context.Background(), "Browser.getVersion", nil, nil) // its end is the connection's at the latest
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		return !errors.Is(cookies.Wait(ctx, nil), context.DeadlineExceeded)
	}
	for {
		select {
		case <-time.After(limit):
		case <-c.done:
			return
		}
		if !answers() && !answers() {
			c.fail(Unresponsive{fmt.Sprintf("Chromium's network service has not answered for %v", 2*limit)})
			return
		}
	}
}

// GiveUp ends the connection, with [Unresponsive] as its cause, to a browser that answers
// and is of no use. It may be called from any goroutine.
func (c *Conn) GiveUp(message string) { c.fail(Unresponsive{message}) }

// Unresponsive is the cause with which [Conn.Watch], [Conn.WatchNetworkService] and
// [Conn.GiveUp] end a connection. Its message becomes the field cause of the error that clients get.
type Unresponsive struct{ Message string }

// Error returns the message.
func (u Unresponsive) Error() string { return u.Message }
