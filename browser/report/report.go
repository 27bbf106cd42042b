// Package report collects what happens in the pages of a browser context while a command
// runs, or between two commands: dialogs, downloads, failed requests, console errors and
// what live regions announce. It reads Chromium's console events too. It bounds what it
// keeps, and masks secrets.
package report

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

const (
	maxText    = 300 // characters of a console error
	maxURL     = 500 // characters of an address
	maxDialogs = 20
)

// Log is what was reported. The zero value is ready for use; its owner guards it.
type Log struct {
	protocol.Reports
	Dialogs []protocol.Dialog
	Changed bool                     // a page changed; set by the owner
	refused []protocol.FailedRequest // by the egress proxy
}

// Dialog notes a dialog that opened.
func (l *Log) Dialog(d protocol.Dialog) {
	if len(l.Dialogs) < maxDialogs {
		l.Dialogs = append(l.Dialogs, d)
	}
}

// Announce notes what live regions have announced.
func (l *Log) Announce(texts ...string) {
	for _, text := range texts {
		l.Add(protocol.Reports{Announced: []string{snapshot.Cut(text, maxText)}})
	}
}

// Download notes a download that began, or, with why, one that did not.
func (l *Log) Download(name, why string) {
	if why != "" {
		l.Add(protocol.Reports{DownloadsDenied: []protocol.DeniedDownload{{Name: name, Why: why}}})
		return
	}
	l.Add(protocol.Reports{Downloads: []string{name}})
}

// ConsoleError notes an error by its line; the same is noted once.
func (l *Log) ConsoleError(line string) { l.Add(protocol.Reports{ConsoleErrors: []string{line}}) }

// Line returns the first line of an error's text, with the place where it was written; line
// counts from 1, 0 if it is unknown.
func Line(text, address string, line int) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = snapshot.Cut(protocol.MaskText(text), maxText)
	switch {
	case address == "":
		return text
	case line > 0:
		return text + " (" + Address(address) + ":" + strconv.Itoa(line) + ")"
	}
	return text + " (" + Address(address) + ")"
}

// Address returns a URL as the request log shows it, shortened.
func Address(url string) string { return snapshot.Cut(protocol.MaskURL(url), maxURL) }

// Failed notes a request that failed.
func (l *Log) Failed(r protocol.FailedRequest) {
	r.URL = Address(r.URL)
	l.Add(protocol.Reports{RequestsFailed: []protocol.FailedRequest{r}})
}

// Refused notes a request that the egress proxy has refused. The page may report the same
// request as failed.
func (l *Log) Refused(address, reason string) {
	if len(l.refused) < protocol.MaxReports {
		l.refused = append(l.refused, protocol.FailedRequest{URL: Address(address), Error: "refused: " + reason})
	}
}

// Take returns what was reported, and clears the log. A failed request to a host that the
// egress proxy has refused gets the refusal's reason.
func (l *Log) Take() Log {
	for _, r := range l.refused {
		matched := false
		for i, f := range l.RequestsFailed {
			if hostOf(f.URL) == hostOf(r.URL) {
				l.RequestsFailed[i].Status, l.RequestsFailed[i].Error, matched = 0, r.Error, true
			}
		}
		if !matched {
			l.Add(protocol.Reports{RequestsFailed: []protocol.FailedRequest{r}})
		}
	}
	all := *l
	all.refused = nil
	*l = Log{}
	return all
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Hostname()
}
