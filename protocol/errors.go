package protocol

import (
	"errors"
	"fmt"
	"net/http"
)

// Code is the stable name of an error, as data.code on the wire.
type Code string

// The codes of PROTOCOL.md section 3. Append only.
const (
	ParseError          Code = "parse_error"
	InvalidRequest      Code = "invalid_request"
	UnknownCommand      Code = "unknown_command"
	InvalidParams       Code = "invalid_params"
	Internal            Code = "internal"
	Unauthorized        Code = "unauthorized"
	SessionNotFound     Code = "session_not_found"
	SessionLimit        Code = "session_limit"
	UnknownRef          Code = "unknown_ref"
	StaleRef            Code = "stale_ref"
	RefChanged          Code = "ref_changed"
	AmbiguousTarget     Code = "ambiguous_target"
	NotActionable       Code = "not_actionable"
	DialogOpen          Code = "dialog_open"
	NavigationFailed    Code = "navigation_failed"
	Timeout             Code = "timeout"
	Cancelled           Code = "cancelled"
	Unsupported         Code = "unsupported"
	TooLarge            Code = "too_large"
	PageCrashed         Code = "page_crashed"
	BrowserLost         Code = "browser_lost"
	ChromiumUnavailable Code = "chromium_unavailable"
	FetchFailed         Code = "fetch_failed"
	PolicyDenied        Code = "policy_denied"
	ConfirmationDenied  Code = "confirmation_denied"
	RateLimited         Code = "rate_limited"
	CreditsExhausted    Code = "credits_exhausted"
	ShuttingDown        Code = "shutting_down"
	LedgerUnavailable   Code = "ledger_unavailable"
	NoSpace             Code = "no_space"
	ScriptError         Code = "script_error"
	ScriptDrifted       Code = "script_drifted"
	ToolFailed          Code = "tool_failed"
	SecretDenied        Code = "secret_denied"
	FleetUnavailable    Code = "fleet_unavailable"
	OutcomeUnknown      Code = "outcome_unknown"
	InUse               Code = "in_use"
	HandedOff           Code = "handed_off"
	WaitingForConsent   Code = "waiting_for_consent"
)

// Row is what a code means in each transport.
type Row struct {
	Code      Code
	RPC       int  // JSON-RPC error.code
	HTTP      int  // the HTTP status
	Exit      int  // exit code at the command line: by what a script would do next
	Retryable bool // the same command may work if sent again
	// Next is the next step where the error itself names none.
	Next string
	// When says in a few words what has happened, and what details hold.
	When string
}

// Exit codes of the command line. What a script would do next differs between them.
const (
	exitFailed  = 1 // a fault of browserd's
	exitRefused = 2 // what was asked for cannot be
	exitRef     = 3 // the ref or its element, or a dialog in the way
	exitTime    = 4 // it took too long, or was cancelled
	exitDenied  = 5 // policy, confirmation, credits, rates, token
	exitPage    = 6 // the page did not load, or nobody could fetch it
	exitBrowser = 7 // Chromium is gone, the tab crashed, or this source cannot do it
	exitDaemon  = 8 // session or daemon: not there, full, or stopping
)

// Codes lists every code once, in the order of PROTOCOL.md.
var Codes = []Row{
	{ParseError, -32700, http.StatusBadRequest, exitRefused, false, "send one JSON object per message", "the message is not JSON"},
	{InvalidRequest, -32600, http.StatusBadRequest, exitRefused, false, `send {"jsonrpc":"2.0","id":…,"method":…,"params":{…}}; for several commands use batch`, "it is JSON but no JSON-RPC 2.0 request, or the HTTP request has no Host header"},
	{UnknownCommand, -32601, http.StatusNotFound, exitRefused, false, "help lists the commands", "there is no such command; details: the nearest names"},
	{InvalidParams, -32602, http.StatusBadRequest, exitRefused, false, `help {"command":…} lists the parameters`, "a parameter is unknown, missing or has an invalid value; the message names the parameter, the value and what it accepts"},
	{Internal, -32603, http.StatusInternalServerError, exitFailed, false, "report details.incident; the cause is in the daemon's log under it", "a fault of browserd; its cause is in the daemon's log under details.incident"},
	{Unauthorized, -32001, http.StatusUnauthorized, exitDenied, false, "send Authorization: Bearer TOKEN", "the request has no token, or one that the daemon does not know"},
	{SessionNotFound, -32002, http.StatusNotFound, exitDaemon, false, "session_open opens a session, session_list shows yours", "there is no such session, or it is another agent's; an idle session ends after session.idle_timeout"},
	{SessionLimit, -32003, http.StatusTooManyRequests, exitDaemon, true, "close a session with session_close, or wait for one to expire", "no more sessions may be open; details: limit, open"},
	{UnknownRef, -32009, http.StatusNotFound, exitRef, false, "take a snapshot and use a ref from it", "no snapshot of this session has shown this ref"},
	{StaleRef, -32010, http.StatusConflict, exitRef, false, "use one of details.candidates, or take a snapshot", "the ref's element or its document is gone; details.candidates: [{ref, role, name, why}]"},
	{RefChanged, -32011, http.StatusConflict, exitRef, true, "send the same command again if the element as it is now is meant", "the same element has another role or name now; details: was, now"},
	{AmbiguousTarget, -32037, http.StatusConflict, exitRef, false, "use the ref of the one that you mean, from details.candidates", "several elements fit the locator, or several frames have a tool of that name; details.candidates: their lines, as a snapshot shows them, or {name, origin, frame} of each tool; truncated: there are more"},
	{NotActionable, -32012, http.StatusConflict, exitRef, true, "take a snapshot to see what stands in the way", "the element cannot be acted on; details.reason: hidden, disabled, covered (details.by is by what), moving, readonly, detached, focus (it was lost while keys were sent), unseen (no document saw the press) or missing (nothing fits the locator; details.nearest: lines of what comes near it)"},
	{DialogOpen, -32013, http.StatusConflict, exitRef, false, "answer it with dialog {accept}", "a dialog of the page waits for an answer, and everything else waits for the dialog; details: kind, message, begun (an expression that was sent goes on after the answer: do not send it again)"},
	{NavigationFailed, -32014, http.StatusBadGateway, exitPage, true, "check the URL, or try again", "the URL could not be opened; details.reason: Chromium's or the transport's"},
	{Timeout, -32015, http.StatusGatewayTimeout, exitTime, true, "try again with a larger timeout_ms, or take a snapshot to see where the page is", "the command took longer than timeout_ms; details: what it waited for, and what it saw instead"},
	{Cancelled, -32016, 499, exitTime, false, "send the command again if it is still wanted", "the command was cancelled, or its connection was closed"},
	{Unsupported, -32017, http.StatusNotImplemented, exitBrowser, false, "open the page with source chromium", "this source of the page cannot do it, such as a screenshot of a static document; details.source"},
	{TooLarge, -32018, http.StatusRequestEntityTooLarge, exitPage, false, "ask for less", "what you sent or asked for is above a limit; details: limit, size"},
	{PageCrashed, -32019, http.StatusBadGateway, exitBrowser, true, "take a snapshot: page says where the tab is now", "the tab crashed; it was loaded again or replaced, and page says which"},
	{BrowserLost, -32020, http.StatusBadGateway, exitBrowser, true, "send the command again: details.restored says what came back", "Chromium ended unexpectedly; details.restored: what was restored, and what was not"},
	{ChromiumUnavailable, -32021, http.StatusServiceUnavailable, exitBrowser, true, "browserd doctor says why; source auto goes on without it", "the command needs Chromium, and it is not installed or does not start"},
	{FetchFailed, -32022, http.StatusBadGateway, exitPage, true, "details.attempts says what each source answered", "every source failed; details.attempts: [{source, error, ms}]"},
	{PolicyDenied, -32030, http.StatusForbidden, exitDenied, false, "ask the operator; details.config names the setting that would allow it", "the policy forbids it; details: reason (one stable word), host, and config {key, add} where a setting would allow it"},
	{ConfirmationDenied, -32031, http.StatusForbidden, exitDenied, false, "ask the operator", "an operator said no, or nobody answered in time"},
	{RateLimited, -32032, http.StatusTooManyRequests, exitDenied, true, "wait details.retry_after_s seconds", "too many calls in an hour, or too much at once; details: retry_after_s; quota (the configuration key) and limit"},
	{CreditsExhausted, -32033, http.StatusPaymentRequired, exitDenied, false, "ask the operator for credits", "the agent's credits do not cover it; details: balance, cost"},
	{ShuttingDown, -32034, http.StatusServiceUnavailable, exitDaemon, true, "connect again when the daemon is back", "the daemon is shutting down"},
	{LedgerUnavailable, -32035, http.StatusServiceUnavailable, exitDaemon, true, "try again in a moment; the operator finds the cause in the daemon's log", "the ledger's database does not answer, so commands that cost credits are refused"},
	{NoSpace, -32036, http.StatusInsufficientStorage, exitDaemon, true, "ask the operator to make room, then send the command again: nothing of it was kept", "the daemon's disk is full, so the file was not written"},
	{ScriptError, -32038, http.StatusUnprocessableEntity, exitFailed, false, "correct the script at details.line; the steps before it are done: details.snapshot or details.delta shows the page now", "a script of run failed; details: run, line, column, step {number, call, command}, cause (the step's own error), limit (the one that it reached), steps, logs, page, and effect, delta or snapshot as run answers them"},
	{ScriptDrifted, -32039, http.StatusConflict, exitRef, false, "read details.difference: if the script is to do the same on the page as it is now, send run with name and save; otherwise send the corrected code with save", "a saved script was about to act on another page than the one on which it was saved, and was stopped; details: script (its name), difference (lines: - what was there, + what is there now), acted (steps that acted before), run, line, column, step {number, call, command}, steps, logs, page, and effect, delta or snapshot as run answers them"},
	{ToolFailed, -32040, http.StatusUnprocessableEntity, exitPage, false, "take a snapshot: the tool may have changed the page; then correct the arguments, or do without it", "a tool of the page threw an error or gave up; details: tool, error (the page's words)"},
	{SecretDenied, -32041, http.StatusForbidden, exitDenied, false, "secret_list names your secrets and their origins", "a secret was not given, or JavaScript not run where one is; details.reason: unknown (you have none of that name), origin (not one of details.origins), frame (name the field in it), script (JavaScript of yours has run there, or may have in details.profile), held (a document holds it), person (a person has typed into the document), shown (a picture of the page would show it), unread (a frame of the page cannot be read, and a picture may show it), many (you were given as many as can be removed from what you are sent) or source (the operator's environment or program did not say it)"},
	{FleetUnavailable, -32042, http.StatusServiceUnavailable, exitDaemon, true, "try again in a moment; browserd fleet shows the nodes, and the daemon's log why its database does not answer", "one of several daemons that serve as one cannot reach their database or the node that has the session, so it did nothing"},
	{OutcomeUnknown, -32043, http.StatusBadGateway, exitDaemon, false, "take a snapshot to see whether the command acted, before you send it again", "the command began and its answer was lost: it may have acted, and browserd does not send it again"},
	{InUse, -32044, http.StatusConflict, exitDaemon, true, "close the session that has it (session_list lists yours), or wait until it has ended", "what was named has one writer at a time, and a session has it; details: state or profile (its name)"},
	{HandedOff, -32045, http.StatusConflict, exitDenied, false, "send handoff: it waits until the person is done, and shows what has changed", "a person drives the session, or is waited for; details: driver (whose link the person opened; left out: nobody drives yet), since, until, asked (you asked for it, by handoff)"},
	{WaitingForConsent, -32046, http.StatusServiceUnavailable, exitDaemon, true, "press Allow in the browser's dialog, then send the command again; browserd status shows the state", "the person's own browser (browser.attach) asks whether browserd may use it, and nobody has answered yet"},
}

var rows = func() map[Code]Row {
	m := make(map[Code]Row, len(Codes))
	for _, r := range Codes {
		m[r.Code] = r
	}
	return m
}()

// Row returns the code's row; an unknown code is an internal error.
func (c Code) Row() Row {
	if r, ok := rows[c]; ok {
		return r
	}
	return rows[Internal]
}

// Error is an error that may leave the daemon: a code, one sentence for
// people, the next step, and the facts. The cause, if there is one, stays
// in the log.
type Error struct {
	Code    Code
	Message string
	Next    string // empty: the code's own
	Details map[string]any
	Cause   error
}

// Errorf makes an Error with the code and a sentence; a %w verb keeps the cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// With adds one fact to details and returns e.
func (e *Error) With(key string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[key] = value
	return e
}

// NextCertificate is the next step after a server's certificate was refused.
const NextCertificate = "where the host is yours, ask the operator to name the file of its authority in policy.ca_file, or, for a test server, the host in policy.insecure_hosts"

// Then sets the next step and returns e.
func (e *Error) Then(format string, args ...any) *Error {
	e.Next = fmt.Sprintf(format, args...)
	return e
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf returns the code of err, Internal where it carries none, and ""
// for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// RPCError is the error member of a Response.
type RPCError struct {
	Code    int       `json:"code"`
	Message string    `json:"message"`
	Data    ErrorData `json:"data"`
}

// ErrorData is the data member of an RPCError and the "error" member of an
// HTTP answer.
type ErrorData struct {
	Code      Code           `json:"code"`
	Message   string         `json:"message,omitempty"`
	Retryable bool           `json:"retryable"`
	Next      string         `json:"next,omitempty"`
	Details   map[string]any `json:"details,omitempty"`
}

// Data returns what a client is shown of e.
func (e *Error) Data() ErrorData {
	row := e.Code.Row()
	next := e.Next
	if next == "" {
		next = row.Next
	}
	return ErrorData{Code: row.Code, Retryable: row.Retryable, Next: next, Details: e.Details}
}

// RPC returns e as the error member of a JSON-RPC answer.
func (e *Error) RPC() *RPCError {
	return &RPCError{Code: e.Code.Row().RPC, Message: e.Message, Data: e.Data()}
}
