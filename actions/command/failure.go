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

// Failure gives an error that a command ended with the code that fits it: its
// own, that of what ended the context, or internal, with the cause in the log
// under the request's id.
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

// complete is e with the details that its code has always and that it does not
// say itself: a timeout what was waited for, which is the command, and what was
// seen in its place, which is where the page is; unsupported the page's source.
func (c *Call) complete(e *protocol.Error) *protocol.Error {
	said := *e // it may be everybody's
	said.Details = maps.Clone(e.Details)
	add := func(detail string, value any) {
		if said.Details[detail] == nil {
			said.With(detail, value)
		}
	}
	var page session.Page
	if c.Session != nil && checkLease(c) == nil { // without it nothing of the page is shown
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
