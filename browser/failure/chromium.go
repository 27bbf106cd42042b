package failure

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Scope says why a scope cannot be used, or not after that node; nil if it can.
func Scope(s script.ScopeFailure, o snapshot.Options) error {
	scope, after := snapshot.Quote(snapshot.Cut(o.Scope, 100)), snapshot.Quote(snapshot.Cut(o.After, 100))
	switch s {
	case "":
		return nil
	case script.ScopeAfter:
		return protocol.Errorf(protocol.InvalidParams, "after %s: is not within the scope", after).With("parameter", "after")
	case script.ScopeNone:
		return protocol.Errorf(protocol.InvalidParams, "scope %s: nothing on the page matches", scope).
			With("parameter", "scope").Then("take a snapshot without scope, or use a ref")
	}
	return protocol.Errorf(protocol.InvalidParams, "scope %s: accepts a ref or a CSS selector", scope).With("parameter", "scope")
}

// Value returns the error of a value that JSON cannot hold.
func Value(err error) error {
	var e *cdp.Error
	if errors.As(err, &e) && e.Code == -32000 {
		return protocol.Errorf(protocol.InvalidParams, "the value cannot be returned: %s", e.Message).
			With("parameter", "expression").Then("return a string, a number or a plain object")
	}
	return err
}

// PDF gives Chromium's refusal of an option the code that fits it. Its answer to
// pages that do not exist has the code of any error, so the text decides.
func PDF(err error, o protocol.PDF) error {
	var e *cdp.Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case e.Code == -32602:
		given, _ := json.Marshal(o)
		return protocol.Errorf(protocol.InvalidParams, "options %s: Chromium refuses that: %s", given, e.Message).With("parameter", "options")
	case o.PageRanges != "" && strings.HasPrefix(e.Message, "Page range "):
		return protocol.Errorf(protocol.InvalidParams, "options.page_ranges: accepts pages that the document has, such as 1-5, 8, not %s: %s",
			Quote(o.PageRanges), e.Message).With("parameter", "options").Then("leave page_ranges out: all pages are printed")
	}
	return err
}

// Refused gives Chromium's refusal of a parameter the code that fits it.
func Refused(err error) error {
	var e *cdp.Error
	if errors.As(err, &e) && e.Code == -32602 {
		return protocol.Errorf(protocol.InvalidParams, "Chromium refuses that: %s", e.Message)
	}
	return err
}

// Navigation returns the error of a navigation that Chromium says has failed for that reason
// (net::ERR_…).
func Navigation(reason string) *protocol.Error {
	e := protocol.Errorf(protocol.NavigationFailed, "the page did not load: %s", reason).With("reason", reason)
	switch {
	case strings.Contains(reason, "NAME_NOT_RESOLVED"):
		e.Then("check the host name")
	case strings.Contains(reason, "CERT"):
		e.Then(protocol.NextCertificate)
	case strings.Contains(reason, "REFUSED"), strings.Contains(reason, "TIMED_OUT"), strings.Contains(reason, "UNREACHABLE"):
		e.Then("check that the server runs and can be reached, then try again")
	}
	return e
}
