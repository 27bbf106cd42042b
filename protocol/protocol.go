// Package protocol defines what browserd and its clients share: envelopes, error
// codes, events, the actions on a page, and the results of page commands. It owns
// these names and implements none of them: it imports no package of browserd,
// opens nothing and keeps no state, so any goroutine may use all of it.
package protocol

import (
	"encoding/json"
)

// Version is the version of the protocol, said in the hello event.
const Version = 1

// Request is one JSON-RPC 2.0 request as a client sends it. ID is kept as the
// client wrote it: a number, a string or null.
type Request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
	// Traceparent names the client's span that the command belongs to (Trace Context).
	Traceparent string `json:"traceparent,omitempty"`
}

// Response is one JSON-RPC 2.0 answer: Result or Error, never both.
type Response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`
}

// Notification carries an event to a client: method "event", params the event.
type Notification struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  Event  `json:"params"`
}

// Event types, in the order of PROTOCOL.md section 6.
const (
	EventHello                 = "hello"
	EventNavigated             = "navigated"
	EventDialog                = "dialog"
	EventDownload              = "download"
	EventTabOpened             = "tab_opened"
	EventTabClosed             = "tab_closed"
	EventConsoleError          = "console_error"
	EventPageCrashed           = "page_crashed"
	EventBrowserLost           = "browser_lost"
	EventBrowserRestored       = "browser_restored"
	EventConfirmationRequested = "confirmation_requested"
	EventPolicyDenied          = "policy_denied"
	EventSessionClosing        = "session_closing"
	EventSessionMoved          = "session_moved"
	EventHandoff               = "handoff"
	// EventCommand is told to those alone who subscribe to it by name: a command
	// of the session has ended. Its fields are command, params (secrets masked),
	// ref {ref, role, name}, ms, code ("ok" or the error's), message, and where it
	// went well page, effect, and snapshot or delta as the command's client got it.
	EventCommand = "command"
)

// EventTypes lists every type that a client may subscribe to.
var EventTypes = []string{
	EventHello, EventNavigated, EventDialog, EventDownload, EventTabOpened, EventTabClosed,
	EventConsoleError, EventPageCrashed, EventBrowserLost, EventBrowserRestored,
	EventConfirmationRequested, EventPolicyDenied, EventSessionClosing, EventSessionMoved, EventHandoff, EventCommand,
}

// Event is something that happened, told to the clients of a session. Fields
// holds what is particular to the type; on the wire it lies beside session and
// type, not below them.
type Event struct {
	Agent   string // whose session it is; for the daemon itself, in no message
	Session string
	Type    string
	Fields  map[string]any
}

// MarshalJSON puts Fields beside session and type.
func (e Event) MarshalJSON() ([]byte, error) {
	m := make(map[string]any, len(e.Fields)+2)
	for k, v := range e.Fields {
		m[k] = v
	}
	m["type"] = e.Type
	if e.Session != "" {
		m["session"] = e.Session
	}
	return json.Marshal(m)
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (e *Event) UnmarshalJSON(text []byte) error {
	*e = Event{}
	if err := json.Unmarshal(text, &e.Fields); err != nil {
		return err
	}
	e.Type, _ = e.Fields["type"].(string)
	e.Session, _ = e.Fields["session"].(string)
	return nil
}

// TypePDF is the media type of PDFs.
const TypePDF = "application/pdf"

// Page says where a session's page is; every page command's result carries it.
type Page struct {
	// Tab is the session's name for the tab, "t1" and so on.
	Tab string `json:"tab"`
	// URL and Title are the document's, escaped by JSON alone.
	URL   string `json:"url"`
	Title string `json:"title"`
	// Status is the main response's HTTP status, 0 if there was none.
	Status int `json:"status"`
	// Source is chromium, jina or http.
	Source string `json:"source"`
	// Type is application/pdf where the page is the text of a PDF.
	Type string `json:"type,omitempty"`
	// Certificate is "unverified" for a page of a host in policy.insecure_hosts.
	Certificate string `json:"certificate,omitempty"`
	// Attached says that the page is in a person's own browser (browser.attach), with their
	// logins, where neither the jail nor the egress policy holds.
	Attached bool `json:"attached,omitempty"`
	// Ready is loading, interactive or complete, as document.readyState.
	Ready string `json:"ready"`
	// Document counts the documents loaded in the session, from 1.
	Document int `json:"document"`
	// Revision counts the snapshots of this document.
	Revision int `json:"revision"`
	// Told says that the client's answer before said the same of tab, url, title, status, source and
	// document: only to MCP clients of 2026-07-28 in a fleet, whose text then leaves them out.
	Told bool `json:"told,omitempty"`
	// Capabilities are what the source can do: links, forms, script, keyboard,
	// pointer, pictures, tabs.
	Capabilities []string `json:"capabilities,omitempty"`
}

// Effect is what an action did, measured and not assumed. Empty fields are
// left out.
type Effect struct {
	// Hit is the ref of the element that received the input.
	Hit string `json:"hit,omitempty"`
	// Navigated holds the new URL where the action loaded a new document or
	// changed the URL within the document.
	Navigated string `json:"navigated,omitempty"`
	// Changed is true if the page's DOM or a control's value changed; what only
	// follows the focus does not count.
	Changed bool `json:"changed,omitempty"`
	// Dialog is what opened last while acting, and how it was answered.
	Dialog *Dialog `json:"dialog,omitempty"`
	// Dialogs are those that opened before it.
	Dialogs []Dialog `json:"dialogs,omitempty"`
	// TabsOpened are the tabs that the action opened.
	TabsOpened []Tab `json:"tabs_opened,omitempty"`
	// Focused is the ref of the element that has the focus now, where the
	// action moved it.
	Focused string `json:"focused,omitempty"`
	// FocusedDoc and FocusedNode are that element, for who gives it a ref only when
	// it is shown afterwards.
	FocusedDoc  int `json:"-"`
	FocusedNode int `json:"-"`
	Reports
	// Pending are the requests of the page that began with the action and still run.
	Pending []PendingRequest `json:"pending,omitempty"`
	// Value is what a control holds after it was filled, where that is not
	// what was asked for: the page changed it.
	Value *string `json:"value,omitempty"`
}

// MaxReports is how many entries each list of Reports and Effect.Pending has at most.
const MaxReports = 10

// Reports are what a page said while a command ran, or since the answer before. Each
// list has at most MaxReports entries; secrets are masked.
type Reports struct {
	// Announced is the text that live regions (ARIA alert, status, log) said.
	Announced []string `json:"announced,omitempty"`
	// Downloads are the file names of downloads that began.
	Downloads []string `json:"downloads,omitempty"`
	// DownloadsDenied are those of which no file is kept.
	DownloadsDenied []DeniedDownload `json:"downloads_denied,omitempty"`
	// ConsoleErrors are console.error calls, uncaught exceptions and the errors that
	// Chromium logs of a page, one line each with the place.
	ConsoleErrors []string `json:"console_errors,omitempty"`
	// RequestsFailed are requests of the page that failed, were refused, or were
	// answered with a status of 400 or more.
	RequestsFailed []FailedRequest `json:"requests_failed,omitempty"`
	// LeftOut counts, by the names of the lists, what did not go into them.
	LeftOut map[string]int `json:"left_out,omitempty"`
}

// Since is what happened after the answer before and is no effect of this command.
type Since struct {
	Navigated string   `json:"navigated,omitempty"` // as in Effect
	Changed   bool     `json:"changed,omitempty"`   // text or controls of the page changed
	Dialogs   []Dialog `json:"dialogs,omitempty"`   // that opened, or were answered by time
	Reports
}

// FailedRequest is a request that came to nothing. It has a status or an error.
type FailedRequest struct {
	Method string `json:"method,omitempty"` // empty: only the egress proxy knows of it
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"` // Chromium's net::ERR_…, or the policy's reason
}

// PendingRequest is a request that still runs, and for how long it has.
type PendingRequest struct {
	Method string `json:"method"`
	URL    string `json:"url"`
	MS     int64  `json:"ms"`
}

// DeniedDownload is a download that was not made, and why.
type DeniedDownload struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Dialog is a JavaScript dialog: alert, confirm, prompt or beforeunload
// (Page.javascriptDialogOpening).
type Dialog struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Default string `json:"default,omitempty"`
	// Answer is accepted, dismissed or open.
	Answer string `json:"answer"`
}

// Tab is one tab of a session.
type Tab struct {
	Tab      string `json:"tab"`
	URL      string `json:"url"`
	Title    string `json:"title"`
	Selected bool   `json:"selected,omitempty"`
	// Person: a tab of the person's own, which they granted in the live view (browser.attach).
	Person bool `json:"person,omitempty"`
}
