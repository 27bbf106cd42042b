package command

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"syscall"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// Failure returns the *protocol.Error for an error with which a command ended: the error itself, the one for
// the reason why the context ended, or internal. The cause of an internal error is logged under the request's
// id.
func (c *Call) Failure(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrTimeout)) {
		err = context.Cause(ctx)
	}
	var e *protocol.Error
	switch {
	case errors.As(err, &e):
		return c.complete(e)
	case errors.Is(err, ErrTimeout) || errors.Is(err, context.DeadlineExceeded):
		return c.complete(protocol.Errorf(protocol.Timeout, "%s did not finish within %d ms", c.Command.Name, c.Common.TimeoutMS))
	case errors.Is(err, context.Canceled):
		return ErrCancelled
	case errors.Is(err, syscall.EFBIG):
		c.Runtime.Log.Error("no file may grow so large", "command", c.Command.Name, "error", err)
		return protocol.Errorf(protocol.NoSpace, "%s could not be done: the daemon may write no file of that size", c.Command.Name).
			Then("ask the operator to raise the daemon's limit on the size of files (ulimit -f, LimitFSIZE), then send the command again: nothing of it was kept")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		c.Runtime.Log.Error("no file descriptor is left", "command", c.Command.Name, "error", err)
		return protocol.Errorf(protocol.NoSpace, "%s could not be done: the daemon may open no further file", c.Command.Name).
			Then("ask the operator to raise the daemon's limit on open files (ulimit -n, LimitNOFILE), then send the command again: nothing of it was kept")
	case NoSpace(err):
		c.Runtime.Log.Error("the disk is full", "command", c.Command.Name, "error", err)
		return protocol.Errorf(protocol.NoSpace, "%s could not be done: the daemon's disk is full", c.Command.Name)
	}
	incident, session := protocol.RequestOf(ctx)
	if incident == "" {
		incident = rand.Text()[:10]
	}
	c.Runtime.Log.Error("command failed", "request", incident, "session", session, "command", c.Command.Name, "error", err)
	return protocol.Errorf(protocol.Internal, "%s failed for a reason of browserd's own", c.Command.Name).With("incident", incident)
}

// NoSpace reports whether the disk is full, or the daemon's part of it.
func NoSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// complete returns e with the details that its code always has, if they are missing. For timeout these are
// waited_for (the command) and seen (the page's URL and readiness); for unsupported the page's source.
func (c *Call) complete(e *protocol.Error) *protocol.Error {
	said := *e // copy it: it may be a shared value
	said.Details = maps.Clone(e.Details)
	add := func(detail string, value any) {
		if said.Details[detail] == nil {
			said.With(detail, value)
		}
	}
	var page session.Page
	if c.Session != nil && checkLease(c) == nil { // without the lease nothing of the page may be shown
		page = c.Session.Page()
	}
	switch e.Code {
	case protocol.Timeout:
		add("waited_for", map[string]any{"command": c.Command.Name})
		if page != nil {
			st := page.State()
			add("seen", map[string]any{"url": st.URL, "ready": st.Ready})
		}
	case protocol.Unsupported:
		if page != nil {
			add("source", page.State().Source)
		}
	}
	return &said
}
