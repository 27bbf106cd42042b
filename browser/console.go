package browser

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/report"
	"github.com/browserd/browserd/browser/throttle"
	"github.com/browserd/browserd/protocol"
)

type remoteValue struct {
	Type        string          `json:"type"`
	Value       json.RawMessage `json:"value"`
	Description string          `json:"description"`
}

func (v remoteValue) text() string {
	var s string
	if v.Type == "string" && json.Unmarshal(v.Value, &s) == nil {
		return s
	}
	if v.Description != "" {
		return v.Description
	}
	return string(v.Value)
}

type eventTooLarge struct {
	Method string `json:"method"`
}

// consoleTooLarge says in the console that there was an event which was too large.
func consoleTooLarge(t *tab, _ *cdp.Session, e eventTooLarge) (changed bool) {
	if throttle.Unbounded(e.Method) {
		t.c.log.Write(t.name, "warning", "browserd: what the page wrote is left out: it has more than "+strconv.Itoa(cdp.MaxEvent>>20)+" MiB", "", 0)
	}
	return false
}

type consoleCalled struct {
	Type string        `json:"type"`
	Args []remoteValue `json:"args"`
	// StackTrace is where the page called the console.
	StackTrace struct {
		CallFrames []struct {
			URL        string `json:"url"`
			LineNumber int    `json:"lineNumber"`
		} `json:"callFrames"`
	} `json:"stackTrace"`
}

// consoleWritten keeps what the page wrote to its console.
func consoleWritten(t *tab, _ *cdp.Session, e consoleCalled) (changed bool) {
	texts := make([]string, 0, len(e.Args))
	for _, a := range e.Args {
		texts = append(texts, a.text())
	}
	text, url, line := strings.Join(texts, " "), "", 0
	if at := e.StackTrace.CallFrames; len(at) > 0 {
		url, line = at[0].URL, at[0].LineNumber+1
	}
	t.c.log.Write(t.name, e.Type, text, url, line)
	if e.Type == "error" || e.Type == "assert" {
		consoleError(t, text, url, line)
	}
	return false
}

type exceptionThrown struct {
	ExceptionDetails exceptionDetails `json:"exceptionDetails"`
}

// exceptionWritten keeps an exception that nothing in the page has caught.
func exceptionWritten(t *tab, _ *cdp.Session, e exceptionThrown) (changed bool) {
	d := &e.ExceptionDetails
	t.c.log.Write(t.name, "exception", d.text(), d.URL, d.LineNumber+1)
	consoleError(t, d.text(), d.URL, d.LineNumber+1)
	return false
}

type entryAdded struct {
	Entry struct {
		Source string `json:"source"`
		Level  string `json:"level"`
		Text   string `json:"text"`
		URL    string `json:"url"`
		Line   *int   `json:"lineNumber"`
	} `json:"entry"`
}

// entryWritten keeps what Chromium itself logs of a page: content security policies,
// mixed content, CORS. What it says of failed requests the requests say themselves.
func entryWritten(t *tab, _ *cdp.Session, e entryAdded) (changed bool) {
	at, line := e.Entry, 0
	if at.Source == "network" || at.Level != "error" && at.Level != "warning" {
		return false
	}
	if at.Line != nil {
		line = *at.Line + 1
	}
	t.c.log.Write(t.name, at.Level, at.Text, at.URL, line)
	if at.Level == "error" {
		consoleError(t, at.Text, at.URL, line)
	}
	return false
}

func consoleError(t *tab, text, url string, line int) {
	text = report.Line(text, url, line)
	t.c.reports().ConsoleError(text)
	t.c.emit(protocol.EventConsoleError, map[string]any{"tab": t.name, "text": text})
}
