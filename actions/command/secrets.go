package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/secret"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

// Reveal replaces {{secret:NAME}} in a text that is to be written into the element of a ref by the secret's
// value, and reports whether it replaced any. A value is given only if the element's own document has one of
// the secret's origins and the agent has not run JavaScript in that origin. Errors: secret_denied, those of the
// ref, timeout. Only for the holder of the session's turn.
func Reveal(ctx context.Context, c *Call, page session.Page, ref, text string) (string, bool, error) {
	names := secret.Names(text)
	if names == nil {
		return text, false, nil
	}
	origin, err := OriginAt(ctx, c, page, protocol.Spot{Ref: ref})
	if err != nil {
		return "", false, err
	}
	use := c.Session.Secrets()
	if use.RanScript(origin) {
		return "", false, scriptRanError(use, origin, names[0])
	}
	e, err := c.Session.Refs().Lookup(ref)
	if err != nil {
		return "", false, err
	}
	values, err := c.Runtime.Secrets.Give(ctx, c.Caller.Agent, origin, names)
	if err != nil {
		return "", false, err
	}
	use.AddElement(session.SecretElement{Ref: ref, Document: e.Key.Doc, Origin: origin})
	return secret.Substitute(text, values), true, nil
}

// scriptRanError returns secret_denied for an origin where JavaScript of the agent has run.
func scriptRanError(use *session.SecretUse, origin, name string) *protocol.Error {
	profile := use.Profile()
	if profile == "" {
		return protocol.Errorf(protocol.SecretDenied, "JavaScript of yours has run in documents of %s, here or in a session whose state was loaded, and could read the secret %s", origin, name).
			With("reason", "script").With("origin", origin).Then("open a new session with session_open, not with the state of one in which it ran, and fill in the secret before you run JavaScript there")
	}
	return protocol.Errorf(protocol.SecretDenied, "JavaScript of yours may be in documents of %s and could read the secret %s: it has run in a session with the profile %s, or the profile was imported", origin, name, profile).
		With("reason", "script").With("origin", origin).With("profile", profile).
		Then("open a session with a new profile, or without one, and fill in the secret before you run JavaScript there; profile_delete removes a profile that you do not need")
}

// WithoutSecret replaces an error of a control that quotes the secret that it was given, or part of it.
func WithoutSecret(err error, secret bool) error {
	if !secret || protocol.CodeOf(err) != protocol.InvalidParams {
		return err
	}
	return protocol.Errorf(protocol.InvalidParams, "the secret is nothing that this element takes").With("parameter", "text").
		Then("use the ref of a text field")
}

// OriginAt returns the origin of the document at a spot of the page; for a static page the origin of its URL.
func OriginAt(ctx context.Context, c *Call, page session.Page, at protocol.Spot) (string, error) {
	if live, ok := page.(session.OriginReporter); ok {
		return live.Origin(ctx, c.Session.Refs(), at)
	}
	return originOf(page.State().URL), nil
}

// checkScriptSecrets returns secret_denied if the call would run JavaScript of the agent in a document that
// holds a secret, or beside one into which a person has typed. Of secrets this is an early answer, before an operator
// is asked and the ledger charges: recordScript and CheckScript check them again. What a person typed is only checked
// here, since a command ends when a person takes over (UntilTakenOver).
func checkScriptSecrets(ctx context.Context, c *Call) error {
	if !runsScript(c) {
		return nil
	}
	page := c.Session.Page()
	if page, ok := page.(session.Viewable); ok { // a page of the same origin reaches another tab by its opener
		for tab, document := range page.Documents() {
			if session.Control(c.Session).TypedInto(document) {
				return protocol.Errorf(protocol.SecretDenied, "%s: a person has typed into the document of tab %s, and JavaScript could read it", c.Command.Name, tab).
					With("reason", "person").With("tab", tab).Then("read the page with snapshot, read and find; JavaScript can run again when that document has been left, or its tab closed")
			}
		}
	}
	if !c.Command.Is(ChecksScript) {
		return checkEverywhere(c)
	}
	if !holdsSecrets(c) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, originTimeout)
	defer cancel()
	origin, err := OriginAt(ctx, c, page, c.spots(c.Command)[0])
	if err != nil {
		return nil // the command reports it
	}
	return checkHeld(c, origin)
}

// runsScript reports whether the call runs JavaScript of the agent in documents of its session.
func runsScript(c *Call) bool {
	return c.Session != nil && slices.ContainsFunc(c.effectiveCommands(), func(cmd *Command) bool { return cmd.Is(RunsScript) })
}

// recordScript records, right before the command runs, that it runs JavaScript of the agent's: of a command that does
// not call CheckScript itself, such as init_script, in every document. It returns secret_denied if that could read a
// secret.
func recordScript(c *Call) error {
	if !runsScript(c) {
		return nil
	}
	session.Control(c.Session).RecordScript()
	if c.Command.Is(ChecksScript) {
		return nil
	}
	if err := checkEverywhere(c); err != nil {
		return err
	}
	return c.Session.Secrets().RecordScript("")
}

// RecordStored records where code of the agent's may be in the storage that a state brings into the session. It
// returns secret_denied if that could read a secret. Call it right before the state is loaded. Only for the
// holder of the session's turn.
func RecordStored(c *Call, s protocol.State) error {
	if len(s.Ran) == 0 && !s.Everywhere {
		return nil
	}
	if err := checkEverywhere(c); err != nil {
		return err
	}
	session.Control(c.Session).RecordScript()
	origins := s.Ran
	if s.Everywhere {
		origins = []string{""}
	}
	for _, origin := range origins {
		if err := c.Session.Secrets().RecordScript(origin); err != nil {
			return err
		}
	}
	return nil
}

// checkEverywhere returns secret_denied if JavaScript that may run in any document could read a secret.
func checkEverywhere(c *Call) error {
	if holdsSecrets(c) {
		return checkHeld(c, "")
	}
	return nil
}

// CheckScript records that JavaScript of the agent runs in a document of that origin. Call it right before it does.
// Errors, after which it must not run: confirmation_denied if an operator allowed it at another origin, secret_denied
// if a document of the origin holds a secret. Only for the holder of the session's turn.
func CheckScript(c *Call, origin string) error {
	if c.origin != "" && origin != c.origin {
		return movedError(c.Command.Name, c.origin, origin)
	}
	if holdsSecrets(c) {
		if err := checkHeld(c, origin); err != nil {
			return err
		}
	}
	return c.Session.Secrets().RecordScript(origin)
}

// holdsSecrets reports whether documents of the session hold secrets. Of those that do not exist any more it
// forgets that they did. The documents are not asked: one that does not answer, or that is in another tab, holds
// its secret all the same.
func holdsSecrets(c *Call) bool {
	live, ok := c.Session.Page().(session.OriginReporter)
	return c.Session.Secrets().Forget(func(document int) bool { return !ok || live.HasDocument(document) })
}

func checkHeld(c *Call, origin string) error {
	held, is := c.Session.Secrets().Element(origin)
	if !is {
		return nil
	}
	return protocol.Errorf(protocol.SecretDenied, "%s: %s holds a secret, and JavaScript could read it", c.Command.Name, held.Ref).
		With("reason", "held").With("ref", held.Ref).With("origin", held.Origin).
		Then("read the page with snapshot, read and find; JavaScript can run again when that document has been left")
}

// CheckPicture returns secret_denied if a picture of the page would show a secret: if the secret is in the
// page's text, or in the value of a field that is not drawn as dots. It asks the page only if the agent was
// given a secret.
func CheckPicture(ctx context.Context, c *Call, page session.Page) error {
	shows, err := c.Runtime.shows(ctx, c.Caller.Agent, c.Session, page, "")
	if err != nil {
		return c.Session.DescribeLoss(err)
	}
	if !shows {
		return nil
	}
	return protocol.Errorf(protocol.SecretDenied, "%s: the page shows a secret, and a picture would too", c.Command.Name).
		With("reason", "shown").With("origin", originOf(page.State().URL)).
		Then("read the page with snapshot and read, which mask it, or take a picture when the page does not show it any more")
}

// PictureShows reports whether a picture of that tab of the session would show a secret of the agent (CheckPicture).
// Only for the holder of the turn.
func (r *Runtime) PictureShows(ctx context.Context, agent string, s *session.Session, tab string) (bool, error) {
	page := s.Page()
	if page == nil {
		return false, nil
	}
	return r.shows(ctx, agent, s, page, tab)
}

func (r *Runtime) shows(ctx context.Context, agent string, s *session.Session, page session.Page, tab string) (bool, error) {
	// Without the lease the agent may have been given a secret at another daemon. So check the lease before
	// HasGiven, and again after reading the page.
	if err := s.CheckLease(); err != nil || !r.Secrets.HasGiven(agent) {
		return false, err
	}
	drawn, is := page.(session.Renderer)
	if !is {
		return false, nil
	}
	// The names and values in all documents of the tab, whatever element shows them. It comes first since it finds
	// the closed shadow trees.
	shown, err := page.Capture(ctx, pictureCapture(tab), s.Refs())
	if err != nil {
		return false, err
	}
	text, err := drawn.DrawnText(ctx, tab)
	if err != nil {
		return false, err
	}
	parts := []string{text}
	for _, n := range shown.Nodes {
		parts = append(parts, n.Name, n.Value)
	}
	if err := s.CheckLease(); err != nil {
		return false, err
	}
	return r.Secrets.Shows(agent, strings.Join(parts, "\n")), nil
}

// pictureCapture returns the options of CheckPicture's capture of that tab.
func pictureCapture(tab string) snapshot.Options {
	return snapshot.Options{Tab: tab, MaxChars: 1 << 20, MaxNodes: 20000, MaxDepth: 1000, MaxText: 100000}
}

// RedactError returns an error without the secrets that the agent was given.
func (r *Runtime) RedactError(agent string, err *protocol.Error) *protocol.Error {
	if err == nil || r.Secrets == nil {
		return err
	}
	said, wrong := json.Marshal([]any{err.Message, err.Next, err.Details})
	if wrong != nil {
		return err
	}
	redacted := r.Secrets.Redact(agent, said)
	if bytes.Equal(said, redacted) {
		return err
	}
	masked := &protocol.Error{Code: err.Code}
	parts := []any{&masked.Message, &masked.Next, &masked.Details}
	if json.Unmarshal(redacted, &parts) != nil {
		return protocol.Errorf(err.Code, "the error holds a secret")
	}
	return masked
}

// redacted is RedactError for any error.
func (r *Runtime) redacted(agent string, err error) error {
	var said *protocol.Error
	if !errors.As(err, &said) {
		return err
	}
	if masked := r.RedactError(agent, said); masked != said {
		return masked
	}
	return err
}
