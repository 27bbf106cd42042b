package recording

import (
	"archive/zip"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
)

// traceVersion is that of the trace's form: viewers of Playwright 1.53 and later read it. The
// events "screenshot" are of version 10, which 1.65 shows in any.
const traceVersion = 8

// trace writes a Playwright trace: a zip of trace.trace and trace.network, which have an event of JSON
// in each line, and resources, the files that they name. One goroutine at a time uses it.
type trace struct {
	file    *file
	zip     *zip.Writer
	redact  Redact
	began   time.Time
	events  lines
	network lines
	has     map[string]bool // resources
	actions int
	full    bool
	tabs    map[string]bool
	// requests are the places in network of those that had no end yet, by their ids.
	requests map[int]int
}

// lines are lines of JSON, as far as they are written at the end.
type lines struct {
	list  [][]byte
	bytes int
}

// closing is what is kept free of a file's bytes for what is written at its end, beside the
// lines, which become a third of their size at most.
const closing = 64 << 10

// maxLines is how many bytes of lines a trace has, which stay in memory until its end.
const maxLines = 4 << 20

// Redact are the functions that take out of JSON, and of a text, what nobody is to read.
type Redact struct {
	JSON func([]byte) []byte
	Text func(string) string
	// Gave reports whether the agent was given a secret, so that pictures have to be checked.
	Gave func() bool
}

// event is an event of a trace.
type event map[string]any

func newTrace(f *file, version string, redact Redact, began time.Time, width, height int) *trace {
	t := &trace{file: f, zip: zip.NewWriter(f), redact: redact, began: began, has: map[string]bool{}, tabs: map[string]bool{}, requests: map[int]int{}}
	t.add(&t.events, event{
		"version": traceVersion, "type": "context-options", "origin": "library", "browserName": "chromium", "platform": runtime.GOOS,
		"playwrightVersion": "browserd " + version, "wallTime": began.UnixMilli(), "monotonicTime": t.at(began), "sdkLanguage": "javascript",
		"title": f.entry.Name, "contextId": f.entry.Session, "options": event{"viewport": event{"width": width, "height": height}},
	})
	return t
}

// at returns a moment as the trace says it: milliseconds, of which none is 0.
func (t *trace) at(moment time.Time) float64 {
	return 1000 + float64(moment.Sub(t.began).Microseconds())/1000
}

// add adds an event. Where the trace is full it is left out.
func (t *trace) add(to *lines, e event) int {
	line, err := encoded(e)
	if err != nil || t.full {
		return -1
	}
	line = t.redact.JSON(line)
	if n := t.events.bytes + t.network.bytes + len(line); n > maxLines || int64(n)/3+closing > t.file.left() {
		t.end()
		return -1
	}
	to.list = append(to.list, line)
	to.bytes += len(line)
	return len(to.list) - 1
}

// encoded is JSON as JavaScript writes it.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// end leaves out all that comes.
func (t *trace) end() { t.full, t.file.entry.Full = true, true }

// resource adds a file, unless it is there, and returns its name in resources; empty: it is left out.
func (t *trace) resource(content []byte, extension string) string {
	sum := sha1.Sum(content) // as Playwright names them; nothing depends on its strength
	name := hex.EncodeToString(sum[:]) + extension
	if t.has[name] {
		return name
	}
	if t.full || int64(len(content))+int64(t.events.bytes+t.network.bytes)/3+closing > t.file.left() {
		t.end()
		return ""
	}
	method := zip.Deflate
	if extension == jpeg || extension == webp {
		method = zip.Store
	}
	if t.write("resources/"+name, method, content) != nil {
		t.end()
		return ""
	}
	t.has[name] = true
	return name
}

func (t *trace) write(name string, method uint16, content []byte) error {
	w, err := t.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: time.Now()})
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

// The pictures' extensions.
const (
	jpeg = ".jpeg"
	webp = ".webp"
)

// page names a tab as the trace does, and says of a new one that it is there.
func (t *trace) page(tab string, at time.Time) string {
	id := "page@" + tab
	if tab != "" && !t.tabs[tab] {
		t.tabs[tab] = true
		t.add(&t.events, event{"type": "event", "time": t.at(at), "class": "BrowserContext", "method": "page", "params": event{"pageId": id}, "pageId": id})
	}
	return id
}

// action adds an action that has ended.
func (t *trace) action(s *Step) {
	page := t.page(s.tab, s.Began)
	id := fmt.Sprintf("call@%d", t.actions+1)
	before := event{
		"type": "before", "callId": id, "stepId": id, "startTime": t.at(s.Began), "class": "browserd", "method": s.Command, "title": s.Command,
		"params": s.Params, "pageId": page,
	}
	if s.Params == nil {
		before["params"] = event{}
	}
	if s.Element != "" && !strings.ContainsAny(s.Element, "{}") { // which stand for parameters there
		before["subtitle"] = s.Element
	}
	if t.add(&t.events, before) < 0 {
		return
	}
	t.actions++
	attachments := t.picture(s.before, id, "before", page, s.Began)
	after := event{"type": "after", "callId": id, "endTime": t.at(s.ended), "result": s.Result}
	if s.Code != "" {
		after["error"] = event{"name": s.Code, "message": s.Code + ": " + s.Message}
	}
	attachments = append(attachments, t.picture(s.after, id, "after", page, s.ended)...)
	if s.Text != "" {
		if name := t.resource([]byte(t.redact.Text(protocol.MaskText(s.Text))), ".txt"); name != "" {
			attachments = append(attachments, event{"name": s.TextName + ".txt", "contentType": "text/plain", "sha1": name})
		}
	}
	if attachments != nil {
		after["attachments"] = attachments
	}
	t.add(&t.events, after)
}

// picture adds a picture of the page before or after an action, and returns it as an attachment
// of the action.
func (t *trace) picture(f *protocol.Frame, call, phase, page string, at time.Time) []event {
	if f == nil {
		return nil
	}
	extension := jpeg
	if _, _, _, err := frameOf(f.Image); err == nil { // a video is made too
		extension = webp
	}
	resources := len(t.has)
	name := t.resource(f.Image, extension)
	if name == "" {
		return nil
	}
	t.add(&t.events, event{"type": "screenshot", "callId": call, "phase": phase, "pageId": page, "timestamp": t.at(at), "file": "resources/" + name})
	if len(t.has) > resources {
		t.add(&t.events, event{"type": "screencast-frame", "pageId": page, "sha1": name, "width": f.Width, "height": f.Height, "timestamp": t.at(f.At)})
	}
	return []event{{"name": phase + extension, "contentType": "image/" + extension[1:], "sha1": name}}
}

// console adds what a page has written.
func (t *trace) console(c protocol.Console) {
	page := t.page(c.Tab, c.Time)
	at := event{"url": c.URL, "lineNumber": max(c.Line-1, 0), "columnNumber": 0}
	if c.Kind == "exception" {
		name, message, ok := strings.Cut(c.Text, ": ")
		if !ok {
			name, message = "Error", c.Text
		}
		t.add(&t.events, event{
			"type": "event", "time": t.at(c.Time), "class": "BrowserContext", "method": "pageError", "pageId": page,
			"params": event{"error": event{"error": event{"name": name, "message": message, "stack": c.Text}}, "location": event{"url": c.URL, "line": max(c.Line-1, 0), "column": 0}},
		})
		return
	}
	t.add(&t.events, event{
		"type": "console", "time": t.at(c.Time), "pageId": page, "messageType": c.Kind, "text": c.Text, "location": at,
		"args": []event{{"preview": c.Text, "value": c.Text}},
	})
}

// request adds a request, or what has become of it, in the form of HAR 1.2 and without bodies.
func (t *trace) request(x protocol.Exchange) {
	headers := func(list [][2]string) []event {
		all := []event{}
		for _, h := range list {
			all = append(all, event{"name": h[0], "value": h[1]})
		}
		return all
	}
	status := x.Status
	if x.Done && status == 0 {
		status = -1 // as Playwright has what failed
	}
	version := x.Protocol
	if version == "" {
		version = "HTTP/1.1"
	}
	response := event{
		"status": status, "statusText": x.StatusText, "httpVersion": version, "cookies": []event{}, "headers": headers(x.ResponseHeaders),
		"content": event{"size": max(x.Bytes, 0), "mimeType": x.Type}, "headersSize": -1, "bodySize": x.Bytes, "redirectURL": "", "_transferSize": x.Bytes,
	}
	if x.Error != "" {
		response["_failureText"] = x.Error
	}
	e := event{"type": "resource-snapshot"}
	e["snapshot"] = event{
		"pageref": t.page(x.Tab, x.Time), "startedDateTime": x.Time.Format(time.RFC3339Nano), "time": x.MS, "_monotonicTime": t.at(x.Time),
		"request": event{
			"method": x.Method, "url": x.URL, "httpVersion": version, "cookies": []event{}, "headers": headers(x.RequestHeaders), "queryString": []event{},
			"headersSize": -1, "bodySize": -1,
		},
		"response": response, "cache": event{}, "timings": event{"send": 0, "wait": x.WaitMS, "receive": max(x.MS-x.WaitMS, 0)},
		"serverIPAddress": strings.Trim(x.Address, "[]"), "_resourceType": x.Kind,
	}
	at, again := t.requests[x.ID]
	if !again {
		if n := t.add(&t.network, e); n >= 0 {
			t.requests[x.ID] = n
		}
		return
	}
	if line, err := encoded(e); err == nil && !t.full {
		line = t.redact.JSON(line)
		t.network.bytes += len(line) - len(t.network.list[at])
		t.network.list[at] = line
	}
}

// close writes the rest.
func (t *trace) close() error {
	var errs []error
	for name, l := range map[string]lines{"trace.trace": t.events, "trace.network": t.network} {
		w, err := t.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
		for _, line := range l.list {
			if err != nil {
				break
			}
			// Once more: what was given since may have been there before.
			_, err = io.WriteString(w, string(t.redact.JSON(line))+"\n")
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, t.zip.Close())...)
}
