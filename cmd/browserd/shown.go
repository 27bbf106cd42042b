package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/tools"
)

// show writes a result for a person: the text that a model would get, and
// pictures into files whose names it prints.
func show(w io.Writer, command string, result json.RawMessage, file string) error {
	for i, part := range tools.Shown(result).Content {
		var err error
		switch p := part.(type) {
		case *mcp.TextContent:
			if i > 0 {
				fmt.Fprintln(w)
			}
			_, err = fmt.Fprintln(w, harmless(p.Text))
		case *mcp.ImageContent:
			err = save(w, file, command+"."+strings.TrimPrefix(p.MIMEType, "image/"), p.Data)
		case *mcp.EmbeddedResource:
			err = save(w, file, command+".pdf", p.Resource.Blob)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// save writes data to file, or to a new file called like name.
func save(w io.Writer, file, name string, data []byte) error {
	if file != "" {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w, file)
		return err
	}
	stem, extension, _ := strings.Cut(name, ".")
	for n := 1; ; n++ {
		f, err := os.OpenFile(fmt.Sprintf("%s-%d.%s", stem, n, extension), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := f.Write(data); err != nil {
			f.Close()
			return err
		}
		fmt.Fprintln(w, f.Name())
		return f.Close()
	}
}

// harmless is s without what a terminal would obey: a page's text may hold
// escape sequences.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\ufffd'
		}
		return r
	}, s)
}

// Exit codes of the commands, by kind of error: what a script would do next
// differs between them.
const (
	exitRef      = 3 // the ref or the element: unknown, stale, changed, not actionable, a dialog in the way
	exitTimeout  = 4 // timeout, cancelled
	exitDenied   = 5 // policy, confirmation, credits, rates, token
	exitPage     = 6 // the page did not load or nobody could fetch it
	exitBrowser  = 7 // Chromium is gone, the tab crashed, or this source cannot do it
	exitNoDaemon = 8 // session or daemon: not there, full, or stopping
)

// kinds are the exit codes of the protocol's codes; what is not here is 1.
var kinds = map[protocol.Code]int{
	protocol.InvalidParams: exitRefused, protocol.UnknownCommand: exitRefused, protocol.InvalidRequest: exitRefused, protocol.ParseError: exitRefused,
	protocol.UnknownRef: exitRef, protocol.StaleRef: exitRef, protocol.RefChanged: exitRef, protocol.NotActionable: exitRef, protocol.DialogOpen: exitRef,
	protocol.Timeout: exitTimeout, protocol.Cancelled: exitTimeout,
	protocol.PolicyDenied: exitDenied, protocol.ConfirmationDenied: exitDenied, protocol.CreditsExhausted: exitDenied, protocol.RateLimited: exitDenied, protocol.Unauthorized: exitDenied,
	protocol.NavigationFailed: exitPage, protocol.FetchFailed: exitPage, protocol.TooLarge: exitPage,
	protocol.PageCrashed: exitBrowser, protocol.BrowserLost: exitBrowser, protocol.ChromiumUnavailable: exitBrowser, protocol.Unsupported: exitBrowser,
	protocol.SessionNotFound: exitNoDaemon, protocol.SessionLimit: exitNoDaemon, protocol.ShuttingDown: exitNoDaemon, protocol.LedgerUnavailable: exitNoDaemon,
}

// coded is an error with an exit code of its own.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// explain adds the next step and the facts to an error of the daemon's.
func explain(err error) error {
	var said *protocol.Error
	if !errors.As(err, &said) {
		return coded{err, exitNoDaemon}
	}
	text := harmless(said.Error())
	if next := said.Data().Next; next != "" {
		text += "\n→ " + harmless(next)
	}
	if len(said.Details) > 0 {
		if facts, err := json.Marshal(said.Details); err == nil {
			text += "\ndetails: " + harmless(string(facts))
		}
	}
	code, known := kinds[said.Code]
	if !known {
		code = exitFailed
	}
	return coded{errors.New(text), code}
}
