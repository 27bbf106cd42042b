package browser

import (
	"strconv"

	"github.com/chromedp/cdproto/webmcp"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/report"
	"github.com/browserd/browserd/browser/throttle"
	"github.com/browserd/browserd/protocol"
)

type eventTooLarge struct {
	Method string `json:"method"`
}

// reportTooLarge writes a console line in place of a console event that was too large, and fails
// the call of a page tool whose answer was.
func reportTooLarge(t *tab, _ *cdp.Session, e eventTooLarge) (changed bool) {
	if e.Method == webmcp.ToolResponded.Method {
		return t.frames.tools.TooLarge()
	}
	if throttle.Unbounded(e.Method) {
		t.c.log.Write(t.name, "warning", "browserd: what the page wrote is left out: it has more than "+strconv.Itoa(cdp.MaxEvent>>20)+" MiB", "", 0)
	}
	return false
}

// recordConsole keeps what the page wrote to its console, or Chromium about the page.
func recordConsole[E interface{ Message() report.ConsoleMessage }](t *tab, _ *cdp.Session, e E) (changed bool) {
	w := e.Message()
	if w.Kind == "" {
		return false
	}
	t.c.log.Write(t.name, w.Kind, w.Text, w.URL, w.Line)
	if w.Error {
		text := report.Line(w.Text, w.URL, w.Line)
		t.c.reports().ConsoleError(text)
		t.c.emit(protocol.EventConsoleError, map[string]any{"tab": t.name, "text": text})
	}
	return false
}
